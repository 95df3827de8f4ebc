#include "embed/test_support.hpp"

#include "core/clock.hpp"
#include "history/codec.hpp"
#include "store/sqlite/sqlite_store.hpp"

#include <dw/dw.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <thread>

namespace dw {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

// Signals when the engine logs a line that contains `text`.
class LogSignal {
 public:
  explicit LogSignal(std::string text) : before_(spdlog::default_logger()) {
    auto sink = std::make_shared<Sink>(std::move(text), signal_);
    spdlog::set_default_logger(std::make_shared<spdlog::logger>("test", std::move(sink)));
  }
  ~LogSignal() { spdlog::set_default_logger(before_); }
  bool wait() { return signal_.wait(); }

 private:
  struct Sink final : spdlog::sinks::base_sink<std::mutex> {
    Sink(std::string wanted, Flag& to) : text(std::move(wanted)), signal(to) {}
    void sink_it_(const spdlog::details::log_msg& message) override {
      const std::string_view line{message.payload.data(), message.payload.size()};
      if (line.find(text) != std::string_view::npos) signal.set();
    }
    void flush_() override {}
    std::string text;
    Flag& signal;
  };
  Flag signal_;
  std::shared_ptr<spdlog::logger> before_;
};

template <typename R>
R result_of(const Handle<R>& handle) {
  if (!handle.wait_for(patience)) throw std::runtime_error(handle.id() + " did not close in time");
  return handle.result();
}

WorkflowError error_of(const WorkflowHandle& handle) {
  if (!handle.wait_for(patience)) throw std::runtime_error(handle.id() + " did not close in time");
  try {
    Handle<Value>{handle}.result();
  } catch (const WorkflowError& error) {
    return error;
  }
  throw std::runtime_error(handle.id() + " completed");
}

template <typename F>
ErrorCode code_of(F&& call) {
  try {
    call();
  } catch (const EngineError& error) {
    return error.code();
  }
  ADD_FAILURE() << "no EngineError";
  return ErrorCode::internal;
}

// The types of a run's events, as the store has them once nobody owns it any more.
std::vector<std::string> event_types(const std::string& path, const std::string& run_id) {
  const auto store = *sqlite::open_sqlite_read_only(path);
  const auto run = *store->load_run(RunId{run_id});
  std::vector<std::string> types;
  for (const auto& commit : run.value().commits) {
    const auto bodies = history::parse_events(commit.events);
    for (const auto& body : bodies.value()) types.emplace_back(history::type_name(body));
  }
  return types;
}

class EngineTest : public ::testing::Test {
 protected:
  // Every engine of a test, the restarted ones included, knows what `fill` registers.
  void open(const std::function<void(Registry&)>& fill, EngineOptions options = {}) {
    engine_.reset();
    Registry registry;
    fill(registry);
    options.store = store_.path();
    engine_ = std::make_unique<Engine>(std::move(registry), std::move(options));
  }
  void close() { engine_.reset(); }
  Engine& engine() { return *engine_; }
  std::string path() const { return store_.path(); }

 private:
  TempStore store_;
  std::unique_ptr<Engine> engine_;
};

// ---- the basics

int twice(int number) {
  return 2 * number;
}
int twice_and_one(int number) {
  return dw::activity(twice, number) + 1;
}
void nothing() {}
void do_nothing() {
  dw::activity(nothing);
}

// proves: E-3, E-21
TEST_F(EngineTest, StartsAWorkflowAndReturnsItsResult) {
  open([](Registry& registry) {
    registry.activity("twice", twice);
    registry.workflow("twice_and_one", twice_and_one);
  });
  const auto run = engine().start(twice_and_one, {.id = "one"}, 20);
  EXPECT_TRUE(run.started_new());
  EXPECT_EQ(run.id(), "one");
  EXPECT_EQ(result_of(run), 41);

  const auto info = run.info();
  EXPECT_EQ(info.instance_id, "one");
  EXPECT_EQ(info.workflow_type, "twice_and_one");
  EXPECT_EQ(info.status, "completed");
  EXPECT_EQ(info.closed_reason, "completed");
  EXPECT_TRUE(info.closed_at);
  ASSERT_EQ(engine().runs().size(), 1U);
  EXPECT_EQ(engine().runs().front().run_id, run.run_id());

  const std::string run_id = run.run_id();
  close();
  EXPECT_THAT(event_types(path(), run_id),
              ElementsAre("StartAccepted", "WorkflowStarted", "ActivityScheduled",
                          "ActivityStarted", "ActivityCompleted", "WorkflowCompleted"));
}

TEST_F(EngineTest, PicksAnIdWhenNoneIsGiven) {
  open([](Registry& registry) {
    registry.activity("twice", twice);
    registry.workflow("twice_and_one", twice_and_one);
  });
  const auto first = engine().start(twice_and_one, 1);
  const auto second = engine().start(twice_and_one, 2);
  EXPECT_NE(first.id(), second.id());
  EXPECT_EQ(result_of(first), 3);
  EXPECT_EQ(result_of(second), 5);
}

TEST_F(EngineTest, ReturnsFromVoidWorkflowsAndActivities) {
  open([](Registry& registry) {
    registry.activity("nothing", nothing);
    registry.workflow("do_nothing", do_nothing);
  });
  const auto run = engine().start(do_nothing);
  ASSERT_TRUE(run.wait_for(patience));
  run.result();
  EXPECT_EQ(run.info().status, "completed");
}

struct Greeter {
  static constexpr std::string_view type = "greeter";
  int calls = 0;
  std::string handle(std::string name, std::optional<int> times) {
    ++calls;
    dw::sleep(0s);
    return name + " " + std::to_string(times.value_or(1)) + " " + std::to_string(calls);
  }
};

TEST_F(EngineTest, GivesEveryRunOfAClassAFreshObject) {
  open([](Registry& registry) { registry.workflow<Greeter>(); });
  EXPECT_EQ(result_of(engine().start<Greeter>({}, "ada", 2)), "ada 2 1");
  EXPECT_EQ(result_of(engine().start<Greeter>({}, "bob", std::nullopt)), "bob 1 1");
  // A parameter that was added as an optional may be left out.
  EXPECT_EQ(result_of(engine().start<std::string>("greeter", {}, std::string{"eve"})), "eve 1 1");
}

TEST_F(EngineTest, CallsActivitiesThatAreObjects) {
  std::atomic<int> total = 0;
  open([&](Registry& registry) {
    registry.activity("add", [&total](int number) { return total += number; });
    registry.workflow(
        "sum", +[](int number) { return dw::activity<int>("add", number); });
  });
  EXPECT_EQ(result_of(engine().start<int>("sum", {}, 4)), 4);
  EXPECT_EQ(result_of(engine().start<int>("sum", {}, 5)), 9);
}

TEST_F(EngineTest, RefusesAResultOfAnotherType) {
  open([](Registry& registry) {
    registry.workflow(
        "text", +[] { return std::string{"text"}; });
  });
  const auto run = engine().start<int>("text", {});
  ASSERT_TRUE(run.wait_for(patience));
  EXPECT_EQ(code_of([&] { run.result(); }), ErrorCode::conversion_failed);
  EXPECT_EQ(engine().handle<std::string>(run.id()).result(), "text");
}

// ---- activities that fail

struct Attempts {
  std::mutex mutex;
  std::vector<ActivityInfo> seen;

  int record() {
    const std::lock_guard lock{mutex};
    seen.push_back(activity_info());
    return static_cast<int>(seen.size());
  }
};

// proves: E-84, E-87, E-92
TEST_F(EngineTest, TriesAFailingActivityAgainUnderOneIdempotencyKey) {
  Attempts attempts;
  open([&](Registry& registry) {
    registry
        .activity("flaky",
                  [&](int succeeds_at) {
                    const int attempt = attempts.record();
                    if (attempt < succeeds_at) throw std::runtime_error("not yet");
                    return attempt;
                  })
        .tries(5)
        .backoff({0s});
    registry.workflow(
        "try", +[](int succeeds_at) { return dw::activity<int>("flaky", succeeds_at); });
  });
  const auto run = engine().start<int>("try", {.id = "flaky-1"}, 3);
  EXPECT_EQ(result_of(run), 3);
  ASSERT_EQ(attempts.seen.size(), 3U);
  for (int i = 0; i < 3; ++i) {
    const auto& info = attempts.seen[static_cast<std::size_t>(i)];
    EXPECT_EQ(info.attempt, i + 1);
    EXPECT_EQ(info.activity_type, "flaky");
    EXPECT_EQ(info.instance_id, "flaky-1");
    EXPECT_EQ(info.run_id, run.run_id());
    EXPECT_EQ(info.idempotency_key, attempts.seen[0].idempotency_key);
  }
  EXPECT_NE(attempts.seen[0].attempt_id, attempts.seen[1].attempt_id);
}

// proves: E-173
TEST_F(EngineTest, TriesOnceUnlessToldOtherwise) {
  Attempts attempts;
  open([&](Registry& registry) {
    registry.activity("broken", [&] {
      attempts.record();
      throw std::invalid_argument("broken for good");
    });
    registry.workflow(
        "once", +[] { dw::activity<void>("broken"); });
  });
  const auto error = error_of(engine().start<void>("once", {}));
  EXPECT_EQ(attempts.seen.size(), 1U);
  EXPECT_EQ(error.closed_reason(), "failed");
  EXPECT_THAT(error.message(), HasSubstr("broken for good"));
}

// proves: E-172
TEST_F(EngineTest, LetsACallOverrideTheRegistration) {
  Attempts attempts;
  open([&](Registry& registry) {
    registry
        .activity("flaky",
                  [&] {
                    if (attempts.record() < 3) throw std::runtime_error("not yet");
                  })
        .backoff({3600s});
    registry.workflow(
        "try", +[] {
          dw::activity<void>("flaky", ActivityOptions{.max_attempts = 3, .backoff = {{0s}}});
        });
  });
  const auto run = engine().start<void>("try", {});
  result_of(run);
  EXPECT_EQ(attempts.seen.size(), 3U);
}

TEST_F(EngineTest, StopsTryingWhenTheActivitySaysItIsHopeless) {
  Attempts attempts;
  open([&](Registry& registry) {
    registry
        .activity("refuse",
                  [&](bool typed) {
                    attempts.record();
                    if (typed) throw std::out_of_range("no such thing");
                    throw NonRetryableError("never");
                  })
        .tries(10)
        .backoff({0s});
    registry.workflow(
        "ask", +[](bool typed) {
          dw::activity<void>(
              "refuse", ActivityOptions{.non_retryable_error_types = {"std::out_of_range"}}, typed);
        });
  });
  EXPECT_THAT(error_of(engine().start<void>("ask", {}, false)).message(), HasSubstr("never"));
  EXPECT_EQ(attempts.seen.size(), 1U);
  EXPECT_THAT(error_of(engine().start<void>("ask", {}, true)).message(),
              HasSubstr("no such thing"));
  EXPECT_EQ(attempts.seen.size(), 2U);
}

TEST_F(EngineTest, ThrowsWhatAnActivityFailedWithIntoTheWorkflow) {
  open([](Registry& registry) {
    registry.activity("fail", [](std::string why) { throw std::out_of_range(why); });
    registry.activity("undo", [](std::string what) { return "undid " + what; });
    registry.workflow(
        "catch", +[](std::string what) {
          try {
            dw::activity<void>("fail", what);
          } catch (const ActivityError& error) {
            EXPECT_EQ(error.activity_type(), "fail");
            EXPECT_EQ(error.exception_class(), "std::out_of_range");
            EXPECT_EQ(error.message(), what);
            return dw::activity<std::string>("undo", what);
          }
          return std::string{"nothing to catch"};
        });
  });
  const auto run = engine().start<std::string>("catch", {}, std::string{"order"});
  EXPECT_EQ(result_of(run), "undid order");
  const std::string run_id = run.run_id();
  close();
  EXPECT_THAT(
      event_types(path(), run_id),
      ElementsAre("StartAccepted", "WorkflowStarted", "ActivityScheduled", "ActivityStarted",
                  "ActivityFailed", "FailureHandled", "ActivityScheduled", "ActivityStarted",
                  "ActivityCompleted", "WorkflowCompleted"));
}

// Exception state belongs to a thread, and fibers share one: each saga must rethrow its own.
TEST_F(EngineTest, KeepsTheExceptionsOfInterleavedSagasApart) {
  constexpr int sagas = 20;
  Countdown compensating{sagas};
  open(
      [&](Registry& registry) {
        registry.activity("fail", [](std::string why) { throw std::runtime_error(why); });
        // Nobody leaves its catch block before everybody is in one.
        registry.activity("undo", [&] {
          compensating.arrive();
          EXPECT_TRUE(compensating.wait());
        });
        registry.workflow(
            "saga", +[](std::string name) {
              try {
                dw::activity<void>("fail", name);
              } catch (const ActivityError&) {
                dw::activity<void>("undo");
                throw;
              }
            });
      },
      {.workflow_threads = 1});
  std::vector<WorkflowHandle> runs;
  for (int i = 0; i < sagas; ++i) {
    const auto name = "saga-" + std::to_string(i);
    runs.push_back(engine().start<void>("saga", {.id = name}, name));
  }
  for (const auto& run : runs) EXPECT_THAT(error_of(run).message(), Eq(run.id()));
}

TEST_F(EngineTest, FailsTheWorkflowWithWhatItThrew) {
  open([](Registry& registry) {
    registry.workflow(
        "throw", +[] { throw std::domain_error("wrong from the start"); });
  });
  const auto error = error_of(engine().start<void>("throw", {}));
  EXPECT_EQ(error.closed_reason(), "failed");
  EXPECT_EQ(error.exception_class(), "std::domain_error");
  EXPECT_EQ(error.message(), "wrong from the start");
}

// ---- restarts

std::atomic<int> produced = 0;

// proves: E-81, E-163, E-164
TEST_F(EngineTest, GivesRecordedStepsBackAfterARestart) {
  produced = 0;
  Flag underway;
  std::mutex mutex;
  std::vector<std::string> noted;
  const auto fill = [&](Registry& registry) {
    registry.activity("note", [&](std::string id) {
      const std::lock_guard lock{mutex};
      noted.push_back(id);
      underway.set();
    });
    registry.workflow(
        "remember", +[] {
          const auto number = dw::side_effect([] { return ++produced; });
          const auto began = dw::now();
          const auto recorded = dw::side_effect([&] { return began; });
          const auto id = dw::uuid4();
          dw::activity<void>("note", id);
          dw::sleep(1s);
          const bool same = began == recorded && dw::now() >= began + 1s;
          return std::pair{id, number + (same ? 10 : 0)};
        });
  };
  open(fill);
  engine().start<std::pair<std::string, int>>("remember", {.id = "it"});
  ASSERT_TRUE(underway.wait());
  open(fill);
  const auto [id, number] = result_of(engine().handle<std::pair<std::string, int>>("it"));
  EXPECT_EQ(produced, 1);
  EXPECT_EQ(number, 11);
  EXPECT_THAT(noted, ElementsAre(id));
  EXPECT_THAT(id,
              MatchesRegex("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"));
}

TEST_F(EngineTest, ResumesManyRunsWhereverTheyWere) {
  constexpr int runs = 60;
  std::atomic<int> calls = 0;
  const auto fill = [&](Registry& registry) {
    registry.activity("next", [&](int number) { return ++calls, number + 1; });
    registry.workflow(
        "count", +[](int from) {
          int number = from;
          for (int i = 0; i < 10; ++i) number = dw::activity<int>("next", number);
          return number;
        });
  };
  open(fill);
  for (int i = 0; i < runs; ++i) {
    engine().start<int>("count", {.id = "count-" + std::to_string(i)}, 100 * i);
  }
  for (int restart = 0; restart < 3; ++restart) open(fill);
  for (int i = 0; i < runs; ++i) {
    EXPECT_EQ(result_of(engine().handle<int>("count-" + std::to_string(i))), 100 * i + 10);
  }
  EXPECT_GE(calls, 10 * runs);
}

TEST_F(EngineTest, AnswersHandlesThatOutliveTheEngine) {
  const auto fill = [](Registry& registry) {
    registry.workflow(
        "wait", +[] { dw::sleep(3600s); });
  };
  open(fill);
  auto run = engine().start<void>("wait", {.id = "it"});
  close();
  EXPECT_EQ(code_of([&] { run.result(); }), ErrorCode::shutting_down);
  EXPECT_EQ(code_of([&] { run.info(); }), ErrorCode::shutting_down);
  EXPECT_EQ(code_of([&] { run.cancel(); }), ErrorCode::shutting_down);
  EXPECT_EQ(code_of([&] { run.wait_for(0ms); }), ErrorCode::shutting_down);
  open(fill);  // the store is free although a handle still points at the old engine
  EXPECT_EQ(engine().attach("it").info().status, "waiting");
}

TEST_F(EngineTest, LogsThatARunComesNearAStructuralLimit) {
  LogSignal warned{"a run comes near a structural limit: payload_size is"};
  open([](Registry& registry) {
    registry.workflow(
        "large", +[] { return std::string(1'700'000, 'x'); });
  });
  result_of(engine().start<std::string>("large", {}));
  EXPECT_TRUE(warned.wait());
}

TEST_F(EngineTest, WakesWaitersWhenTheEngineStops) {
  open([](Registry& registry) {
    registry.workflow(
        "wait", +[] { dw::sleep(3600s); });
  });
  const auto run = engine().start<void>("wait", {});
  Flag waiting;
  ErrorCode code = ErrorCode::internal;
  std::thread waiter{[&] {
    waiting.set();
    code = code_of([&] { run.wait(); });
  }};
  ASSERT_TRUE(waiting.wait());
  close();
  waiter.join();
  EXPECT_EQ(code, ErrorCode::shutting_down);
}

// ---- ids and namespaces

const auto sleeper = [](Registry& registry) {
  registry.workflow(
      "sleeper", +[](int seconds) {
        dw::sleep(std::chrono::seconds{seconds});
        return seconds;
      });
  registry.workflow(
      "other", +[] {});
};

// proves: E-170
TEST_F(EngineTest, TreatsDuplicateStartsAsTold) {
  open(sleeper);
  const auto start = [&](DuplicateStart policy, int seconds) {
    return engine().start<int>("sleeper", {.id = "it", .on_duplicate = policy}, seconds);
  };
  auto first = start(DuplicateStart::reject, 3600);
  EXPECT_EQ(code_of([&] { start(DuplicateStart::reject, 0); }), ErrorCode::conflict);

  const auto same = start(DuplicateStart::return_existing, 0);
  EXPECT_FALSE(same.started_new());
  EXPECT_EQ(same.run_id(), first.run_id());
  EXPECT_EQ(start(DuplicateStart::attach, 0).run_id(), first.run_id());

  EXPECT_TRUE(first.terminate().accepted);
  EXPECT_EQ(code_of([&] { start(DuplicateStart::return_existing, 0); }), ErrorCode::conflict);
  const auto closed = start(DuplicateStart::attach, 0);
  EXPECT_FALSE(closed.started_new());
  EXPECT_EQ(error_of(closed).closed_reason(), "terminated");
  EXPECT_EQ(code_of([&] {
              engine().start<void>("other", {.id = "it", .on_duplicate = DuplicateStart::attach});
            }),
            ErrorCode::conflict);
}

TEST_F(EngineTest, FindsDuplicatesOfRunsItNoLongerHolds) {
  open(sleeper);
  engine().start<int>("sleeper", {.id = "it"}, 3600);
  open(sleeper);
  EXPECT_EQ(code_of([&] { engine().start<int>("sleeper", {.id = "it"}, 0); }), ErrorCode::conflict);
  EXPECT_FALSE(
      engine()
          .start<int>("sleeper", {.id = "it", .on_duplicate = DuplicateStart::return_existing}, 0)
          .started_new());
}

// proves: E-1
TEST_F(EngineTest, ReservesAnIdBeforeAnythingRuns) {
  open(sleeper);
  EXPECT_EQ(engine().reserve("sleeper", {.id = "mine"}), "mine");
  EXPECT_EQ(engine().reserve("sleeper", {.id = "mine"}), "mine");
  EXPECT_FALSE(engine().reserve("sleeper").empty());
  EXPECT_EQ(code_of([&] { engine().reserve("other", {.id = "mine"}); }), ErrorCode::conflict);
  EXPECT_EQ(code_of([&] { engine().start<void>("other", {.id = "mine"}); }), ErrorCode::conflict);
  EXPECT_EQ(code_of([&] { engine().attach("mine"); }), ErrorCode::not_found);
  EXPECT_EQ(code_of([&] { engine().reserve("unknown"); }), ErrorCode::not_found);
  open(sleeper);
  EXPECT_EQ(result_of(engine().start<int>("sleeper", {.id = "mine"}, 0)), 0);
}

// proves: E-177, E-178, E-179, E-181
TEST_F(EngineTest, KeepsNamespacesApart) {
  open(sleeper, {.ns = "Blue"});
  const auto blue = engine().start<int>("sleeper", {.id = "it"}, 3600);
  const auto red = engine().start<int>("sleeper", {.id = "it", .ns = "red"}, 3600);
  EXPECT_NE(blue.run_id(), red.run_id());
  EXPECT_EQ(blue.info().ns, "blue");
  EXPECT_EQ(engine().attach("it").run_id(), blue.run_id());
  EXPECT_EQ(engine().attach("it", "RED").run_id(), red.run_id());
  EXPECT_EQ(code_of([&] { engine().attach("it", "green"); }), ErrorCode::not_found);
  EXPECT_EQ(code_of([&] { engine().attach("it", ""); }), ErrorCode::not_found);

  EXPECT_TRUE(engine().attach("it", "red").terminate().accepted);
  EXPECT_EQ(blue.info().status, "waiting");
}

// ---- the end of a run

// proves: E-156, E-158, E-159
TEST_F(EngineTest, CancelsAndTerminates) {
  open(sleeper);
  auto cancelled = engine().start<int>("sleeper", {.id = "a"}, 3600);
  auto terminated = engine().start<int>("sleeper", {.id = "b"}, 3600);
  const auto reply = cancelled.cancel("no longer wanted");
  EXPECT_TRUE(reply.accepted);
  EXPECT_EQ(reply.outcome, "cancelled");
  EXPECT_EQ(terminated.terminate().outcome, "terminated");
  EXPECT_EQ(error_of(cancelled).closed_reason(), "cancelled");
  EXPECT_EQ(error_of(terminated).closed_reason(), "terminated");

  for (auto* run : {&cancelled, &terminated}) {
    for (const auto& refused : {run->cancel(), run->terminate(), run->repair()}) {
      EXPECT_FALSE(refused.accepted);
      EXPECT_EQ(refused.outcome, "rejected_not_active");
      EXPECT_EQ(refused.rejection_reason, "run_not_active");
    }
  }
  const auto run_id = cancelled.run_id();
  close();
  EXPECT_THAT(event_types(path(), run_id),
              ElementsAre("StartAccepted", "WorkflowStarted", "TimerScheduled", "CancelRequested",
                          "TimerCancelled", "WorkflowCancelled"));
  const auto store = *sqlite::open_sqlite_read_only(path());
  EXPECT_TRUE(store->due_tasks({}, SystemClock{}.now() + std::chrono::hours{24}, 10)->empty());
  EXPECT_EQ(store->load_intake({Namespace{}, InstanceId{"a"}})->size(), 3U);
}

// proves: E-85, E-161
TEST_F(EngineTest, IgnoresWhatAnActivitySaysAfterItsRunWasCancelled) {
  Flag running;
  Flag go_on;
  std::atomic<bool> finished = false;
  open([&](Registry& registry) {
    registry.activity("slow", [&] {
      running.set();
      EXPECT_TRUE(go_on.wait());
      finished = true;
      return 1;
    });
    registry.workflow(
        "slow", +[] { return dw::activity<int>("slow"); });
  });
  auto run = engine().start<int>("slow", {.id = "it"});
  ASSERT_TRUE(running.wait());
  EXPECT_TRUE(run.cancel().accepted);
  EXPECT_EQ(error_of(run).closed_reason(), "cancelled");
  EXPECT_FALSE(finished);
  const auto events = run.info().history_events;
  go_on.set();
  const auto run_id = run.run_id();
  close();
  EXPECT_TRUE(finished);
  EXPECT_EQ(event_types(path(), run_id).size(), static_cast<std::size_t>(events));
}

TEST_F(EngineTest, ClosesRunsThatTakeTooLong) {
  open(sleeper);
  const auto run = engine().start<int>("sleeper", {.run_timeout = 1s}, 3600);
  const auto execution = engine().start<int>("sleeper", {.execution_timeout = 1s}, 3600);
  const auto neither =
      engine().start<int>("sleeper", {.execution_timeout = 3600s, .run_timeout = 3600s}, 0);
  EXPECT_EQ(result_of(neither), 0);
  EXPECT_EQ(error_of(run).closed_reason(), "timed_out");
  EXPECT_EQ(error_of(execution).closed_reason(), "timed_out");
  EXPECT_EQ(run.info().status, "failed");
  EXPECT_EQ(code_of([&] { engine().start<int>("sleeper", {.run_timeout = 0s}, 0); }),
            ErrorCode::invalid_argument);
}

TEST_F(EngineTest, RemembersDeadlinesAcrossARestart) {
  open(sleeper);
  engine().start<int>("sleeper", {.id = "it", .run_timeout = 1s}, 3600);
  open(sleeper);
  EXPECT_EQ(error_of(engine().attach("it")).closed_reason(), "timed_out");
}

TEST_F(EngineTest, CallsBackWhenARunHasClosed) {
  open(sleeper);
  Flag closed;
  const auto run = engine().start<int>("sleeper", {}, 1);
  run.on_closed([&] { closed.set(); });
  ASSERT_TRUE(closed.wait());
  EXPECT_EQ(run.info().status, "completed");
  Flag again;
  run.on_closed([&] { again.set(); });  // closed long since
  EXPECT_TRUE(again.wait());
}

// ---- load

TEST_F(EngineTest, RunsNoMoreActivitiesAtOnceThanItMay) {
  std::atomic<int> running = 0;
  std::atomic<int> most = 0;
  open(
      [&](Registry& registry) {
        registry.activity("busy", [&] {
          const int now = ++running;
          int seen = most;
          while (now > seen && !most.compare_exchange_weak(seen, now)) {
          }
          --running;
        });
        registry.workflow(
            "three", +[] {
              for (int i = 0; i < 3; ++i) dw::activity<void>("busy");
            });
      },
      {.max_concurrent_activities = 2});
  std::vector<Handle<void>> runs;
  for (int i = 0; i < 50; ++i) runs.push_back(engine().start<void>("three", {}));
  for (const auto& run : runs) result_of(run);
  EXPECT_LE(most, 2);
}

TEST_F(EngineTest, LetsShortActivitiesPassBlockedOnes) {
  constexpr int blocked = 20;
  Countdown waiting{blocked};
  Flag go_on;
  open([&](Registry& registry) {
    registry.activity("block", [&] {
      waiting.arrive();
      EXPECT_TRUE(go_on.wait());
    });
    registry.activity("pass", [] {});
    registry.workflow(
        "block", +[] { dw::activity<void>("block"); });
    registry.workflow(
        "pass", +[] { dw::activity<void>("pass"); });
  });
  std::vector<Handle<void>> slow;
  for (int i = 0; i < blocked; ++i) slow.push_back(engine().start<void>("block", {}));
  ASSERT_TRUE(waiting.wait());
  for (int i = 0; i < 20; ++i) result_of(engine().start<void>("pass", {}));
  go_on.set();
  for (const auto& run : slow) result_of(run);
}

TEST_F(EngineTest, CarriesManyRunsAtOnce) {
  constexpr int runs = 500;
  Countdown closed{runs};
  std::atomic<int> refused = 0;
  open([](Registry& registry) {
    registry.activity("twice", twice);
    registry.workflow("twice_and_one", twice_and_one);
  });
  for (int i = 0; i < runs; ++i) {
    engine().start_async("twice_and_one", {.id = "run-" + std::to_string(i)},
                         *encode(to_arguments(i)), [&](Result<WorkflowHandle> started) {
                           if (!started) return ++refused, closed.arrive();
                           started->on_closed([&] { closed.arrive(); });
                         });
  }
  ASSERT_TRUE(closed.wait());
  EXPECT_EQ(refused, 0);
  for (int i = 0; i < runs; i += 50) {
    EXPECT_EQ(engine().handle<int>("run-" + std::to_string(i)).result(), 2 * i + 1);
  }
}

TEST_F(EngineTest, ReplaysWhatItsCacheCouldNotHold) {
  std::atomic<int> calls = 0;
  open(
      [&](Registry& registry) {
        registry.activity("next", [&](int number) { return ++calls, number + 1; });
        registry.workflow(
            "count", +[](int number) {
              for (int i = 0; i < 5; ++i) {
                number = dw::activity<int>("next", number);
                number = dw::side_effect([&] { return number + 1; });
              }
              return number;
            });
      },
      {.workflow_threads = 1, .max_warm_workflows = 1});
  std::vector<Handle<int>> runs;
  for (int i = 0; i < 40; ++i) runs.push_back(engine().start<int>("count", {}, 100 * i));
  for (int i = 0; i < 40; ++i)
    EXPECT_EQ(result_of(runs[static_cast<std::size_t>(i)]), 100 * i + 10);
  EXPECT_EQ(calls, 200);
}

TEST_F(EngineTest, RefusesWorkWhenTooMuchIsQueued) {
  open(sleeper, {.max_queued_commits = 0});
  EXPECT_EQ(code_of([&] { engine().start<int>("sleeper", {}, 0); }), ErrorCode::overloaded);
  EXPECT_TRUE(engine().runs().empty());
}

// ---- code that changes, and mistakes

TEST_F(EngineTest, NamesAMisuseOfTheApi) {
  EXPECT_THROW(dw::sleep(1s), UsageError);
  EXPECT_THROW(dw::now(), UsageError);
  EXPECT_THROW(activity_info(), UsageError);
  open(sleeper);
  EXPECT_THROW(engine().start(twice_and_one, 1), UsageError);
  EXPECT_THROW(engine().start<Greeter>({}, "x", 1), UsageError);
  EXPECT_THROW(engine().registry().activity_type(detail::function_key(twice)), UsageError);
}

TEST_F(EngineTest, ParksARunWhoseCodeMisusesTheApiInsteadOfFailingIt) {
  {
    LogSignal blocked{"replay blocked"};
    open([](Registry& registry) { registry.workflow("twice_and_one", twice_and_one); });
    engine().start(twice_and_one, {.id = "it"}, 1);
    ASSERT_TRUE(blocked.wait());
    EXPECT_EQ(engine().attach("it").info().closed_reason, "");
  }
  open([](Registry& registry) {
    registry.activity("twice", twice);
    registry.workflow("twice_and_one", twice_and_one);
  });
  auto run = engine().handle<int>("it");
  EXPECT_EQ(run.repair().outcome, "repair_dispatched");
  EXPECT_EQ(result_of(run), 3);
}

const Signal<int> go_on{"go-on", {"by"}};
int first_then_wait() {
  const int number = dw::activity<int>("first");
  return number + dw::await(go_on);
}
int second_then_wait() {
  const int number = dw::activity<int>("second");
  return number + dw::await(go_on);
}

// proves: E-46, E-50, E-148
TEST_F(EngineTest, BlocksReplayOfChangedCodeAndFinishesWhenTheOldCodeReturns) {
  Flag underway;
  const auto fill_with = [&](int (*code)()) {
    return [&underway, code](Registry& registry) {
      registry.activity("first", [&] { return underway.set(), 41; });
      registry.activity("second", [] { return 0; });
      registry.workflow("changing", code).signal(go_on);
    };
  };
  open(fill_with(first_then_wait));
  const auto run_id = engine().start<int>("changing", {.id = "it"}).run_id();
  ASSERT_TRUE(underway.wait());
  close();
  {
    LogSignal blocked{"was recorded as activity:first, the code now asks for activity:second"};
    open(fill_with(second_then_wait));
    EXPECT_TRUE(engine().attach("it").signal(go_on, 1).accepted);
    ASSERT_TRUE(blocked.wait());
    EXPECT_EQ(engine().attach("it").info().closed_reason, "");
    close();
  }
  {
    const auto store = *sqlite::open_sqlite_read_only(path());
    const auto tasks = *store->due_tasks({}, SystemClock{}.now() + std::chrono::hours{1}, 10);
    ASSERT_EQ(tasks.size(), 1U);
    EXPECT_EQ(tasks[0].status, engine::TaskStatus::blocked);
    EXPECT_THAT(tasks[0].note, HasSubstr(R"("replay_blocked_reason":"history_shape_mismatch")"));
    EXPECT_THAT(tasks[0].note, HasSubstr(R"("replay_blocked_workflow_sequence":1)"));
  }
  open(fill_with(first_then_wait));
  auto run = engine().handle<int>("it");
  EXPECT_EQ(run.run_id(), run_id);
  EXPECT_FALSE(run.wait_for(0ms));
  const auto repair = run.repair();
  EXPECT_TRUE(repair.accepted);
  EXPECT_EQ(repair.outcome, "repair_dispatched");
  EXPECT_EQ(result_of(run), 42);
}

TEST_F(EngineTest, SaysWhenThereIsNothingToRepair) {
  open(sleeper);
  auto run = engine().start<int>("sleeper", {}, 3600);
  EXPECT_EQ(run.repair().outcome, "repair_not_needed");
  EXPECT_EQ(run.info().status, "waiting");
}

// proves: E-130
TEST_F(EngineTest, WaitsForAProgramThatKnowsTheWorkflow) {
  Flag underway;
  const auto activities = [&](Registry& registry) {
    registry.activity("first", [&] { return underway.set(), 41; });
  };
  const auto everything = [&](Registry& registry) {
    activities(registry);
    registry.workflow("known", first_then_wait).signal(go_on);
  };
  open(everything);
  engine().start<int>("known", {.id = "it"});
  ASSERT_TRUE(underway.wait());
  open(activities);
  EXPECT_EQ(engine().attach("it").info().closed_reason, "");
  open(everything);
  EXPECT_TRUE(engine().attach("it").signal(go_on, 1).accepted);
  EXPECT_EQ(result_of(engine().handle<int>("it")), 42);
}

TEST_F(EngineTest, KeepsEverythingInMemoryWhenAsked) {
  Registry registry;
  registry.activity("twice", twice);
  registry.workflow("twice_and_one", twice_and_one);
  Engine memory{std::move(registry), {.store = ":memory:"}};
  EXPECT_EQ(result_of(memory.start(twice_and_one, {.id = "it"}, 3)), 7);
  EXPECT_EQ(memory.runs().size(), 1U);
}

}  // namespace
}  // namespace dw
