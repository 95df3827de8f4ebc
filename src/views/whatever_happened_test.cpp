// What must hold of every view, whatever happened to the run.
#include "engine/arbitrary_history.hpp"
#include "engine/expected_tasks.hpp"
#include "views/looking.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace dw::story {
namespace {

// A random run a moment after its last event, with the rows that history expects; no lease has
// expired yet.
struct Seen {
  Story story = arbitrary_story();
  views::Account account = *views::account_of(story.run().id, story.events());
  views::Sight sight;

  Seen() {
    sight.now = story.state().last_recorded_at;
    for (auto& task : engine::expected_tasks(story.run())) {
      if (task.status == engine::TaskStatus::leased) task.lease_expires_at = sight.now + 1s;
      sight.deliveries.push_back({std::move(task)});
    }
  }
  std::size_t missing() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        views::task_rows(account, sight), [](const auto& row) { return row.synthetic; }));
  }
};

RC_GTEST_PROP(Views, ARunWithItsRowsLacksNoneAndNeedsNoRepair, ()) {
  const Seen seen;
  RC_ASSERT(seen.missing() == 0u);
  RC_ASSERT(views::liveness_of(seen.account, seen.sight).state != "repair_needed");
  RC_ASSERT(!views::task_problem(seen.account, seen.sight).exists);
}

RC_GTEST_PROP(Views, ARunThatLostItsRowsSaysSo, ()) {
  Seen seen;
  seen.sight.deliveries.clear();
  // A row that was only known by its name cannot be told from history.
  engine::Run run = seen.story.run();
  run.workflow_task.reset();
  const auto expected = engine::expected_tasks(run);
  const bool deliverable = std::ranges::any_of(expected, [](const engine::Task& task) {
    return views::Delivery{task}.delivers_work() && task.status == engine::TaskStatus::ready;
  });
  RC_ASSERT((seen.missing() > 0u) == deliverable);
}

RC_GTEST_PROP(Views, TheSelectedWaitIsOneOfTheOpenOnes, ()) {
  const Seen seen;
  const auto summary = views::summarize(seen.account, seen.sight);
  RC_ASSERT(summary.is_terminal == !seen.story.state().open());
  const auto rows = views::wait_rows(seen.account, seen.sight);
  if (summary.is_terminal) RC_ASSERT(views::open_wait_count(rows) == 0);
  for (const auto& row : rows) RC_ASSERT(!row.status.empty() && row.authority.typed());
  const auto& kind = summary.wait.kind;
  // A timeout or a child that the code has yet to see is resolved already.
  if (kind.empty() || kind == "workflow-task" || kind == "signal" || kind == "child") return;
  RC_ASSERT(std::ranges::any_of(
      rows, [&](const auto& row) { return row.id == summary.wait.id && row.status == "open"; }));
}

}  // namespace
}  // namespace dw::story
