#include "schedule/preview.hpp"

#include "schedule/guards.hpp"
#include "schedule/local_text.hpp"

#include <algorithm>

namespace dw::schedule {
namespace {

// Overdue, and nobody has judged it.
bool has_pending(const Schedule& schedule, Timestamp now) {
  if (!due_at(schedule) || !schedule.next_nominal_at || *schedule.next_nominal_at > now) {
    return false;
  }
  return !schedule.judged_until || *schedule.next_nominal_at > *schedule.judged_until;
}

// One occurrence after the other: first what is overdue, then what comes.
class Coming {
 public:
  Coming(const Schedule& schedule, const PreviewRequest& request, const Facts& facts)
      : walk_(*facts.spec, start_of_walk(schedule, request, facts)) {
    if (!request.from && has_pending(schedule, facts.now)) overdue_ = *schedule.next_nominal_at;
  }

  std::optional<Occurrence> next() {
    if (!overdue_) return walk_.next();
    const Occurrence first{*overdue_};
    overdue_.reset();
    return first;
  }

 private:
  static Timestamp start_of_walk(const Schedule& schedule, const PreviewRequest& request,
                                 const Facts& facts) {
    const auto after = request.from ? *request.from - Duration{1} : facts.now;
    return std::max(after, schedule.judged_until.value_or(after));
  }

  std::optional<Timestamp> overdue_;
  SpecWalk walk_;
};

Value input_of(const Schedule& schedule) {
  if (const auto* start = std::get_if<StartWorkflow>(&schedule.action)) return start->input;
  return std::get<SendPrompt>(schedule.action).prompt;
}

// The guards that can be asked ahead of time, in their order.
std::string_view reason_at(const Schedule& schedule, const Facts& facts, Timestamp nominal_at) {
  const Attempt attempt{schedule, facts, Mode::tick, nominal_at, nominal_at};
  for (const auto guard :
       {Guard::status, Guard::remaining_actions, Guard::calendar, Guard::condition}) {
    if (const auto denial = ask(guard, attempt)) return denial->reason;
  }
  return "ok";
}

PreviewRow look_at(Schedule& schedule, const Facts& facts, const Occurrence& occurrence) {
  PreviewRow row{occurrence.at};
  const auto second = chrono::floor<chrono::seconds>(occurrence.at);
  row.local = facts.spec->zone().local_at(second);
  row.offset = facts.spec->zone().offset_at(second);
  row.dst = occurrence.dst;
  row.jitter_window_end = occurrence.at + chrono::seconds{schedule.spec.jitter_seconds};
  row.reason = reason_at(schedule, facts, occurrence.at);
  row.dispatch = row.reason == "ok";
  row.inputs = input_of(schedule);
  if (!schedule.rotation || schedule.rotation->inputs.empty()) return row;
  auto [index, input] = pick(*schedule.rotation);
  row.rotation_index = static_cast<std::int64_t>(index);
  row.inputs = std::move(input);
  return row;
}

void count_dispatch(Schedule& schedule) {
  if (schedule.rotation) advance(*schedule.rotation);
  if (schedule.remaining_actions) --*schedule.remaining_actions;
}

Value row_value(const PreviewRow& row) {
  Value::Map map{{"tick_at", format_timestamp(row.tick_at)},
                 {"local", local_text(row.local, row.offset)},
                 {"decision", row.dispatch ? "dispatch" : "skip"},
                 {"reason", row.reason},
                 {"inputs", row.inputs},
                 {"rotation_index", row.rotation_index ? Value{*row.rotation_index} : Value{}},
                 {"jitter_window_end", format_timestamp(row.jitter_window_end)},
                 {"dst", dst_value(row.dst)}};
  if (row.may_overlap) map.emplace_back("may_overlap", true);
  return map;
}

}  // namespace

Preview preview(const Schedule& schedule, const PreviewRequest& request, const Facts& facts,
                std::optional<chrono::seconds> typical_run) {
  Preview seen;
  seen.context = facts.condition_context.value_or(Value{});
  seen.snapshot_at = facts.now;
  seen.window_days = std::clamp<std::int64_t>(request.horizon_days, 1, longest_horizon_days);
  if (facts.spec == nullptr) return seen;
  const auto most =
      static_cast<std::size_t>(std::clamp<std::int64_t>(request.next, 1, most_previewed));
  const auto horizon = request.from.value_or(facts.now) + chrono::days{seen.window_days};
  Schedule ahead = schedule;
  Coming coming{schedule, request, facts};
  while (seen.rows.size() < most) {
    const auto next = coming.next();
    if (!next) break;
    if (next->at > horizon) {
      seen.truncated = true;
      break;
    }
    auto row = look_at(ahead, facts, *next);
    if (row.dispatch) count_dispatch(ahead);
    row.may_overlap =
        typical_run && !facts.open_instances.empty() && row.tick_at < facts.now + *typical_run;
    seen.rows.push_back(std::move(row));
  }
  return seen;
}

Value to_value(const Preview& preview) {
  Value::Array ticks;
  for (const auto& row : preview.rows) ticks.push_back(row_value(row));
  return Value::Map{{"ticks", std::move(ticks)},
                    {"context", preview.context},
                    {"snapshot_at", format_timestamp(preview.snapshot_at)},
                    {"window_days", preview.window_days},
                    {"truncated", preview.truncated}};
}

}  // namespace dw::schedule
