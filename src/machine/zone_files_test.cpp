// Zones by their exact names, from the system or from the copy that was compiled in.
#include "machine/zone_files.hpp"

#include "schedule/zone_story.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <thread>

namespace dw::machine {
namespace {

namespace fs = std::filesystem;

class ZoneFilesTest : public testing::Test {
 protected:
  ZoneFilesTest() {
    std::string pattern = (fs::temp_directory_path() / "dw-zones-XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
  }
  ~ZoneFilesTest() override { fs::remove_all(directory_); }

  void put(const std::string& name, const std::string& bytes) {
    fs::create_directories((directory_ / name).parent_path());
    std::ofstream{directory_ / name, std::ios::binary} << bytes;
  }

  fs::path directory_;
};

const schedule::ZonePack nothing_compiled{{}};

TEST_F(ZoneFilesTest, AreFoundByTheirExactNamesLinksIncluded) {
  ZoneFiles zones;
  for (const char* name : {"UTC", "Europe/Berlin", "US/Eastern", "America/Argentina/Ushuaia",
                           "Etc/GMT+5", "GMT0", "America/Port-au-Prince", "EST5EDT"}) {
    const auto zone = zones.find(name);
    ASSERT_NE(zone, nullptr) << name;
    EXPECT_EQ(zone->name(), name);
  }
}

TEST_F(ZoneFilesTest, NothingElseIsAZone) {
  ZoneFiles zones;
  for (const char* name : {"",
                           "Local",
                           "local",
                           "localtime",
                           "+03:00",
                           "UTC+3",
                           "GMT+3",
                           "europe/berlin",
                           "utc",
                           "Europe/berlin",
                           "Europe",
                           "Europe/",
                           "/Europe/Berlin",
                           "/usr/share/zoneinfo/UTC",
                           "../zoneinfo/UTC",
                           "Europe/../UTC",
                           "./UTC",
                           "Europe//Berlin",
                           "posix/UTC",
                           "right/UTC",
                           "posixrules",
                           "tzdata.zi",
                           "zone.tab",
                           "leapseconds",
                           "EST5EDT,M3.2.0,M11.1.0",
                           " UTC",
                           "UTC\n"}) {
    EXPECT_EQ(zones.find(name), nullptr) << name;
  }
  EXPECT_EQ(zones.find(std::string_view{"UTC\0", 4}), nullptr);
}

TEST_F(ZoneFilesTest, AZoneIsReadOnce) {
  ZoneFiles zones;
  EXPECT_EQ(zones.find("Europe/Berlin"), zones.find("Europe/Berlin"));
}

TEST_F(ZoneFilesTest, TheListHasWhatIsFound) {
  ZoneFiles zones;
  const auto names = zones.names();
  EXPECT_TRUE(std::ranges::is_sorted(names));
  EXPECT_GT(names.size(), 400U);
  for (const auto& name : names) EXPECT_NE(zones.find(name), nullptr) << name;
}

TEST_F(ZoneFilesTest, WithoutADatabaseTheCopyStepsIn) {
  ZoneFiles zones{directory_ / "none"};
  EXPECT_FALSE(zones.from_system());
  EXPECT_EQ(zones.release(), compiled_zones().release());
  const auto york = zones.find("America/New_York");
  ASSERT_NE(york, nullptr);
  EXPECT_EQ(york->offset_at(schedule::second_of("2040-07-01T00:00:00Z")), std::chrono::hours{-4});
  EXPECT_EQ(zones.find("america/new_york"), nullptr);
}

TEST_F(ZoneFilesTest, UtcIsThereEvenWithoutAnything) {
  ZoneFiles zones{directory_ / "none", nothing_compiled};
  ASSERT_NE(zones.find("UTC"), nullptr);
  EXPECT_EQ(zones.find("Europe/Berlin"), nullptr);
  EXPECT_EQ(zones.names(), std::vector<std::string>{"UTC"});
}

TEST_F(ZoneFilesTest, ADamagedFileCountsAsNone) {
  put("Europe/Berlin", schedule::zone_file("Europe/Berlin").substr(0, 200));
  ZoneFiles with_copy{directory_};
  EXPECT_NE(with_copy.find("Europe/Berlin"), nullptr);
  ZoneFiles without{directory_, nothing_compiled};
  EXPECT_EQ(without.find("Europe/Berlin"), nullptr);
}

TEST_F(ZoneFilesTest, TheReleaseIsToldByTheDatabase) {
  put("UTC", schedule::zone_file("UTC"));
  EXPECT_EQ(ZoneFiles{directory_}.release(), "");
  put("version", "2026a\n");
  EXPECT_EQ(ZoneFiles{directory_}.release(), "2026a");
  put("tzdata.zi", "# version 2026f\nR A\n");
  EXPECT_EQ(ZoneFiles{directory_}.release(), "2026f");
}

TEST_F(ZoneFilesTest, AReloadTellsWhichRulesAreOthers) {
  put("Test/One", schedule::zone_file("Europe/Berlin"));
  put("Test/Two", schedule::zone_file("Europe/Paris"));
  put("Test/Gone", schedule::zone_file("Europe/Rome"));
  put("Test/Unasked", schedule::zone_file("Europe/Rome"));
  ZoneFiles zones{directory_, nothing_compiled};
  for (const char* name : {"Test/One", "Test/Two", "Test/Gone"})
    ASSERT_NE(zones.find(name), nullptr);
  EXPECT_EQ(zones.reload(), std::vector<std::string>{});

  put("Test/One", schedule::zone_file("Asia/Tokyo"));
  put("Test/Unasked", schedule::zone_file("Asia/Tokyo"));
  fs::remove(directory_ / "Test/Gone");
  EXPECT_EQ(zones.reload(), (std::vector<std::string>{"Test/Gone", "Test/One"}));
  EXPECT_EQ(zones.find("Test/One")->offset_at({}), std::chrono::hours{9});
  EXPECT_EQ(zones.find("Test/Gone"), nullptr);
}

TEST_F(ZoneFilesTest, AZoneWhoseRulesStayIsStillTheSame) {
  put("Test/One", schedule::zone_file("Europe/Berlin"));
  ZoneFiles zones{directory_, nothing_compiled};
  const auto before = zones.find("Test/One");
  put("Test/One", schedule::zone_file("Europe/Berlin"));
  EXPECT_EQ(zones.reload(), std::vector<std::string>{});
  EXPECT_EQ(zones.find("Test/One"), before);
}

TEST_F(ZoneFilesTest, AFileThatWasWrittenAgainIsNoticed) {
  put("Test/One", schedule::zone_file("Europe/Berlin"));
  put("Test/Unasked", schedule::zone_file("Europe/Berlin"));
  ZoneFiles zones{directory_};
  ASSERT_NE(zones.find("Test/One"), nullptr);
  ASSERT_NE(zones.find("Europe/Paris"), nullptr) << "from the copy";
  EXPECT_FALSE(zones.written_since());

  const auto later = fs::last_write_time(directory_ / "Test/One") + std::chrono::seconds{1};
  fs::last_write_time(directory_ / "Test/Unasked", later);
  EXPECT_FALSE(zones.written_since()) << "nothing was computed with it";
  fs::last_write_time(directory_ / "Test/One", later);
  EXPECT_TRUE(zones.written_since());
  EXPECT_EQ(zones.reload(), std::vector<std::string>{});
  EXPECT_FALSE(zones.written_since());
  fs::remove(directory_ / "Test/One");
  EXPECT_TRUE(zones.written_since());
}

TEST_F(ZoneFilesTest, SeveralThreadsMayAsk) {
  ZoneFiles zones;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&zones] {
      for (const char* name : {"Europe/Berlin", "Asia/Tokyo", "nowhere"}) (void)zones.find(name);
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_NE(zones.find("Asia/Tokyo"), nullptr);
}

// ---- the copy

TEST(CompiledZones, SayWhatTheDatabaseSaysSince1970) {
  ZoneFiles files;
  const auto& pack = compiled_zones();
  ASSERT_EQ(pack.names().size(), files.names().size());
  const auto end = schedule::second_of("2060-01-01T00:00:00Z");
  for (const auto& name : pack.names()) {
    const auto packed = schedule::make_zone(name, *pack.find(name));
    ASSERT_TRUE(packed.has_value()) << name;
    const auto whole = files.find(name);
    auto at = schedule::second_of("1970-01-01T00:00:00Z");
    EXPECT_EQ(packed->offset_at(at), whole->offset_at(at)) << name;
    for (auto next = whole->next_transition(at); next && next->at < end;
         next = whole->next_transition(at)) {
      EXPECT_EQ(packed->next_transition(at), next) << name;
      at = next->at;
    }
  }
}

TEST(CompiledZones, AreNoneWhenTheBytesAreOthers) {
  EXPECT_TRUE(schedule::ZonePack{std::string(1000, '\xff')}.names().empty());
  EXPECT_TRUE(schedule::ZonePack{"\x05wrong"}.names().empty());
}

}  // namespace
}  // namespace dw::machine
