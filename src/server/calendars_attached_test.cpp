// Calendars and the schedules that use them: who does is told, and none is left with a calendar
// that is gone.
#include "server/calendars.hpp"
#include "server/schedule_office.hpp"

namespace dw::server {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

class AttachedCalendars : public ScheduleOffice {
 protected:
  Answer ask_about(Operation operation, std::string_view calendar = {}, Value::Map body = {}) {
    const auto all = routes();
    Call call;
    call.ns = ns;
    call.body = std::move(body);
    call.caller = caller;
    call.match.route = &*std::ranges::find(all, operation, &Route::operation);
    if (!calendar.empty()) call.match.captured.emplace_back("calendar", calendar);
    std::optional<Answer> said;
    kept.serve(std::move(call), [&](Answer answer) { said = std::move(answer); });
    work_off();
    EXPECT_TRUE(said) << "nobody answered";
    return said.value_or(Answer{});
  }
  // Makes one and gives its id.
  std::string make(std::string_view name) {
    const Value made = told(ask_about(Operation::create_calendar, {},
                                      object(fmt::format(R"({{"name":"{}","kind":"skip_dates",
                                                             "timezone":"UTC","dates":[]}})",
                                                         name))),
                            201);
    return *made.find("id")->if_string();
  }
  std::string users_of(std::string_view calendar) {
    return at(told(ask_about(Operation::describe_calendar, calendar)), "attached_schedules");
  }
  std::string calendars_of(std::string_view schedule) {
    return at(described(schedule), "calendar_ids");
  }
  Value last_event_of(std::string_view schedule) {
    const Value history = told(ask(Operation::schedule_history, schedule));
    return history.find("events")->if_array()->back();
  }

  Calendars kept{
      {.store = store,
       .writer = writer,
       .reader = reader,
       .clock = clock,
       .random = random,
       .zones = zones,
       .attached_to =
           [this](const Namespace& in, const schedule::CalendarRecord& calendar) {
             return schedules.using_calendar(in, calendar);
           },
       .detach = [this](const Call& call, const schedule::CalendarRecord& calendar,
                        const std::vector<std::string>& ids,
                        auto done) { schedules.take_off(call, calendar, ids, std::move(done)); }}};
};

TEST_F(AttachedCalendars, ACalendarNamesTheSchedulesThatUseIt) {
  const auto id = make("closed");
  create("weekly", R"({"calendar_ids":["closed"]})");
  create("nightly", fmt::format(R"({{"calendar_ids":["weekdays","{}"]}})", id));
  create("hourly", R"({"memo":{"calendar_ids":["closed"]}})");
  told(ask(Operation::pause_schedule, "weekly"));
  EXPECT_EQ(users_of("closed"), R"(["nightly","weekly"])") << "by its id and by its name";
  EXPECT_EQ(users_of("weekdays"), R"(["nightly"])");
  told(ask(Operation::delete_schedule, "weekly"));
  EXPECT_EQ(users_of("closed"), R"(["nightly"])");
  ns = Namespace{"elsewhere"};
  EXPECT_EQ(users_of("weekdays"), "[]") << "what others do with a calendar is their affair";
}

TEST_F(AttachedCalendars, OneInUseStaysUnlessForceTakesItOffFirst) {
  const auto id = make("closed");
  create("nightly", fmt::format(R"({{"calendar_ids":["weekdays","{}"]}})", id));
  create("weekly", R"({"calendar_ids":["closed"]})");
  const Answer refused = ask_about(Operation::remove_calendar, "closed");
  expect_refused(refused, 409, "calendar_in_use");
  EXPECT_EQ(at(Value{refused.body}, "attached_schedules"), R"(["nightly","weekly"])");
  EXPECT_THAT(at(Value{refused.body}, "message"), HasSubstr("nightly, weekly"));
  EXPECT_EQ(calendars_of("weekly"), R"(["closed"])");

  caller.principal = {.role = Role::operating};
  told(ask_about(Operation::remove_calendar, id, {{"force", true}}));
  EXPECT_EQ(calendars_of("nightly"), R"(["weekdays"])");
  EXPECT_EQ(calendars_of("weekly"), "[]");
  for (const char* schedule : {"nightly", "weekly"}) {
    const Value event = last_event_of(schedule);
    EXPECT_EQ(at(event, "event_type"), R"("ScheduleUpdated")");
    EXPECT_EQ(at(event, "payload.changed_fields"), R"(["calendar_ids"])");
    EXPECT_EQ(at(event, "payload.command_context.context.principal.id"), R"("operator")");
  }
  expect_refused(ask_about(Operation::describe_calendar, id), 404, "calendar_not_found");
  wait(1h);
  EXPECT_EQ(at(tick(), "processed"), "2") << "and both fire as before";
  EXPECT_EQ(started(), 2u);
}

TEST_F(AttachedCalendars, OneThatNobodyUsesGoesAtOnceAndTwoCannotDeleteItTwice) {
  make("closed");
  create("nightly");
  told(ask_about(Operation::remove_calendar, "closed"));
  EXPECT_EQ(events_of("nightly"), "ScheduleCreated");
  expect_refused(ask_about(Operation::remove_calendar, "closed"), 404, "calendar_not_found");
}

}  // namespace
}  // namespace dw::server
