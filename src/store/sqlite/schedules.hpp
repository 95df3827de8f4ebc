// The tables `schedules` and `schedule_events`: when each is due, and what happened to it.
#pragma once
#include "store/sqlite/connection.hpp"
#include "store/winners.hpp"

namespace dw::sqlite {

class ScheduleWriter {
 public:
  static Result<ScheduleWriter> prepare(Connection& connection);

  // Leaves `version` empty when there is no such schedule.
  Outcome find_version(const ScheduleUlid& ulid, CommitId& version);
  // The version of whoever lives under the name, and who that is.
  Outcome find_holder(const store::ScheduleName& name, store::StreamVersion& into);
  // Changes a row whose status stays what it is, which is what a fire does; no row otherwise.
  Outcome keep(const store::ScheduleRow& row, const CommitId& version);
  // Inserts the row or changes it, all but what it keeps for life.
  Outcome put(const store::ScheduleRow& row, const CommitId& version);
  Outcome append(const store::ScheduleEventRow& event);
  Outcome find_event(const store::ScheduleEventRow& event, bool& found);
  Outcome remove(const ScheduleUlid& ulid);
  Outcome remove_events(const ScheduleUlid& ulid);

 private:
  Statement find_version_;
  Statement find_holder_;
  Statement keep_;
  Statement put_;
  Statement append_;
  Statement find_event_;
  Statement remove_;
  Statement remove_events_;
};

class ScheduleReader {
 public:
  static Result<ScheduleReader> prepare(Connection& connection);

  Result<std::optional<store::ScheduleRow>> find(const Namespace& ns, std::string_view schedule_id);
  Result<std::optional<store::ScheduleRow>> load(const ScheduleUlid& ulid);
  Result<std::vector<store::ScheduleRow>> due(const std::optional<store::ScheduleMark>& after,
                                              Timestamp until, std::size_t limit);
  Result<std::optional<Timestamp>> next_due();
  Result<std::vector<store::ScheduleRow>> buffered(const std::optional<store::ScheduleMark>& after,
                                                   std::size_t limit);
  Result<store::ScheduleCounts> count(const std::optional<Namespace>& ns, Timestamp now,
                                      Timestamp late_since);
  Result<std::vector<store::ScheduleRow>> list(const store::ScheduleFilter& filter);
  Result<std::vector<store::ScheduleEventRow>> events(const ScheduleUlid& ulid,
                                                      std::int64_t after_sequence,
                                                      std::size_t limit);

 private:
  explicit ScheduleReader(Connection& connection) : connection_(&connection) {}

  Connection* connection_;
  Statement find_live_;
  Statement find_deleted_;
  Statement load_;
  Statement due_;
  Statement next_due_;
  Statement buffered_;
  Statement count_;
  Statement count_due_;
  Statement list_;
  Statement events_;
};

}  // namespace dw::sqlite
