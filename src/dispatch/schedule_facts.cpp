#include "dispatch/schedule_facts.hpp"

#include "history/fold.hpp"
#include "schedule/condition.hpp"
#include "schedule/record_codec.hpp"
#include "store/derived.hpp"

namespace dw::dispatch {
namespace {

// More than that keep a schedule busy just as well.
constexpr std::size_t most_open_seen = 200;
constexpr std::size_t most_specs_kept = 10'000;

std::optional<Timestamp> occurrence_asked(const schedule::Schedule& schedule,
                                          const schedule::Asked& asked) {
  switch (asked.mode) {
    case schedule::Mode::tick:
      return schedule.next_nominal_at;
    case schedule::Mode::drain:
      if (schedule.buffered_actions.empty()) return std::nullopt;
      return schedule.buffered_actions.front().nominal_at;
    case schedule::Mode::backfill:
      return asked.nominal_at;
    case schedule::Mode::trigger:
      break;
  }
  return std::nullopt;
}

std::string spec_key(const schedule::Schedule& schedule) {
  std::string key = to_json(schedule::to_value(schedule.spec));
  for (const auto& bound : {schedule.bounds.start_at, schedule.bounds.end_at}) {
    key += ' ';
    if (bound) key += format_timestamp(*bound);
  }
  return key;
}

std::string_view status_word(const store::RunRow& run) {
  return to_string(run.status);
}

}  // namespace

Result<SeenSchedule> ScheduleReader::look(const store::ScheduleName& name, const NeedsOf& needs,
                                          const schedule::Asked& asked, Timestamp now) {
  auto row = DW_TRY(store_.find_schedule(name.ns, name.schedule_id));
  if (!row) return SeenSchedule{};
  return look(*std::move(row), needs, asked, now);
}

Result<SeenSchedule> ScheduleReader::look(store::ScheduleRow row, const NeedsOf& needs,
                                          const schedule::Asked& asked, Timestamp now) {
  SeenSchedule seen;
  seen.schedule = DW_TRY(schedule::read_schedule(row.record));
  seen.row = std::move(row);
  const schedule::Schedule& found = *seen.schedule;
  seen.spec = spec_of(found, now);
  const schedule::Needs wanted = needs ? needs(found) : schedule::Needs{};
  if (wanted.calendars) seen.calendars = calendars_of(found);
  if (wanted.open_instances) DW_TRY_VOID(see_open_instances(seen));
  if (wanted.failures) DW_TRY_VOID(see_failures(seen));
  if (wanted.condition_context) {
    // What cannot be told denies: that is for the decision to say.
    if (auto context = context_of(found, now)) seen.condition_context = *std::move(context);
  }
  if (wanted.credits && sources_.credits) {
    seen.credits_used_today = sources_.credits(found.ns, found.schedule_id);
  }
  if (wanted.slot) {
    if (const auto nominal = occurrence_asked(found, asked)) {
      const auto taken =
          DW_TRY(store_.find_ledger(seen.row->ulid, *nominal, schedule::the_occurrence));
      seen.slot_taken = taken && !taken->instance_id.empty();
    }
  }
  return seen;
}

std::shared_ptr<const schedule::Spec> ScheduleReader::spec_of(const schedule::Schedule& schedule,
                                                              Timestamp now) {
  const std::string key = spec_key(schedule);
  auto zone = sources_.zone(schedule.spec.timezone);
  {
    const std::lock_guard lock{mutex_};
    const auto known = specs_.find(key);
    if (known != specs_.end() && known->second.zone == zone) return known->second.spec;
  }
  auto checked = schedule::check_spec(schedule.spec, zone, schedule.bounds, now);
  // Not kept: the zone may be there next time.
  if (!checked.spec) return nullptr;
  auto spec = std::make_shared<const schedule::Spec>(*std::move(checked.spec));
  const std::lock_guard lock{mutex_};
  if (specs_.size() >= most_specs_kept) specs_.clear();
  return specs_.insert_or_assign(key, KeptSpec{std::move(zone), std::move(spec)})
      .first->second.spec;
}

std::vector<schedule::AttachedCalendar> ScheduleReader::calendars_of(
    const schedule::Schedule& schedule) {
  std::vector<schedule::AttachedCalendar> attached;
  for (const std::string& id : schedule.calendar_ids) {
    auto calendar = sources_.calendar(schedule.ns, id);
    auto zone = calendar ? sources_.zone(calendar->calendar().timezone) : nullptr;
    attached.push_back({id, std::move(calendar), std::move(zone)});
  }
  return attached;
}

// Of the instance, so that a run that continued as new, or was started again, is still the same.
Result<history::RunStatus> ScheduleReader::status_of(const Namespace& ns,
                                                     const std::string& instance) {
  const auto found = DW_TRY(store_.find_instance({ns, InstanceId{instance}}));
  if (!found || !found->current_run) return history::RunStatus::none;
  const auto run = DW_TRY(store_.find_run(*found->current_run));
  return run ? run->status : history::RunStatus::none;
}

Result<void> ScheduleReader::see_open_instances(SeenSchedule& seen) {
  for (auto& line : DW_TRY(store_.open_ledger(seen.row->ulid, most_open_seen))) {
    const auto status = DW_TRY(status_of(line.ns, line.instance_id));
    if (status != history::RunStatus::none && !history::is_terminal(status)) {
      seen.open_instances.push_back(line.instance_id);
    } else {
      seen.ended.push_back(std::move(line));
    }
  }
  return {};
}

Result<void> ScheduleReader::see_failures(SeenSchedule& seen) {
  const auto& limit = seen.schedule->pause_after_failures;
  const auto& from = seen.schedule->failures_counted_from;
  store::LedgerFilter fired{.ulid = seen.row->ulid, .outcome = "fired"};
  fired.limit = limit ? static_cast<std::size_t>(*limit) : 1;
  for (const auto& line : DW_TRY(store_.ledger(fired))) {
    if (from && line.judged_at < *from) break;
    const auto status = DW_TRY(status_of(line.ns, line.instance_id));
    if (status == history::RunStatus::completed) break;
    if (status == history::RunStatus::failed) ++seen.consecutive_failures;
  }
  return {};
}

Result<Value> ScheduleReader::context_of(const schedule::Schedule& schedule, Timestamp now) {
  const auto type = std::string{workflow_type_of(schedule.action)};
  const auto recent =
      DW_TRY(store_.recent_runs_of_type(schedule.ns, type, now - std::chrono::hours{24}));
  std::optional<schedule::PriorRun> prior;
  if (recent.newest) {
    prior = schedule::PriorRun{.status = std::string{status_word(*recent.newest)}};
    const auto loaded = DW_TRY(store_.load_run(recent.newest->run_id));
    if (loaded) {
      const auto events = DW_TRY(store::events_of(loaded->commits));
      const auto state = DW_TRY(history::fold(events));
      if (state.output) {
        if (auto result = decode(*state.output)) prior->result = *std::move(result);
      }
    }
  }
  return schedule::condition_context(prior, {recent.succeeded, recent.failed, recent.total});
}

}  // namespace dw::dispatch
