// Activities that have passed their deadlines. The engine delivers the watch on a deadline when
// that is due; what is found here is late, or about to be seen to.
#include "history/fold.hpp"
#include "server/addressed.hpp"
#include "server/system_desk.hpp"
#include "store/derived.hpp"

#include <algorithm>
#include <atomic>

namespace dw::server {
namespace {

constexpr std::size_t most_named_executions = 1'000;

// The activity whose deadlines a row watches; empty: it is about something else.
ActivityId watched_by(const engine::Task& row) {
  constexpr std::string_view watch = "timeout:";
  const std::string_view subject = row.subject;
  if (!subject.starts_with(watch)) return {};
  return ActivityId{std::string{subject.substr(watch.size())}};
}

}  // namespace

struct SystemDesk::TimeoutPass {
  Call call;
  Reply reply;
  std::set<std::string> named = {};  // none: whichever have expired
  std::size_t limit = usual_scan_limit;
  struct Watch {
    engine::Task task;
    std::int64_t seen = 0;  // the run's last event before anything was delivered
  };
  std::vector<Watch> watches = {};
  std::atomic<std::size_t> under_way = 0;
};

void SystemDesk::activity_timeouts(const Call& call, Reply reply) {
  auto found = std::make_shared<Value::Array>();
  constexpr auto limit = static_cast<std::size_t>(usual_scan_limit);
  walk_tasks(std::make_shared<TaskWalk>(
      TaskWalk{parts_.store, parts_.reader, parts_.clock.now(),
               [found, ns = call.ns](const engine::Task& row) {
                 const ActivityId activity = watched_by(row);
                 if (row.ns == ns && !activity.empty()) found->emplace_back(activity.view());
                 return found->size() < limit;
               },
               [found, call, reply = std::move(reply)](const Result<void>& walked) {
                 if (!walked) return reply(failed(walked.error(), call));
                 reply({200,
                        {{"expired_count", std::ssize(*found)},
                         {"expired_execution_ids", *found},
                         {"scan_limit", usual_scan_limit},
                         {"scan_pressure", found->size() >= limit}}});
               }}));
}

void SystemDesk::activity_timeout_pass(const Call& call, Reply reply) {
  Fields fields{call};
  auto pass = std::make_shared<TimeoutPass>();
  pass->call = call;
  for (auto& id : named_in(fields, "execution_ids", most_named_executions)) {
    pass->named.insert(std::move(id));
  }
  const auto limit = fields.whole("limit", 1, largest_scan_limit).value_or(usual_scan_limit);
  pass->limit = static_cast<std::size_t>(limit);
  if (!fields.fine()) return reply(fields.errors());
  pass->reply = std::move(reply);
  walk_tasks(std::make_shared<TaskWalk>(
      TaskWalk{parts_.store, parts_.reader, parts_.clock.now(),
               [pass](const engine::Task& row) {
                 const ActivityId activity = watched_by(row);
                 const bool wanted = row.ns == pass->call.ns && !activity.empty() &&
                                     (pass->named.empty() || pass->named.contains(activity.str()));
                 if (wanted) pass->watches.push_back({row});
                 return pass->watches.size() < pass->limit;
               },
               [this, pass](const Result<void>& walked) {
                 if (!walked) return pass->reply(failed(walked.error(), pass->call));
                 deliver_watches(pass);
               }}));
}

void SystemDesk::deliver_watches(std::shared_ptr<TimeoutPass> pass) {
  for (TimeoutPass::Watch& watch : pass->watches) {
    const auto row = parts_.store.find_run(watch.task.run_id);
    if (!row) return pass->reply(failed(row.error(), pass->call));
    if (*row) watch.seen = (*row)->last_sequence;
  }
  const auto settled = [this, pass] {
    if (pass->under_way.fetch_sub(1) > 1) return;
    parts_.reader.post([this, pass] { pass->reply(judged(*pass)); });
  };
  pass->under_way = pass->watches.size() + 1;
  for (const TimeoutPass::Watch& watch : pass->watches) parts_.deliver(watch.task, settled);
  settled();
}

Answer SystemDesk::judged(const TimeoutPass& pass) const {
  std::map<std::string, std::int64_t> counts;
  Value::Array results;
  auto unseen = pass.named;
  const auto note = [&](std::string_view id, const TimeoutVerdict& verdict) {
    ++counts[verdict.outcome];
    Value::Map result{{"execution_id", id}, {"outcome", verdict.outcome}};
    if (verdict.outcome == "enforced") result.emplace_back("has_retry", verdict.has_retry);
    if (!verdict.reason.empty()) result.emplace_back("reason", verdict.reason);
    results.emplace_back(std::move(result));
  };
  for (const TimeoutPass::Watch& watch : pass.watches) {
    const ActivityId activity = watched_by(watch.task);
    unseen.erase(activity.str());
    const auto events = [&]() -> Result<std::vector<history::Event>> {
      const auto loaded = DW_TRY(parts_.store.load_run(watch.task.run_id));
      if (!loaded) return std::vector<history::Event>{};
      return store::events_of(loaded->commits);
    }();
    note(activity.view(), events ? judge_timeout(activity, *events, watch.seen)
                                 : TimeoutVerdict{"error", events.error().message});
  }
  if (pass.watches.size() < pass.limit) {
    for (const std::string& id : unseen) note(id, {"skipped", "no_deadline_expired"});
  }
  return {200,
          {{"processed", std::ssize(results)},
           {"enforced", counts["enforced"]},
           {"skipped", counts["skipped"]},
           {"failed", counts["error"]},
           {"results", std::move(results)}}};
}

TimeoutVerdict judge_timeout(const ActivityId& activity, std::span<const history::Event> events,
                             std::int64_t seen) {
  for (const history::Event& event : events) {
    if (event.sequence <= seen) continue;
    const auto* ended = std::get_if<history::ActivityTimedOut>(&event.body);
    if (ended && ended->activity_id == activity) return {"enforced", {}, false};
    const auto* retried = std::get_if<history::ActivityRetryScheduled>(&event.body);
    if (retried && retried->activity_id == activity && !retried->timeout_kind.empty()) {
      return {"enforced", {}, true};
    }
  }
  if (events.empty()) return {"skipped", "execution_not_found"};
  const auto state = history::fold(events);
  if (!state) return {"error", state.error().message};
  if (!state->open()) return {"skipped", "run_already_terminal"};
  const auto& open = state->activities;
  const bool goes_on = std::ranges::find(open, activity, &history::OpenActivity::id) != open.end();
  return {"skipped", goes_on ? "no_deadline_expired" : "execution_already_terminal"};
}

}  // namespace dw::server
