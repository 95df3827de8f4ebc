// Schedules over HTTP: made, changed, looked at, paused, triggered, backfilled. What is decided
// about one is decided by the desk, one decision after the other; what is only shown is read on the
// reader's thread.
#pragma once
#include "core/ulid.hpp"
#include "dispatch/schedule_desk.hpp"
#include "schedule/calendar_value.hpp"
#include "schedule/change.hpp"
#include "server/search_attributes.hpp"

#include <mutex>

namespace dw::server {

inline constexpr std::string_view schedule_token_key_kind = "schedule_token_key";

struct SchedulesParts {
  dispatch::ScheduleDesk& desk;
  dispatch::ScheduleReader& looks;
  dispatch::ScheduleSources sources;
  store::Store& store;
  Executor& reader;
  Executor& writer;  // the thread that commits
  const Clock& clock;
  Random& random;
  const SearchAttributes& attributes;
};

struct ReadWish;

class Schedules final : public Service {
 public:
  explicit Schedules(SchedulesParts parts);

  void serve(Call call, Reply reply) override;

  // The ids of those in a namespace that use a calendar, by its id or by its name. Blocks.
  Result<std::vector<std::string>> using_calendar(const Namespace& ns,
                                                  const schedule::CalendarRecord& calendar);
  // Takes it off these, for the one who calls. `done` hears when that is durable, or why it is not.
  void take_off(const Call& call, const schedule::CalendarRecord& calendar,
                const std::vector<std::string>& schedules,
                std::function<void(std::optional<Answer> refused)> done);
  // Some of the deleted ones go with all that is known of them, on the writer's thread. How many.
  Result<std::int64_t> forget_some(const Namespace& ns);

 private:
  struct Backfill;
  struct Outlook;
  struct Purge;
  struct Supplies;
  using Told = std::function<void(const dispatch::ScheduleReply& told)>;
  using Decide = std::function<Result<schedule::Decision>(const schedule::Schedule& schedule,
                                                          const schedule::Facts& facts)>;
  // What a change depends on the schedule for, once that is at hand; or why it cannot be.
  using Refine = std::function<std::optional<schedule::ChangeProblem>(
      const schedule::Schedule& schedule, schedule::ScheduleChange& change)>;
  using Read = Answer (Schedules::*)(const Call& call);

  // Making and changing
  void create(const Call& call, Reply reply);
  void update(const Call& call, Reply reply);
  void open(const Call& call, std::shared_ptr<const ReadWish> wish,
            std::shared_ptr<const Supplies> supplies, Reply reply);
  void change(const Call& call, schedule::ScheduleChange wish, Refine refine,
              std::vector<schedule::ChangeWarning> warnings,
              std::function<Answer(const dispatch::ScheduleReply& told)> answer, Reply reply);
  // The same, shown as it then is.
  void change_guard(const Call& call, schedule::ScheduleChange wish, Refine refine, Reply reply);
  Supplies supplies_for(const Call& call, const schedule::ScheduleChange& wish);
  schedule::ChangeFacts change_facts(std::shared_ptr<const Supplies> supplies,
                                     const schedule::Facts& facts) const;
  std::optional<schedule::AttachedCalendar> attached(const Namespace& ns,
                                                     std::string_view id) const;

  // Its life
  void set_paused(const Call& call, bool paused, Reply reply);
  void remove(const Call& call, Reply reply);
  void trigger(const Call& call, Reply reply);
  void backfill(const Call& call, Reply reply);
  void next_of(const std::shared_ptr<Backfill>& backfill);
  // On the schedule of that name, which must be there; `told` hears of decisions that were taken.
  void ask(const Call& call, schedule::Asked asked, Decide decide, bool dry, Told told,
           Reply reply);

  // Guards
  void attach_calendar(const Call& call, Reply reply);
  void detach_calendar(const Call& call, Reply reply);
  void set_condition(const Call& call, Reply reply);
  void clear_guard(const Call& call, std::string_view field, Reply reply);
  void set_rotation(const Call& call, Reply reply);
  Answer try_condition(const Call& call);

  // Looks
  void reading(Call call, Reply reply, Read read);
  Result<std::optional<schedule::Schedule>> find(const Call& call);
  Answer describe(const Call& call);
  Result<std::optional<ScheduleUlid>> whose_events(const Call& call);
  Answer history(const Call& call);
  Answer actions(const Call& call);
  Answer preview(const Call& call);
  Answer lint(const Call& call);
  // What speaks for and against its coming occurrences, and how long its runs take.
  Result<std::optional<Outlook>> outlook(const Call& call);
  Answer condition(const Call& call);
  Answer rotation(const Call& call);

  // All of them
  void tick(const Call& call, Reply reply);
  Answer control(const Call& call);
  void hold(const Call& call, dispatch::ScheduleControl control, Reply reply);
  void freeze(const Call& call, Reply reply);
  void purge(const Call& call, Reply reply);
  void purge_next(const std::shared_ptr<Purge>& purge);
  Result<std::vector<store::ScheduleRow>> find_purgeable(Purge& purge);
  Result<std::vector<store::ScheduleRow>> let_go(std::vector<store::ScheduleRow> leaving,
                                                 bool with_history);

  std::string token_key();
  std::string new_id();

  const SchedulesParts parts_;
  std::mutex mutex_;
  UlidSource ulids_;       // guarded by mutex_
  std::string token_key_;  // guarded by mutex_; empty: nobody has asked yet
};

// Who did it, for the audit stream.
Value command_context(const Call& call);

Answer no_such_schedule(const Call& call);
Answer schedule_failed(const Error& error, const Call& call);
// What was refused although there is such a schedule.
Answer schedule_refused(const dispatch::ScheduleReply& told, const Call& call);
// 422 with every mistake: by field, as all routes tell them, and each with its code and its place.
Answer invalid_schedule(std::span<const schedule::ChangeProblem> problems);

}  // namespace dw::server
