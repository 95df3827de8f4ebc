// Goes through the task table for tasks that matching had no room for, and has them offered again.
#pragma once
#include "server/matching.hpp"
#include "store/store.hpp"

namespace dw::server {

struct TableSearchParts {
  store::Store& store;
  Executor& reader;
  const Clock& clock;
  // Offers a task to whoever may do it; `done` is called when that has been seen to.
  std::function<void(engine::Task task, std::function<void()> done)> deliver;
};

class TableSearch {
 public:
  explicit TableSearch(TableSearchParts parts) : parts_(std::move(parts)) {}

  // As Matching::Look asks for. A page of the table is offered before the next one is read, so that
  // a long backlog is not loaded at once.
  void look(LaneName lane, std::optional<engine::TaskKey> from, std::size_t most,
            Matching::Looked done);

 private:
  struct Walk;
  void read_page(std::shared_ptr<Walk> walk);
  void offer(const std::shared_ptr<Walk>& walk, std::vector<engine::Task> found, bool last);

  const TableSearchParts parts_;
};

}  // namespace dw::server
