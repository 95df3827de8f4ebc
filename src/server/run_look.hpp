// A run from the store, folded, and what stands beside it at this moment.
#pragma once
#include "store/store.hpp"
#include "views/account.hpp"
#include "views/sight.hpp"

namespace dw::server {

struct FoundRun {
  std::optional<RunId> current = {};  // of the instance; absent: there is none
  std::optional<store::LoadedRun> loaded = {};
};
// The run that is named, or the current one. One that goes on as another while it is looked up is
// not current any more: nobody is to take that for the end.
Result<FoundRun> find_run_of(store::Store& store, const store::InstanceKey& instance,
                             const std::optional<RunId>& named);

Result<views::Account> account_of_run(const store::LoadedRun& loaded);

// With the delivery rows that are there of those that history expects. `current` is the current run
// of the instance.
Result<views::Sight> sight_of_run(store::Store& store, const store::RunRow& row,
                                  const views::Account& account, RunId current, Timestamp now);

}  // namespace dw::server
