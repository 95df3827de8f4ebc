// A run from the store, folded, and what stands beside it at this moment.
#pragma once
#include "store/store.hpp"
#include "views/account.hpp"
#include "views/sight.hpp"

namespace dw::server {

Result<views::Account> account_of_run(const store::LoadedRun& loaded);

// With the delivery rows that are there of those that history expects. `current` is the current run
// of the instance.
Result<views::Sight> sight_of_run(store::Store& store, const store::RunRow& row,
                                  const views::Account& account, RunId current, Timestamp now);

}  // namespace dw::server
