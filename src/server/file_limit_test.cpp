#include "server/file_limit.hpp"

#include <gmock/gmock.h>
#include <sys/resource.h>

namespace dw::server {
namespace {

using ::testing::HasSubstr;

TEST(FileLimit, LeavesFilesForTheStoreAndLogs) {
  EXPECT_EQ(connections_within(1'048'576, 20'000), 20'000u);
  EXPECT_EQ(connections_within(20'384, 20'000), 20'000u);
  EXPECT_EQ(connections_within(20'000, 20'000), 19'616u);
  EXPECT_EQ(connections_within(1024, 20'000), 640u);
  EXPECT_EQ(connections_within(64, 20'000), 32u);
  EXPECT_EQ(connections_within(0, 20'000), 1u);
}

TEST(FileLimit, TellsWhatWouldBeEnough) {
  const auto told = too_few_files(1024, 20'000);
  EXPECT_THAT(told, HasSubstr("640 connections are served instead of 20000"));
  EXPECT_THAT(told, HasSubstr("allow 20384 files"));
}

TEST(FileLimit, IsRaisedAsFarAsItGoes) {
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  rlimit low = before;
  low.rlim_cur = 256;
  setrlimit(RLIMIT_NOFILE, &low);
  EXPECT_EQ(raise_file_limit(), highest_file_limit());
  setrlimit(RLIMIT_NOFILE, &before);
}

}  // namespace
}  // namespace dw::server
