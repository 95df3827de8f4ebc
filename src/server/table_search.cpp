#include "server/table_search.hpp"

#include <spdlog/spdlog.h>

#include <atomic>

namespace dw::server {
namespace {

constexpr std::size_t rows_of_a_search = 500;
constexpr std::chrono::seconds pause_after_error{1};

bool waits_in(const LaneName& lane, const engine::Task& row) {
  if (row.status != engine::TaskStatus::ready || row.ns != lane.ns) return false;
  if ((row.queue.empty() ? "default" : row.queue) != lane.queue) return false;
  return lane.kind == WorkKind::workflow ? engine::runs_code(row)
                                         : !engine::activity_of(row).empty();
}

}  // namespace

struct TableSearch::Walk {
  LaneName lane;
  std::optional<engine::TaskKey> from;
  std::size_t left;  // to be offered
  Matching::Looked done;
};

void TableSearch::look(LaneName lane, std::optional<engine::TaskKey> from, std::size_t most,
                       Matching::Looked done) {
  read_page(std::make_shared<Walk>(Walk{std::move(lane), std::move(from), most, std::move(done)}));
}

void TableSearch::read_page(std::shared_ptr<Walk> walk) {
  parts_.reader.post([this, walk] {
    const Timestamp now = parts_.clock.now();
    auto page = parts_.store.due_tasks(walk->from, now, rows_of_a_search);
    if (!page) {
      spdlog::warn("cannot look for tasks that wait, trying again: {} namespace={} queue={}",
                   page.error().message, walk->lane.ns.view(), walk->lane.queue);
      return parts_.reader.post_at(now + pause_after_error, [this, walk] { read_page(walk); });
    }
    bool last = page->size() < rows_of_a_search;
    std::vector<engine::Task> found;
    for (engine::Task& row : *page) {
      walk->from = row.key;
      if (!waits_in(walk->lane, row)) continue;
      found.push_back(std::move(row));
      if (--walk->left > 0) continue;
      last = false;
      break;
    }
    offer(walk, std::move(found), last);
  });
}

// The last one that has been seen to lets the search go on.
void TableSearch::offer(const std::shared_ptr<Walk>& walk, std::vector<engine::Task> found,
                        bool last) {
  const auto go_on = [this, walk, last] {
    if (last) return walk->done(std::nullopt);
    if (walk->left == 0) return walk->done(walk->from);
    read_page(walk);
  };
  if (found.empty()) return go_on();
  const auto pending = std::make_shared<std::atomic<std::size_t>>(found.size());
  for (engine::Task& task : found) {
    parts_.deliver(std::move(task), [pending, go_on] {
      if (--*pending == 0) go_on();
    });
  }
}

}  // namespace dw::server
