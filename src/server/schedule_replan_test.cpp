// Schedules that are planned again: at the start, and when a zone has got other rules.
#include "server/schedule_office.hpp"

#include <cstdlib>
#include <fstream>

namespace dw::server {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

// A directory with one zone in it, for as long as a test takes.
class ZoneDirectory {
 public:
  ZoneDirectory() {
    std::string pattern = (fs::temp_directory_path() / "dw-zones-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
    fs::create_directories(path_ / "Test");
  }
  ~ZoneDirectory() { fs::remove_all(path_); }
  ZoneDirectory(const ZoneDirectory&) = delete;
  ZoneDirectory& operator=(const ZoneDirectory&) = delete;

  const fs::path& path() const { return path_; }

  // As slim as a zone's file can be: one offset that is never used, and a rule: "<+02>-2".
  void put(const std::string& name, const std::string& rule) const {
    const std::string counts{"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\4", 24};
    const std::string offset{"\0\0\0\0\0\0UTC\0", 10};
    const std::string part = "TZif2" + std::string(15, '\0') + counts + offset;
    std::ofstream{path_ / name, std::ios::binary} << part << part << '\n' << rule << '\n';
  }

 private:
  fs::path path_;
};

class ScheduleReplan : private ZoneDirectory, public ScheduleOffice {
 protected:
  ScheduleReplan() : ScheduleOffice(ZoneDirectory::path()) {
    put("Test/Zone", "<+00>0");
    zones.reload();
  }

  void create_at(const std::string& id, const std::string& cron, const std::string& zone) {
    create(id, fmt::format(R"({{"spec": {{"cron_expressions": ["{}"], "timezone": "{}"}}}})", cron,
                           zone));
  }
  std::optional<Timestamp> next_of(const std::string& id) { return kept(id).next_fire_at; }
  // As the engine does when it is asked to.
  std::size_t reload() {
    auto changed = zones.reload();
    if (changed.empty()) return 0;
    std::optional<std::size_t> moved;
    desk.replan(std::move(changed), [&](const Result<std::size_t>& said) { moved = said.value(); });
    work_off();
    EXPECT_TRUE(moved) << "nobody answered";
    return moved.value_or(0);
  }
  using ZoneDirectory::put;
};

TEST_F(ScheduleReplan, OtherRulesMoveWhatIsToComeAndLeaveWhatIsOverdue) {
  put("Test/Other", "<+00>0");
  zones.reload();
  create_at("overdue", "30 9 * * *", "Test/Zone");
  create_at("noon", "0 12 * * *", "Test/Zone");
  create_at("elsewhere", "0 12 * * *", "Test/Other");
  clock.set(story::at("09:40"));
  EXPECT_EQ(reload(), 0u) << "the rules are the same";

  put("Test/Zone", "<+02>-2");
  EXPECT_EQ(reload(), 1u);
  EXPECT_EQ(next_of("overdue"), story::at("09:30"));
  EXPECT_EQ(next_of("noon"), story::at("10:00"));
  EXPECT_EQ(next_of("elsewhere"), story::at("12:00"));
  EXPECT_EQ(events_of("noon"), "ScheduleCreated") << "nobody changed it";

  const auto rows = store.counters().rows;
  EXPECT_EQ(reload(), 0u);
  EXPECT_EQ(store.counters().rows, rows) << "once is enough";
  // And it is by the new time that it fires.
  clock.set(story::at("10:00"));
  EXPECT_EQ(at(tick(), "processed"), "2");
}

TEST_F(ScheduleReplan, ARuleThatComesOutTheSameWritesNothing) {
  create_at("noon", "0 12 * * *", "Test/Zone");
  const auto version = row_of("noon").version;
  put("Test/Zone", "<+00>0<+01>,M10.5.0,M12.1.0");  // another summer, months away
  reload();
  EXPECT_EQ(row_of("noon").version, version);
}

TEST_F(ScheduleReplan, MoreThanAPageOfThemIsPlanned) {
  for (int i = 0; i < 250; ++i) create_at(fmt::format("noon-{}", i), "0 12 * * *", "Test/Zone");
  put("Test/Zone", "<+02>-2");
  EXPECT_EQ(reload(), 250u);
  for (int i = 0; i < 250; ++i) EXPECT_EQ(next_of(fmt::format("noon-{}", i)), story::at("10:00"));
}

TEST_F(ScheduleReplan, APausedOneIsPlannedWhenItResumes) {
  create_at("noon", "0 12 * * *", "Test/Zone");
  told(ask(Operation::pause_schedule, "noon"));
  const auto version = row_of("noon").version;
  put("Test/Zone", "<+02>-2");
  EXPECT_EQ(reload(), 0u);
  EXPECT_EQ(row_of("noon").version, version);
  told(ask(Operation::resume_schedule, "noon"));
  EXPECT_EQ(next_of("noon"), story::at("10:00")) << "what is kept of a spec goes by its zone";
}

TEST_F(ScheduleReplan, AtTheStartWhatHasNoNextTimeGetsOne) {
  create("lost");
  create("fine");
  auto lost = kept("lost");
  lost.next_fire_at.reset();
  lost.next_nominal_at.reset();
  auto row = row_of("lost");
  row.record = to_json(lost);
  row.due_at.reset();
  put_by_another_hand(row);
  const auto fine = row_of("fine").version;
  desk.begin();
  work_off();
  EXPECT_EQ(row_of("lost").due_at, story::at("10:00"));
  EXPECT_EQ(row_of("fine").version, fine);
  wait(1h);
  EXPECT_EQ(started(), 2u) << "and it fires then";
}

TEST_F(ScheduleReplan, AtTheStartRulesThatChangedMeanwhileCount) {
  create_at("noon", "0 12 * * *", "Test/Zone");
  put("Test/Zone", "<+02>-2");
  zones.reload();
  desk.begin();
  work_off();
  EXPECT_EQ(next_of("noon"), story::at("10:00"));
}

TEST_F(ScheduleReplan, OneThatCannotBeReadCostsNobodyElseAnything) {
  create_at("noon", "0 12 * * *", "Test/Zone");
  create_at("broken", "0 12 * * *", "Test/Zone");
  spoil("broken");
  put("Test/Zone", "<+02>-2");
  EXPECT_EQ(reload(), 1u);
  EXPECT_EQ(next_of("noon"), story::at("10:00"));
}

}  // namespace
}  // namespace dw::server
