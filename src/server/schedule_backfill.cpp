// Backfills: the occurrences of a window, one after another, each in a commit of its own. Whoever
// asks again gets to hear which have been started; nothing is started twice.
#include "server/schedule_detail.hpp"
#include "server/schedule_fields.hpp"
#include "server/schedules.hpp"

#include <fmt/format.h>

namespace dw::server {
namespace {

Answer wrong_window(std::string_view problem, const Call& call) {
  const bool large = problem == "backfill_window_too_large";
  const std::string text = large ? fmt::format("has more than {} occurrences; take it in pieces",
                                               schedule::most_backfilled)
                                 : std::string{"must be after start_time"};
  const Value errors{Value::Map{{"end_time", Value::Array{text}}}};
  return refusal(422, problem,
                 fmt::format("schedule '{}' cannot be backfilled like that: the window {}",
                             call.match["schedule"], large ? text : "ends before it begins"),
                 {{"errors", errors}, {"validation_errors", errors}});
}

Value backfilled(Timestamp fire_time, const dispatch::ScheduleReply& told, bool dry) {
  Value::Map row{{"fire_time", format_timestamp(fire_time)}};
  if (told.outcome == schedule::Outcome::triggered) {
    row.emplace_back("outcome", dry ? "would_start" : "started");
    row.emplace_back("workflow_id", told.instance_id);
    if (!dry) row.emplace_back("run_id", told.run_id);
    return row;
  }
  row.emplace_back("outcome", told.outcome == schedule::Outcome::failed ? "failed" : "skipped");
  row.emplace_back("reason", told.reason);
  return row;
}

}  // namespace

struct Schedules::Backfill {
  Call call;
  Reply reply;
  schedule::BackfillRequest request = {};
  bool dry = false;
  Timestamp from = {};
  Timestamp to = {};
  std::vector<schedule::Occurrence> occurrences = {};
  std::size_t next = 0;
  Value::Array results = {};
  std::int64_t would_start = 0;

  void answer() {
    const auto count = static_cast<std::int64_t>(results.size());
    Answer said{200,
                {{"schedule_id", call.match["schedule"]},
                 {"namespace", call.ns.view()},
                 {"outcome", dry ? "backfill_planned" : "backfill_started"},
                 {"fires_attempted", count},
                 {"results", std::move(results)}}};
    reply(std::move(said));
  }
};

void Schedules::backfill(const Call& call, Reply reply) {
  Fields fields{call};
  auto work = std::make_shared<Backfill>();
  const auto from = instant_in(fields, "start_time");
  const auto to = instant_in(fields, "end_time");
  work->request.overlap_policy = overlap_in(fields);
  work->request.ignore_calendar = fields.flag("ignore_calendar");
  work->request.apply_condition = fields.flag("apply_condition");
  work->request.force = fields.flag("force");
  work->dry = fields.flag("dry_run");
  if (!fields.fine()) return reply(fields.errors());
  work->from = *from;
  work->to = *to;
  work->call = call.without_body();
  work->reply = std::move(reply);
  parts_.reader.post([this, work] {
    const auto found = find(work->call);
    if (!found) return work->reply(schedule_failed(found.error(), work->call));
    if (!*found) return work->reply(no_such_schedule(work->call));
    const auto spec = parts_.looks.spec_of(**found, parts_.clock.now());
    if (!spec) {
      return work->reply(refusal(409, schedule::spec_unresolvable,
                                 fmt::format("the times of schedule '{}' cannot be told here: its "
                                             "zone is not known any more",
                                             work->call.match["schedule"])));
    }
    auto window = schedule::backfill_window(*spec, work->from, work->to);
    if (!window.problem.empty()) return work->reply(wrong_window(window.problem, work->call));
    work->occurrences = std::move(window.occurrences);
    next_of(work);
  });
}

void Schedules::next_of(const std::shared_ptr<Backfill>& work) {
  if (work->next == work->occurrences.size()) return work->answer();
  schedule::Asked asked{.mode = schedule::Mode::backfill};
  asked.nominal_at = work->occurrences[work->next++].at;
  asked.backfill = work->request;
  ask(
      work->call, asked,
      [asked](const schedule::Schedule& found, const schedule::Facts& facts) {
        return decide_backfill(found, asked.nominal_at, asked.backfill, facts);
      },
      work->dry,
      [this, work, at = asked.nominal_at](const dispatch::ScheduleReply& told) {
        if (told.outcome == schedule::Outcome::refused) {
          return work->reply(schedule_refused(told, work->call));
        }
        work->results.push_back(backfilled(at, told, work->dry));
        if (told.outcome == schedule::Outcome::triggered) ++work->would_start;
        // The last action that it had: it is gone now, or would be.
        const auto& left = told.schedule.remaining_actions;
        const bool used_up = work->dry ? left && *left + 1 <= work->would_start
                                       : told.schedule.status == schedule::Status::deleted;
        used_up ? work->answer() : next_of(work);
      },
      [work](Answer no) {
        // Somebody deleted it meanwhile: what was done before is done.
        no.status == 404 && !work->results.empty() ? work->answer() : work->reply(std::move(no));
      });
}

}  // namespace dw::server
