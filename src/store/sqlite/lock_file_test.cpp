#include "store/sqlite/lock_file.hpp"

#include "store/sqlite/test_support.hpp"

#include <gmock/gmock.h>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace dw::sqlite {
namespace {

using namespace test;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(LockFile, ASecondOwnerInTheSameProcessIsRefusedAndToldWho) {
  TemporaryDirectory directory;
  const auto first = LockFile::acquire(directory.file("s.db"), at(0));
  ASSERT_TRUE(first);
  const auto second = LockFile::acquire(directory.file("s.db"), at(1));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::store_locked);
  EXPECT_THAT(second.error().message,
              AllOf(HasSubstr(directory.file("s.db")), HasSubstr(fmt::format("pid {}", getpid())),
                    HasSubstr(format_timestamp(at(0))), HasSubstr("Stop that process")));
}

TEST(LockFile, IsFreeAgainWhenItsOwnerLetsGo) {
  TemporaryDirectory directory;
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(LockFile::acquire(directory.file("s.db"), at(i)));
}

TEST(LockFile, OutlivesNoProcessHoweverItDies) {
  TemporaryDirectory directory;
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t owner = fork();
  if (owner == 0) {
    const auto lock = LockFile::acquire(directory.file("s.db"), at(0));
    const char answer = lock ? 'y' : 'n';
    if (write(ready[1], &answer, 1) != 1) _exit(1);
    while (true) pause();
  }
  char answer = 0;
  ASSERT_EQ(read(ready[0], &answer, 1), 1);
  ASSERT_EQ(answer, 'y');
  const auto refused = LockFile::acquire(directory.file("s.db"), at(1));
  kill(owner, SIGKILL);
  waitpid(owner, nullptr, 0);
  close(ready[0]);
  close(ready[1]);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr(fmt::format("pid {} on ", owner)));
  // What the dead owner wrote is still there, and means nothing.
  EXPECT_THAT(read_bytes(directory.file("s.db.lock")), HasSubstr(fmt::format("pid {}", owner)));
  EXPECT_TRUE(LockFile::acquire(directory.file("s.db"), at(2)));
  EXPECT_THAT(read_bytes(directory.file("s.db.lock")), HasSubstr(fmt::format("pid {}", getpid())));
}

}  // namespace
}  // namespace dw::sqlite
