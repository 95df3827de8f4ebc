// Lists of schedules: filters, pages, and tokens that are good for one list only.
#include "server/schedule_office.hpp"

namespace dw::server {
namespace {

using namespace std::chrono_literals;

class ListingSchedules : public ScheduleOffice {
 protected:
  // Five of them, a minute apart; the last two at the same moment.
  void five_of_them() {
    create("a", R"({"note":"first"})");
    wait(1min);
    create("b", R"({"action":{"workflow_type":"clean"}})");
    wait(1min);
    create("c", R"({"paused":true})");
    wait(1min);
    create("e");
    create("d");
  }
  // The ids of one page, and "…" when there is a next one.
  std::string page(std::string query = {}) {
    const Value body = told(ask(Operation::list_schedules, {}, {}, std::move(query)));
    const Value* next = body.find("next_page_token");
    token = next->if_string() ? *next->if_string() : std::string{};
    std::string ids;
    const auto& items = *body.find("schedules")->if_array();
    EXPECT_EQ(*body.find("schedule_count"), Value{std::ssize(items)});
    for (const Value& item : items) ids += *item.find("schedule_id")->if_string() + " ";
    return ids + (token.empty() ? "" : "…");
  }
  std::string next(const std::string& query = {}) {
    return "next_page_token=" + token + (query.empty() ? "" : "&" + query);
  }
  void expect_list_refused(const Answer& answer, int status, std::string_view reason,
                           std::string_view field) {
    expect_refused(answer, status, reason);
    const Value body{answer.body};
    EXPECT_EQ(at(body, "field"), to_json(Value{field}));
    EXPECT_EQ(at(body, "errors"), at(body, "validation_errors"));
    EXPECT_NE(body.find("errors")->find(field), nullptr);
    EXPECT_NE(body.find("last_safe_cursor"), nullptr);
  }
  Answer listed(std::string query) {
    return ask(Operation::list_schedules, {}, {}, std::move(query));
  }

  std::string token;
};

TEST_F(ListingSchedules, TheOneMadeLastComesFirst) {
  five_of_them();
  EXPECT_EQ(page(), "d e c b a ") << "of one moment, by their ids";
}

TEST_F(ListingSchedules, DeletedOnesAreNotListed) {
  five_of_them();
  ask(Operation::delete_schedule, "c");
  EXPECT_EQ(page(), "d e b a ");
}

TEST_F(ListingSchedules, FiltersMustAllHold) {
  five_of_them();
  EXPECT_EQ(page("status=paused"), "c ");
  EXPECT_EQ(page("workflow_type=clean"), "b ");
  EXPECT_EQ(page("status=active&query=TaskQueue%20%3D%20%22night%22"), "d e a ");
  EXPECT_EQ(page("query=Note%3D%22first%22&status=paused"), "");
}

TEST_F(ListingSchedules, AnItemSaysWhatTheScheduleItselfSays) {
  create("a");
  const Value body = told(listed(""));
  EXPECT_EQ(body.find("schedules")->if_array()->front(), described("a"));
  EXPECT_EQ(at(body, "namespace"), R"("default")");
}

TEST_F(ListingSchedules, PagesShowEverythingOnce) {
  five_of_them();
  EXPECT_EQ(page("page_size=2"), "d e …");
  EXPECT_EQ(page(next("page_size=2")), "c b …");
  EXPECT_EQ(page(next("page_size=2")), "a ");
  EXPECT_EQ(page("page_size=5"), "d e c b a ");
}

TEST_F(ListingSchedules, WhatIsMadeMeanwhileIsOnTheFirstPage) {
  five_of_them();
  page("page_size=2");
  wait(1min);
  create("f");
  EXPECT_EQ(page(next("page_size=9")), "c b a ");
  EXPECT_EQ(page("page_size=1"), "f …");
}

TEST_F(ListingSchedules, ManyThatDoNotMatchAreLookedThrough) {
  for (int i = 0; i < 450; ++i) create(fmt::format("s{}", i));
  wait(1min);
  create("odd", R"({"action":{"workflow_type":"clean"}})");
  for (int i = 0; i < 5; ++i) create(fmt::format("t{}", i));
  EXPECT_EQ(page("workflow_type=clean&page_size=1"), "odd ");
}

TEST_F(ListingSchedules, ATokenIsGoodForItsFiltersOnly) {
  five_of_them();
  page("page_size=1&status=active&query=TaskQueue%3D%22night%22");
  EXPECT_EQ(page(next("status=active&query=TaskQueue%20%3D%20'night'")), "e a ")
      << "the same question in other words";
  page("page_size=1");
  const Answer answer = listed(next("status=active"));
  expect_list_refused(answer, 409, "schedule_page_token_filter_mismatch", "next_page_token");
  EXPECT_EQ(at(Value{answer.body}, "last_safe_cursor"),
            R"({"created_at":"2026-04-10T09:03:00.000001Z","schedule_id":"d"})");
}

TEST_F(ListingSchedules, ATokenIsGoodForItsNamespaceOnly) {
  five_of_them();
  page("page_size=1");
  ns = Namespace{"elsewhere"};
  const Answer answer = listed(next());
  expect_list_refused(answer, 403, "schedule_page_token_namespace_mismatch", "next_page_token");
  EXPECT_EQ(at(Value{answer.body}, "last_safe_cursor"), "null") << "nothing of the other is told";
}

TEST_F(ListingSchedules, ATokenThatNobodyGaveOutIsMalformed) {
  five_of_them();
  page("page_size=1");
  token.front() = token.front() == 'A' ? 'B' : 'A';
  expect_list_refused(listed(next()), 400, "malformed_schedule_page_token", "next_page_token");
  expect_list_refused(listed("next_page_token="), 400, "malformed_schedule_page_token",
                      "next_page_token");
  expect_list_refused(listed("next_page_token=" + std::string(9000, 'A')), 400,
                      "malformed_schedule_page_token", "next_page_token");
}

TEST_F(ListingSchedules, ATokenIsStaleOnceItsScheduleIsNotInTheListAnyMore) {
  five_of_them();
  page("page_size=2&status=active");
  ask(Operation::pause_schedule, "e");
  expect_list_refused(listed(next("status=active")), 409, "stale_schedule_page_token",
                      "next_page_token");
  ask(Operation::resume_schedule, "e");
  EXPECT_EQ(page(next("status=active")), "b a ");

  page("page_size=2&status=active");
  ask(Operation::delete_schedule, "e");
  expect_list_refused(listed(next("status=active")), 409, "stale_schedule_page_token",
                      "next_page_token");
  wait(1s);
  create("e");
  expect_list_refused(listed(next("status=active")), 409, "stale_schedule_page_token",
                      "next_page_token");
}

TEST_F(ListingSchedules, ATokenOutlivesTheProcess) {
  five_of_them();
  page("page_size=3");
  Schedules restarted{{desk, looks, sources, store, reader, writer, clock, random, attributes}};
  const auto all = routes();
  Call call;
  call.ns = ns;
  call.query = next();
  call.match.route = &*std::ranges::find(all, Operation::list_schedules, &Route::operation);
  Answer said;
  restarted.serve(std::move(call), [&](Answer answer) { said = std::move(answer); });
  work_off();
  EXPECT_EQ(at(told(said), "schedule_count"), "2");
}

TEST_F(ListingSchedules, WhatItCannotBeAskedForIsNamed) {
  expect_list_refused(listed("colour=red"), 422, "unsupported_schedule_list_filter", "colour");
  expect_list_refused(listed("status=deleted"), 422, "validation_failed", "status");
  expect_list_refused(listed("page_size=0"), 422, "validation_failed", "page_size");
  expect_list_refused(listed("page_size=201"), 422, "validation_failed", "page_size");
  expect_list_refused(listed("page_size=many"), 422, "validation_failed", "page_size");
  expect_list_refused(listed("workflow_type="), 422, "validation_failed", "workflow_type");
  expect_list_refused(listed("query=Status%20IN%20(1)"), 422,
                      "unsupported_schedule_visibility_predicate", "query");
  expect_list_refused(listed("query=Colour%3D1"), 422, "unsupported_schedule_visibility_field",
                      "query");
  expect_list_refused(listed("query=%3D"), 422, "invalid_schedule_visibility_query", "query");
  expect_list_refused(listed("query=" + std::string(2049, 'x')), 422, "validation_failed", "query");
  EXPECT_EQ(told(listed("namespace=default")).find("schedule_count")->if_integer() != nullptr,
            true);
}

}  // namespace
}  // namespace dw::server
