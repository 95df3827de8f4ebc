// Deleted schedules leave the store when an administrator says so, and nothing else does.
#include "server/schedule_office.hpp"

namespace dw::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using namespace std::chrono_literals;

class PurgingSchedules : public ScheduleOffice {
 protected:
  void create_and_delete(const std::string& id) {
    create(id);
    told(ask(Operation::trigger_schedule, id));
    told(ask(Operation::delete_schedule, id));
  }
  Value purge(std::string_view body) {
    return told(ask(Operation::purge_schedules, {}, object(body)));
  }
  static std::vector<std::string> gone(const Value& answer) {
    std::vector<std::string> ids;
    for (const Value& row : *answer.find("schedules")->if_array()) {
      ids.push_back(*row.find("schedule_id")->if_string());
    }
    return ids;
  }
  ScheduleUlid ulid_of(std::string_view id) { return (*store.find_schedule(ns, id))->ulid; }
};

// proves: S-85
TEST_F(PurgingSchedules, TheRowAndTheLedgerGoAndTheAuditStreamStays) {
  create_and_delete("old");
  const auto ulid = ulid_of("old");
  wait(1h);
  const Value answer = purge(R"({"deleted_before":"2026-04-10T10:00:00Z"})");
  EXPECT_EQ(at(answer, "purged"), "1");
  EXPECT_EQ(at(answer, "schedules.0.schedule_id"), R"("old")");
  EXPECT_EQ(at(answer, "schedules.0.namespace"), R"("default")");
  EXPECT_EQ(at(answer, "schedules.0.deleted_at").substr(0, 20), R"("2026-04-10T09:00:00)");
  EXPECT_FALSE(*store.find_schedule(ns, "old"));
  EXPECT_THAT(*store.ledger({.ulid = ulid}), IsEmpty());
  EXPECT_THAT(*store.schedule_events(ulid, 0, 10), SizeIs(3));
  EXPECT_EQ(started(), 1u) << "what it started is its own";

  expect_refused(ask(Operation::schedule_history, "old"), 404, "schedule_not_found");
  const auto query = "schedule_ulid=" + ulid.str();
  const Value history = told(ask(Operation::schedule_history, "old", {}, query));
  EXPECT_EQ(at(history, "events.2.event_type"), R"("ScheduleDeleted")");
  expect_refused(ask(Operation::schedule_history, "other", {}, query), 404, "schedule_not_found");
  ns = Namespace{"elsewhere"};
  expect_refused(ask(Operation::schedule_history, "old", {}, query), 404, "schedule_not_found");
}

TEST_F(PurgingSchedules, WithHistoryNothingIsLeft) {
  create_and_delete("old");
  const auto ulid = ulid_of("old");
  wait(1h);
  purge(R"({"deleted_before":"2026-04-10T10:00:00Z","with_history":true})");
  EXPECT_THAT(*store.schedule_events(ulid, 0, 10), IsEmpty());
  expect_refused(ask(Operation::schedule_history, "old", {}, "schedule_ulid=" + ulid.str()), 404,
                 "schedule_not_found");
}

TEST_F(PurgingSchedules, OnlyThoseDeletedBeforeInEveryNamespace) {
  create_and_delete("old");
  create("old");  // another one of that name, alive
  create("alive");
  ns = Namespace{"elsewhere"};
  create_and_delete("older");
  ns = Namespace{"default"};
  wait(1h);
  create_and_delete("young");
  const Value answer = purge(R"({"deleted_before":"2026-04-10T10:00:00Z"})");
  EXPECT_THAT(gone(answer), testing::UnorderedElementsAre("old", "older"));
  EXPECT_EQ(at(described("old"), "status"), R"("active")");
  EXPECT_EQ(at(described("alive"), "status"), R"("active")");
  EXPECT_TRUE(*store.find_schedule(ns, "young"));
  EXPECT_EQ(at(purge(R"({"deleted_before":"2026-04-10T10:00:00Z"})"), "purged"), "0");
  EXPECT_THAT(gone(purge(R"({"deleted_before":"2026-04-10T10:00:01Z"})")), ElementsAre("young"));
}

TEST_F(PurgingSchedules, ManyGoPageByPage) {
  for (int i = 0; i < 450; ++i) create_and_delete(fmt::format("s{}", i));
  wait(1h);
  EXPECT_EQ(at(purge(R"({"deleted_before":"2027-01-01T00:00:00Z"})"), "purged"), "450");
}

TEST_F(PurgingSchedules, AnInstantMustBeNamed) {
  for (const auto* body : {"{}", R"({"deleted_before":"yesterday"})",
                           R"({"deleted_before":"2026-04-10T10:00:00Z","with_history":"yes"})"}) {
    expect_refused(ask(Operation::purge_schedules, {}, object(body)), 422, "validation_failed");
  }
}

}  // namespace
}  // namespace dw::server
