// Nonsense in, a clear and typed error out, nothing half-written.
#include "support.hpp"

#include "embed/engine_access.hpp"
#include "store/sqlite/connection.hpp"
#include "store/sqlite/fault_vfs.hpp"
#include "store/sqlite/sqlite_store.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

namespace dw::e2e {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;

int add_one(int number) {
  return number + 1;
}
int count(int number) {
  return dw::activity(add_one, number);
}

Registry counting() {
  Registry registry;
  registry.activity("add_one", add_one);
  registry.workflow("count", count);
  return registry;
}

// What a call was refused with, "" and `internal` when it was not.
struct Refusal {
  ErrorCode code = ErrorCode::internal;
  std::string message;
};

template <typename F>
Refusal refusal_of(F&& call) {
  try {
    call();
  } catch (const EngineError& error) {
    return {error.code(), error.what()};
  }
  ADD_FAILURE() << "it was accepted";
  return {};
}

template <typename F>
std::string usage_error_of(F&& call) {
  try {
    call();
  } catch (const UsageError& error) {
    return error.what();
  }
  ADD_FAILURE() << "it was accepted";
  return {};
}

std::string contents_of(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

int result_of(const Handle<int>& run) {
  if (!run.wait_for(patience)) throw std::runtime_error(run.id() + " did not close in time");
  return run.result();
}

// ---- what callers pass

class BadInput : public ::testing::Test {
 protected:
  TempDir directory_;
  Engine engine_{counting(), {.store = directory_.file("bad.db")}};
};

// proves: E-2
TEST_F(BadInput, InvalidIdsAreRefusedBeforeTheStoreIsTouched) {
  for (const auto& id :
       {std::string{"no spaces"}, std::string{"nor/slashes"}, std::string{"nör umlauts"},
        std::string(192, 'x'), std::string{"nul\0", 4}}) {
    EXPECT_EQ(refusal_of([&] { engine_.start<int>("count", {.id = id}, 1); }).code,
              ErrorCode::invalid_argument);
    EXPECT_EQ(refusal_of([&] { engine_.reserve("count", {.id = id}); }).code,
              ErrorCode::invalid_argument);
    EXPECT_EQ(refusal_of([&] { engine_.attach(id); }).code, ErrorCode::invalid_argument);
  }
  EXPECT_EQ(refusal_of([&] { engine_.attach(""); }).code, ErrorCode::invalid_argument);
  EXPECT_TRUE(engine_.runs().empty());
  EXPECT_EQ(result_of(engine_.start<int>("count", {.id = std::string(191, 'x')}, 1)), 2);
}

TEST_F(BadInput, WhatNoRunCanCarryIsRefusedBeforeTheStoreIsTouched) {
  const std::vector<StartOptions> bad{
      {.business_key = std::string(192, 'k')},
      {.labels = {{"team name", "billing"}}},
      {.labels = {{"team", "billing"}, {"team", "sales"}}},
      {.memo = Value{"no object"}},
      {.search_attributes = Value{Value::Map{{"list", Value{Value::Array{1, 2}}}}}},
      {.execution_timeout = std::chrono::seconds{0}},
      {.run_timeout = std::chrono::seconds{-1}},
  };
  for (const auto& options : bad) {
    EXPECT_EQ(refusal_of([&] { engine_.start<int>("count", options, 1); }).code,
              ErrorCode::invalid_argument);
  }
  EXPECT_TRUE(engine_.runs().empty());
}

// proves: E-178
TEST_F(BadInput, InvalidNamespacesAreRefused) {
  for (const auto& ns :
       {std::string{"no spaces"}, std::string{"no:colons"}, std::string(129, 'x')}) {
    EXPECT_EQ(refusal_of([&] { engine_.start<int>("count", {.ns = ns}, 1); }).code,
              ErrorCode::invalid_argument);
    EXPECT_EQ(refusal_of([&] { engine_.attach("x", ns); }).code, ErrorCode::invalid_argument);
    EXPECT_EQ(refusal_of([&] {
                Engine{counting(), {.store = ":memory:", .ns = ns}};
              }).code,
              ErrorCode::invalid_argument);
  }
}

TEST_F(BadInput, UnknownTypesAndInstancesAreNamed) {
  const auto type = refusal_of([&] { engine_.start<int>("cuont", {}, 1); });
  EXPECT_EQ(type.code, ErrorCode::not_found);
  EXPECT_THAT(type.message, HasSubstr("'cuont'"));
  const auto instance = refusal_of([&] { engine_.attach("nobody"); });
  EXPECT_EQ(instance.code, ErrorCode::not_found);
  EXPECT_THAT(instance.message, HasSubstr("'nobody'"));
  EXPECT_TRUE(engine_.runs().empty());
}

TEST_F(BadInput, ArgumentsThatDoNotConvertSayWhere) {
  const auto kind = refusal_of([&] { engine_.start<int>("count", {}, std::string{"three"}); });
  EXPECT_EQ(kind.code, ErrorCode::invalid_argument);
  EXPECT_THAT(kind.message, AllOf(HasSubstr("'count'"), HasSubstr("argument 1")));
  EXPECT_EQ(refusal_of([&] { engine_.start<int>("count", {}); }).code, ErrorCode::invalid_argument);
  EXPECT_EQ(refusal_of([&] { engine_.start<int>("count", {}, 1, 2); }).code,
            ErrorCode::invalid_argument);
  EXPECT_EQ(refusal_of([&] { engine_.start<int>("count", {}, std::int64_t{1} << 40); }).code,
            ErrorCode::invalid_argument);
  EXPECT_EQ(refusal_of([&] {
              engine_.start_async("count", {}, Payload{"avro", "not avro"},
                                  [](Result<WorkflowHandle>) { ADD_FAILURE(); });
            }).code,
            ErrorCode::invalid_argument);
  EXPECT_TRUE(engine_.runs().empty());
}

// ---- what programs register

struct Named {
  static constexpr std::string_view type = "named";
  void handle() {}
};
struct Callable {
  int operator()(int number) const { return number; }
};
int other_count(int number) {
  return number;
}

// proves: E-14, E-188
TEST(BadRegistry, OneImplementationUnderTwoKeys) {
  EXPECT_THAT(usage_error_of([] {
                Registry registry;
                registry.workflow("first", count);
                registry.workflow("second", count);
                Engine{std::move(registry), {.store = ":memory:"}};
              }),
              AllOf(HasSubstr("'first'"), HasSubstr("'second'")));
  EXPECT_THAT(usage_error_of([] {
                Registry registry;
                registry.activity("first", Callable{});
                registry.activity("second", Callable{});
                registry.freeze();
              }),
              AllOf(HasSubstr("'first'"), HasSubstr("'second'")));
}

TEST(BadRegistry, AKeyInCodeThatDiffersFromTheKeyGiven) {
  EXPECT_THAT(usage_error_of([] {
                Registry registry;
                registry.workflow<Named>("given");
                registry.freeze();
              }),
              AllOf(HasSubstr("'named'"), HasSubstr("'given'")));
  Registry agreeing;
  agreeing.workflow<Named>("named");
  EXPECT_NO_THROW(agreeing.freeze());
}

TEST(BadRegistry, TwoImplementationsUnderOneKey) {
  EXPECT_THAT(usage_error_of([] {
                Registry registry;
                registry.workflow("count", count);
                registry.workflow("count", other_count);
                registry.freeze();
              }),
              HasSubstr("'count'"));
  EXPECT_THAT(usage_error_of([] {
                Registry registry;
                registry.activity("add", add_one);
                registry.activity("add", Callable{}).tries(3);
                registry.freeze();
              }),
              HasSubstr("'add'"));
}

TEST(BadRegistry, LateAndNamelessRegistrations) {
  EXPECT_THAT(usage_error_of([] {
                Registry registry;
                registry.freeze();
                registry.workflow("late", count);
              }),
              HasSubstr("frozen"));
  EXPECT_THAT(usage_error_of([] {
                Registry registry;
                registry.workflow("", count);
                registry.freeze();
              }),
              HasSubstr("key"));
}

TEST(BadRegistry, LeavesNoStoreBehind) {
  const TempDir directory;
  const auto path = directory.file("never.db");
  usage_error_of([&] {
    Registry registry;
    registry.workflow("count", count);
    registry.workflow("count", other_count);
    Engine{std::move(registry), {.store = path}};
  });
  EXPECT_FALSE(std::filesystem::exists(path));
}

// ---- stores that cannot be used

class BadStore : public ::testing::Test {
 protected:
  Refusal refusal() {
    return refusal_of([&] { Engine{counting(), {.store = path_}}; });
  }
  TempDir directory_;
  const std::string path_ = directory_.file("bad.db");
};

TEST_F(BadStore, OwnedByAnotherProcess) {
  ChildProcess owner{{"--own", path_}};
  const auto said = owner.read_lines(std::chrono::steady_clock::now() + patience, "ready");
  ASSERT_FALSE(said.empty());
  const auto locked = refusal();
  EXPECT_EQ(locked.code, ErrorCode::store_locked);
  EXPECT_THAT(locked.message,
              AllOf(HasSubstr(fmt::format("pid {} ", owner.pid())), HasSubstr(path_)));
  owner.kill_hard();
  Engine engine{counting(), {.store = path_}};
  EXPECT_EQ(result_of(engine.handle<int>("owned")), 8);
}

TEST_F(BadStore, OwnedByAnotherEngineOfThisProcess) {
  Engine engine{counting(), {.store = path_}};
  EXPECT_EQ(refusal().code, ErrorCode::store_locked);
  EXPECT_EQ(result_of(engine.start(count, 1)), 2);
}

TEST_F(BadStore, WrittenByANewerVersion) {
  { Engine{counting(), {.store = path_}}; }
  {
    auto connection =
        *sqlite::Connection::open({path_, {}}, sqlite::Connection::Access::read_write);
    ASSERT_TRUE(connection.execute("PRAGMA user_version = 99"));
  }
  const auto before = contents_of(path_);
  const auto newer = refusal();
  EXPECT_EQ(newer.code, ErrorCode::store_too_new);
  EXPECT_THAT(newer.message, HasSubstr("99"));
  EXPECT_EQ(contents_of(path_), before);
}

// A log of megabytes must be made durable again before anything else: in pieces that fit.
TEST_F(BadStore, LeftBehindWithALongLog) {
  const auto echoing = [] {
    Registry registry;
    registry.workflow(
        "echo", +[](std::string text) { return text; });
    return registry;
  };
  const std::string text(100'000, 'x');
  const auto copy = directory_.file("copy.db");
  {
    Engine engine{echoing(), {.store = path_}};
    for (int i = 0; i < 20; ++i) {
      engine.start<std::string>("echo", {.id = "echo-" + std::to_string(i)}, text).wait();
    }
    ASSERT_GT(std::filesystem::file_size(path_ + "-wal"), 1U << 20U);
    std::filesystem::copy(path_ + "-wal", copy + "-wal");
    std::filesystem::copy(path_, copy);
  }
  Engine engine{echoing(), {.store = copy}};
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(engine.handle<std::string>("echo-" + std::to_string(i)).result(), text);
  }
}

TEST_F(BadStore, NotADatabase) {
  const std::string text(10'000, 'x');
  std::ofstream{path_, std::ios::binary} << text;
  EXPECT_EQ(refusal().code, ErrorCode::store_corrupt);
  EXPECT_EQ(contents_of(path_), text);
}

TEST_F(BadStore, SomebodyElsesDatabase) {
  {
    auto connection =
        *sqlite::Connection::open({path_, {}}, sqlite::Connection::Access::read_write);
    ASSERT_TRUE(connection.execute("CREATE TABLE recipes (name TEXT)"));
  }
  const auto before = contents_of(path_);
  const auto foreign = refusal();
  EXPECT_EQ(foreign.code, ErrorCode::store_corrupt);
  EXPECT_THAT(foreign.message, HasSubstr("not a dw store"));
  EXPECT_EQ(contents_of(path_), before);
}

TEST_F(BadStore, InNoDirectory) {
  const auto missing = refusal_of([&] {
    Engine{counting(), {.store = directory_.file("no/such/directory.db")}};
  });
  EXPECT_EQ(missing.code, ErrorCode::unavailable);
  EXPECT_THAT(missing.message, HasSubstr("no/such"));
}

// ---- disks that fail

class BadDisk : public ::testing::Test {
 protected:
  BadDisk() { spdlog::set_level(spdlog::level::off); }

  std::unique_ptr<Engine> open() {
    sqlite::SqliteOptions options;
    options.path = "disk.db";
    options.vfs = vfs_.name();
    auto store = sqlite::open_sqlite(options);
    if (!store) throw EngineError{std::move(store).error()};
    return detail::EngineAccess::open(counting(), {}, *std::move(store));
  }

  // Only whole runs are there, and the file is sound.
  void expect_sound(std::size_t runs) {
    sqlite::SqliteOptions options;
    options.path = "disk.db";
    options.vfs = vfs_.name();
    const auto store = *sqlite::open_sqlite(options);
    Auditor auditor;
    EXPECT_EQ(auditor.look_at(*store), std::vector<std::string>{});
    EXPECT_EQ(auditor.runs().size(), runs);
    EXPECT_EQ(integrity_check("disk.db", vfs_.name()), "ok");
  }

  sqlite::FaultVfs vfs_{"bad-disk"};
};

TEST_F(BadDisk, FullRefusesAndRecovers) {
  auto engine = open();
  EXPECT_EQ(result_of(engine->start(count, 1)), 2);
  vfs_.set_capacity(vfs_.used_bytes());
  const auto full = refusal_of([&] {
    // The log may have room left from before.
    for (int i = 0; i < 100'000; ++i) engine->start(count, {.id = "full-" + std::to_string(i)}, 1);
  });
  EXPECT_EQ(full.code, ErrorCode::store_full);
  vfs_.set_capacity(std::nullopt);
  EXPECT_EQ(result_of(engine->start(count, {.id = "after"}, 5)), 6);
  // What had started before goes on by itself.
  const auto runs = engine->runs(1'000'000);
  for (const auto& run : runs)
    EXPECT_EQ(result_of(engine->handle<int>(run.instance_id)), run.instance_id == "after" ? 6 : 2);
  engine.reset();
  expect_sound(runs.size());
}

TEST_F(BadDisk, TooFullToCreateAStore) {
  vfs_.set_capacity(8 * 1024);
  EXPECT_EQ(refusal_of([&] { open(); }).code, ErrorCode::store_full);
  vfs_.set_capacity(std::nullopt);
  EXPECT_EQ(result_of(open()->start(count, 1)), 2);
}

TEST_F(BadDisk, AFailedSyncIsNeverTakenForDurable) {
  auto engine = open();
  EXPECT_EQ(result_of(engine->start(count, {.id = "before"}, 1)), 2);
  vfs_.fail_sync_after(0);
  std::size_t runs = 2;
  try {
    engine->start(count, {.id = "during"}, 1);
    // The store found after reopening that it is there after all.
    ++runs;
  } catch (const EngineError& error) {
    EXPECT_EQ(error.code(), ErrorCode::unavailable);
    EXPECT_THAT(error.what(), HasSubstr("Nothing of it is durable"));
  }
  EXPECT_EQ(result_of(engine->start(count, {.id = "after"}, 2)), 3);
  EXPECT_EQ(result_of(engine->handle<int>("before")), 2);
  engine.reset();
  vfs_.crash();
  vfs_.restart();
  expect_sound(runs);
}

TEST_F(BadDisk, AFailedWriteEndsOneCommitAndNotTheRun) {
  auto engine = open();
  for (int writes = 0; writes < 40; ++writes) {
    vfs_.fail_write_after(writes);
    try {
      EXPECT_EQ(result_of(engine->start(count, {.id = "run-" + std::to_string(writes)}, 1)), 2);
    } catch (const EngineError& error) {
      EXPECT_EQ(error.code(), ErrorCode::unavailable) << error.what();
    }
    vfs_.clear_faults();
  }
  const auto runs = engine->runs(1'000).size();
  engine.reset();
  expect_sound(runs);
}

int own_store(const std::string& path) {
  Engine engine{counting(), {.store = path}};
  result_of(engine.start(count, {.id = "owned"}, 7));
  if (write(STDOUT_FILENO, "ready\n", 6) != 6) return 1;
  pause();
  return 0;
}

}  // namespace
}  // namespace dw::e2e

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view{argv[1]} == "--own") return dw::e2e::own_store(argv[2]);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
