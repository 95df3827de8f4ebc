// Calendars on the command line: what is sent, and what is refused before anything is.
#include "cli/client_story.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

namespace dw::cli {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr int succeeded = 0, refused_here = 2, forbidden = 4, absent = 5;

class CalendarCommands : public testing::Test {
 protected:
  CalendarCommands() { story.answers(R"({"id":"01J","name":"closed","kind":"skip_dates"})"); }

  std::string file(const std::string& name, const std::string& text) {
    const auto path = std::filesystem::path{testing::TempDir()} / ("dw-calendar-" + name);
    std::ofstream{path} << text;
    return path.string();
  }
  // What a command sends as its one request.
  std::string sent_by(std::vector<std::string> words) {
    const Ran ran = story.run(std::move(words));
    EXPECT_EQ(ran.code, succeeded) << ran.out << ran.err;
    if (story.sent.size() != 1) return fmt::format("{} requests", story.sent.size());
    const auto sent = story.sent.front();
    story.sent.clear();
    return fmt::format("{} {}{}{}", sent.method, sent.target, sent.body.empty() ? "" : " ",
                       sent.body);
  }
  void expect_refused_here(std::vector<std::string> words, const std::string& because) {
    const Ran ran = story.run(std::move(words));
    EXPECT_EQ(ran.code, refused_here);
    EXPECT_THAT(ran.err, HasSubstr(because));
    EXPECT_THAT(story.sent, IsEmpty());
  }

  ClientStory story;
};

TEST_F(CalendarCommands, AreSpokenInEveryForm) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"calendar:show", "closed"},
                                                {"calendar", "show", "closed"},
                                                {"calendars", "show", "closed"},
                                                {"schedule:calendar:show", "closed"},
                                                {"schedule", "calendar", "show", "closed"},
                                                {"schedules", "calendar", "show", "closed"},
                                                {"schedule:calendar", "show", "closed"},
                                                {"schedules:calendar", "show", "closed"},
                                                {"schedule", "calendar:show", "closed"}}) {
    EXPECT_EQ(sent_by(words), "GET /api/calendars/closed");
  }
  EXPECT_EQ(sent_by({"--namespace", "blue", "schedule", "--json", "calendar", "list"}),
            "GET /api/calendars");
  expect_refused_here({"schedule", "calendar"}, "'schedule:calendar' is a group of commands");
  expect_refused_here({"schedule", "calendar", "shwo"}, "schedule:calendar:show");
}

TEST_F(CalendarCommands, DaysComeFromTheLineAndFromFiles) {
  EXPECT_EQ(
      sent_by({"calendar:create", "--name=closed", "--kind=skip_dates", "--timezone=UTC",
               "--dates=2026-12-24, 2026-12-31", "--dates", "2027-01-01", "--except=2026-12-31"}),
      R"(POST /api/calendars {"name":"closed","kind":"skip_dates","timezone":"UTC",)"
      R"("dates":["2026-12-24","2026-12-31","2027-01-01"],"except":["2026-12-31"]})");
  const auto days = file("days.txt", "# ours\n2026-06-12  # party\n\n2026-06-13,2026-06-14\r\n");
  EXPECT_EQ(sent_by({"calendar:create", "--name=x", "--dates-file", days}),
            R"(POST /api/calendars {"name":"x","dates":["2026-06-12","2026-06-13","2026-06-14"]})");
  story.standard_input("2026-06-12\n");
  EXPECT_EQ(sent_by({"calendar:create", "--name=x", "--dates-file=-"}),
            R"(POST /api/calendars {"name":"x","dates":["2026-06-12"]})");
}

TEST_F(CalendarCommands, RulesComeAloneOrWithAWholeCalendar) {
  const auto rules = file("rules.json", R"([{"type":"easter"}])");
  EXPECT_EQ(sent_by({"calendar:create", "--name=x", "--rules-file", rules}),
            R"(POST /api/calendars {"name":"x","rules":[{"type":"easter"}]})");
  const auto whole = file("whole.json", R"({"name":"y","timezone":"UTC","rules":[]})");
  EXPECT_EQ(sent_by({"calendar:create", "--name=x", "--rules-file", whole}),
            R"(POST /api/calendars {"name":"x","timezone":"UTC","rules":[]})");
  expect_refused_here({"calendar:create", "--rules-file", file("bad.json", "[{]")},
                      "--rules-file: not JSON");
  expect_refused_here({"calendar:create", "--rules-file", file("odd.json", "7")},
                      "must be a list of rules");
  expect_refused_here({"calendar:create", "--rules-file", "/nowhere/rules.json"}, "cannot read");
}

TEST_F(CalendarCommands, FilesOfOtherProgramsAreSentAsTheyAre) {
  const auto ics = file("days.ics", "BEGIN:VCALENDAR\nEND:VCALENDAR\n");
  EXPECT_EQ(
      sent_by({"calendar:import", ics, "--name=x", "--timezone=UTC", "--take-what-is-understood"}),
      R"(POST /api/calendars/import {"ics":"BEGIN:VCALENDAR\nEND:VCALENDAR\n","name":"x",)"
      R"("timezone":"UTC","take_what_is_understood":true})");
  EXPECT_EQ(sent_by({"calendar:create", "--name=x", "--ics", ics}),
            R"(POST /api/calendars {"name":"x","ics":"BEGIN:VCALENDAR\nEND:VCALENDAR\n"})");
  expect_refused_here({"calendar:import", file("latin1.ics", "caf\xe9")}, "is not UTF-8 text");
  expect_refused_here({"calendar:create", "--ics", ics, "--dates=2026-01-01"}, "not from both");
}

TEST_F(CalendarCommands, WhatMakesNoSenseIsNotSent) {
  expect_refused_here({"calendar:create", "--name=x", "--timezone=UTC"}, "which days?");
  expect_refused_here({"calendar:create", "--kind=skip", "--dates=2026-01-01"}, "--kind must be");
  expect_refused_here({"calendar:update", "closed"}, "nothing was given");
  expect_refused_here({"calendar:clone", "weekends"}, "--name is missing");
  expect_refused_here({"calendar:list", "--seeds-only", "--mine-only"}, "not both");
  expect_refused_here({"calendar:expand", "weekends", "--year=0"}, "--year must be");
}

TEST_F(CalendarCommands, EachAsksForItsRoute) {
  EXPECT_EQ(sent_by({"calendar:list", "--seeds-only"}), "GET /api/calendars?seeds_only=true");
  EXPECT_EQ(sent_by({"calendar:list", "--mine-only"}), "GET /api/calendars?mine_only=true");
  EXPECT_EQ(sent_by({"calendar:update", "our days", "--timezone=UTC"}),
            R"(PUT /api/calendars/our%20days {"timezone":"UTC"})");
  EXPECT_EQ(sent_by({"calendar:clone", "weekends", "--name=ours", "--timezone=Asia/Tokyo"}),
            R"(POST /api/calendars/weekends/clone {"name":"ours","timezone":"Asia/Tokyo"})");
  EXPECT_EQ(sent_by({"calendar:expand", "weekends", "--year", "2027"}),
            "GET /api/calendars/weekends/expand?year=2027");
  EXPECT_EQ(sent_by({"calendar:delete", "closed", "--yes"}), "DELETE /api/calendars/closed");
  EXPECT_EQ(sent_by({"calendar:delete", "closed", "--force", "-y"}),
            "DELETE /api/calendars/closed?force=true");
}

TEST_F(CalendarCommands, DeletingAsksAndWhereItCannotNeedsYes) {
  expect_refused_here({"calendar:delete", "closed"}, "needs --yes");
  story.on_a_terminal("n\n");
  EXPECT_THAT(story.run({"calendar:delete", "closed"}).out, HasSubstr("Nothing was done."));
  EXPECT_THAT(story.sent, IsEmpty());
  story.on_a_terminal("y\n");
  EXPECT_EQ(story.run({"calendar:delete", "closed"}).code, succeeded);
  EXPECT_THAT(story.sent, SizeIs(1));
}

TEST_F(CalendarCommands, AnswersNameTheCalendar) {
  const Ran ran = story.run({"calendar:create", "--name=closed", "--dates=2026-12-24", "--json"});
  const Value answer = ran.document();
  EXPECT_EQ(*answer.find("calendar_id"), Value{"01J"});
  EXPECT_EQ(*answer.find("namespace"), Value{"default"});
}

TEST(CalendarAnswers, AYearIsATableOfDays) {
  ClientStory story;
  story.answers(R"({"id":"x","name":"holidays","kind":"skip_dates","timezone":"UTC","year":2026,
    "dates":["2026-12-25"],"partial_dates":[{"date":"2026-12-24","from":"13:00","until":"24:00"}],
    "labels":{"2026-12-25":"Christmas"},"exhausted_tables":["Bayram"],"provisional":true})");
  EXPECT_EQ(story.run({"calendar:expand", "holidays"}).out,
            "holidays in 2026\n"
            "  Kind: skip_dates\n"
            "  Timezone: UTC\n"
            "Date        Day       Time         Label\n"
            "2026-12-24  Thursday  13:00-24:00  -\n"
            "2026-12-25  Friday    all day      Christmas\n"
            "The table Bayram says nothing about that year.\n"
            "Some of these days are a forecast.\n");
}

TEST(CalendarAnswers, RefusalsHaveTheirExitCodes) {
  ClientStory story;
  story.answers(R"({"message":"stays","reason":"calendar_is_seed"})", 403);
  EXPECT_EQ(story.run({"calendar:update", "weekends", "--name=x"}).code, forbidden);
  ClientStory used;
  used.answers(R"({"message":"in use","reason":"calendar_in_use"})", 409);
  EXPECT_EQ(used.run({"calendar:delete", "closed", "--yes"}).code, refused_here);
  ClientStory gone;
  gone.answers(R"({"message":"none","reason":"calendar_not_found"})", 404);
  EXPECT_EQ(gone.run({"calendar:show", "closed"}).code, absent);
}

}  // namespace
}  // namespace dw::cli
