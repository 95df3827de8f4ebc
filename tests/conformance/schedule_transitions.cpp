#include "schedule_transitions.hpp"

#include <fmt/format.h>

namespace dw::conformance {

using namespace store;

ScheduleRow schedule_row(std::string_view ulid, std::string_view schedule_id) {
  ScheduleRow row;
  row.ulid = ScheduleUlid{std::string{ulid}};
  row.ns = Namespace{"default"};
  row.schedule_id = schedule_id;
  row.status = schedule_active;
  row.due_at = at(60);
  row.created_at = at(0);
  row.record = R"({"fires_count":0})";
  return row;
}

ScheduleName name_of(const ScheduleRow& row) {
  return {row.ns, row.schedule_id};
}

ScheduleEventRow schedule_event(const ScheduleRow& row, std::int64_t sequence,
                                std::string_view type) {
  ScheduleEventRow event;
  event.ulid = row.ulid;
  event.ns = row.ns;
  event.schedule_id = row.schedule_id;
  event.sequence = sequence;
  event.id = fmt::format("{}-e{}", row.ulid.view(), sequence);
  event.type = type;
  event.payload = R"({"reason":"Zürich"})";
  event.recorded_at = at(sequence);
  return event;
}

LedgerRow ledger_line(const ScheduleRow& row, std::int64_t nominal_at, std::int64_t nth) {
  LedgerRow line;
  line.ulid = row.ulid;
  line.ns = row.ns;
  line.schedule_id = row.schedule_id;
  line.nominal_at = at(nominal_at);
  line.nth = nth;
  line.outcome = "skipped";
  line.mode = "tick";
  line.reason = "calendar";
  line.judged_at = at(nominal_at + 1);
  line.detail = R"({"calendar_id":"de"})";
  return line;
}

Transition create(std::string_view commit, const ScheduleRow& row) {
  Transition transition = change(commit, row, "");
  transition.reads.push_back({name_of(row), {}});
  transition.schedule_events = {schedule_event(row, 1, "ScheduleCreated")};
  return transition;
}

Transition change(std::string_view commit, const ScheduleRow& row, std::string_view seen) {
  Transition transition = tasks_only(commit, {});
  transition.reads = {{row.ulid, CommitId{std::string{seen}}}};
  transition.schedules = {row};
  return transition;
}

Transition fire(std::string_view commit, const ScheduleRow& row, std::string_view seen,
                std::int64_t nominal_at, const RunRow& run) {
  Transition transition = start(commit, run);
  transition.reads.push_back({row.ulid, CommitId{std::string{seen}}});
  transition.schedules = {row};
  transition.schedule_events = {schedule_event(row, 2, "ScheduleTriggered")};
  LedgerRow line = ledger_line(row, nominal_at);
  line.outcome = "fired";
  line.reason = "";
  line.instance_id = run.instance_id.str();
  line.run_id = run.run_id.str();
  line.open = true;
  transition.ledger = {line};
  return transition;
}

}  // namespace dw::conformance
