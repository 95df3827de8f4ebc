// Calendars as callers find them: those of their namespace, those that ship with us, and no others.
#include "server/calendars.hpp"

#include "schedule/calendar_text.hpp"
#include "server/calendars_story.hpp"

#include <gmock/gmock.h>

#include <thread>

namespace dw::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class FindingCalendars : public CalendarStory {
 protected:
  static std::chrono::local_seconds noon_of(std::string_view date) {
    return schedule::find_date(date).value() + std::chrono::hours{12};
  }
};

// proves: S-123, S-127
TEST_F(FindingCalendars, EverybodySeesThoseThatShip) {
  for (const std::string ns : {"default", "elsewhere"}) {
    EXPECT_THAT(listed("", ns),
                ElementsAre("us-federal-holidays-2026", "tr-public-holidays-2026", "weekends-only",
                            "us-federal-holidays", "tr-public-holidays", "weekends", "weekdays"));
  }
  const auto seed = ask("GET", "calendars/weekends-only");
  EXPECT_EQ(seed.status, 200);
  EXPECT_EQ(json_at(seed, "is_seed"), "true");
  EXPECT_EQ(json_at(seed, "namespace"), "null");
  EXPECT_EQ(json_at(seed, "kind"), R"("only_dates")");
  EXPECT_EQ(json_at(seed, "date_count"), "104");
}

// proves: S-118, S-128
TEST_F(FindingCalendars, OneThatWasMadeIsShownWithEverythingAboutIt) {
  const auto made = ask("POST", "calendars", R"({"name":"company","kind":"skip_dates",
    "timezone":"Europe/Istanbul","description":"When we are away","dates":["2026-06-12"],
    "partial_dates":[{"date":"2026-12-31","from":"13:00"}],
    "rules":[{"type":"weekly","weekdays":[6,7]}],"except":["2026-08-15"],
    "labels":{"2026-06-12":"Party"}})");
  ASSERT_EQ(made.status, 201) << text_of(made);
  const auto id = text_at(made, "id");
  EXPECT_THAT(id, SizeIs(26));
  EXPECT_EQ(text_of(made),
            fmt::format(R"(201 {{"id":"{}","namespace":"default","name":"company",)"
                        R"("kind":"skip_dates","timezone":"Europe/Istanbul",)"
                        R"("description":"When we are away","dates":["2026-06-12"],)"
                        R"("partial_dates":[{{"date":"2026-12-31","from":"13:00",)"
                        R"("until":"24:00"}}],"rules":[{{"type":"weekly","weekdays":[6,7]}}],)"
                        R"("except":["2026-08-15"],"labels":{{"2026-06-12":"Party"}},)"
                        R"("is_seed":false,"created_at":"2026-04-10T12:00:00.000000Z",)"
                        R"("updated_at":"2026-04-10T12:00:00.000000Z","date_count":1,)"
                        R"("partial_date_count":1,"rule_count":1}})",
                        id));
  attached[{"default", id}] = {"nightly", "weekly"};
  for (const std::string& by : {id, std::string{"company"}}) {
    const auto shown = ask("GET", "calendars/" + by);
    EXPECT_EQ(text_at(shown, "id"), id);
    EXPECT_EQ(json_at(shown, "attached_schedules"), R"(["nightly","weekly"])");
  }
}

TEST_F(FindingCalendars, AListSaysHowManyDaysNotWhich) {
  make("b-days", R"(["2026-01-02","2026-01-03"])");
  make("a-days");
  EXPECT_THAT(listed(), ElementsAre("a-days", "b-days"));
  EXPECT_THAT(listed("?seeds_only=true"), SizeIs(7));
  const auto all = ask("GET", "calendars");
  EXPECT_EQ(json_at(all, "calendar_count"), "9");
  const Value& row = (*find_in(all, "calendars")->if_array())[1];
  EXPECT_EQ(*row.find("date_count"), Value{2});
  EXPECT_EQ(row.find("dates"), nullptr);
}

TEST_F(FindingCalendars, NamespacesDoNotSeeEachOthers) {
  const auto id = make("company");
  make("company", R"(["2026-05-05"])", "elsewhere");
  EXPECT_THAT(listed("?mine_only=true", "third"), IsEmpty());
  for (const std::string method : {"GET", "PUT", "DELETE"}) {
    expect_refused(ask(method, "calendars/" + id, "{}", "elsewhere"), 404, "calendar_not_found");
  }
  expect_refused(ask("POST", "calendars/" + id + "/clone", R"({"name":"x"})", "elsewhere"), 404,
                 "calendar_not_found");
  expect_refused(ask("GET", "calendars/" + id + "/expand", "{}", "elsewhere"), 404,
                 "calendar_not_found");
  EXPECT_EQ(calendars.find(Namespace{"elsewhere"}, id), nullptr);
  EXPECT_TRUE(calendars.find(Namespace{"elsewhere"}, "company")->is_member(noon_of("2026-05-05")));
}

TEST_F(FindingCalendars, WhoeverJudgesATickFindsThemCompiled) {
  const auto id = make("company");
  const Namespace ns{"default"};
  const auto found = calendars.find(ns, id);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found, calendars.find(ns, "company")) << "the same version is compiled once";
  EXPECT_FALSE(found->allows(noon_of("2026-12-24")));
  EXPECT_TRUE(found->allows(noon_of("2026-12-23")));
  EXPECT_TRUE(calendars.find(ns, "weekends")->allows(noon_of("2031-02-01")));
  EXPECT_EQ(calendars.find(ns, "unheard-of"), nullptr);

  ask("PUT", "calendars/company", R"({"dates":["2026-12-23"]})");
  const auto changed = calendars.find(ns, id);
  EXPECT_NE(changed, found);
  EXPECT_TRUE(changed->allows(noon_of("2026-12-24")));
  EXPECT_FALSE(found->allows(noon_of("2026-12-24"))) << "what was found stays as it was";
}

TEST_F(FindingCalendars, AskedFromOtherThreadsWhileTheyChange) {
  const auto id = make("company");
  std::jthread asking{[&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      const auto found = calendars.find(Namespace{"default"}, id);
      ASSERT_NE(found, nullptr);
      EXPECT_NE(found->is_member(noon_of("2026-12-24")), found->is_member(noon_of("2026-12-25")));
    }
  }};
  for (int day = 0; day < 100; ++day) {
    ask("PUT", "calendars/company", fmt::format(R"({{"dates":["2026-12-{}"]}})", 24 + day % 2));
  }
}

TEST_F(FindingCalendars, AYearIsLaidOut) {
  const auto laid_out = ask("GET", "calendars/us-federal-holidays/expand?year=2028");
  EXPECT_EQ(laid_out.status, 200);
  EXPECT_EQ(json_at(laid_out, "year"), "2028");
  EXPECT_THAT(json_at(laid_out, "dates"), HasSubstr(R"("2028-11-23")"));
  EXPECT_THAT(json_at(laid_out, "labels"), HasSubstr("Thanksgiving"));
  EXPECT_EQ(json_at(ask("GET", "calendars/weekends/expand"), "year"), "2026") << "this year";
  for (const std::string year : {"0", "10000", "soon", "-1"}) {
    expect_refused(ask("GET", "calendars/weekends/expand?year=" + year), 422, "validation_failed");
  }
}

TEST_F(FindingCalendars, TheyOutliveTheProcess) {
  const auto id = make("company");
  make("other", R"(["2026-05-05"])", "elsewhere");
  const auto broken = [&](std::string_view document_id, std::string_view body) {
    store
        .put_document({std::string{calendar_kind}, Namespace{"default"}, std::string{document_id},
                       std::string{body}})
        .value();
  };
  broken("odd", "{]");
  broken("empty", "{}");
  broken("vanished",
         R"({"id":"vanished","namespace":"default","name":"far","kind":"skip_dates",
             "timezone":"Mars/Olympus","dates":["2026-05-05"],"is_seed":false,
             "created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:00Z"})");
  Calendars restarted{parts()};
  restarted.restore(kept());
  const Namespace ns{"default"};
  EXPECT_EQ(restarted.find_kept(ns, id)->record, calendars.find_kept(ns, id)->record);
  EXPECT_NE(restarted.find(Namespace{"elsewhere"}, "other"), nullptr);
  EXPECT_EQ(restarted.find(ns, "odd"), nullptr) << "what cannot be read is left out";
  EXPECT_EQ(restarted.find(ns, "empty"), nullptr);
  EXPECT_EQ(restarted.find(ns, "far")->calendar().timezone, "Mars/Olympus")
      << "a zone that is gone does not take its calendar along";
}

TEST_F(FindingCalendars, ANamespaceThatLeavesTakesItsOwnAlong) {
  make("one", R"(["2026-05-05"])", "leaving");
  make("two", R"(["2026-05-05"])", "leaving");
  make("one");
  EXPECT_EQ(calendars.forget(Namespace{"leaving"}).value(), 2);
  EXPECT_EQ(calendars.forget(Namespace{"unheard-of"}).value(), 0);
  EXPECT_THAT(listed("?mine_only=true", "leaving"), IsEmpty());
  EXPECT_THAT(listed(), ElementsAre("one"));
  EXPECT_THAT(kept(), SizeIs(1));
}

}  // namespace
}  // namespace dw::server
