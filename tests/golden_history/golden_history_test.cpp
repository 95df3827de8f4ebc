// The published SDKs' own golden histories, replayed by our runtime: code that means the same must
// go on with the command that they expect. Their histories are short, so what goes without saying
// there (that an activity was scheduled before it ended) is said here. One of theirs is not among
// them: a signal that a condition sees. Code in C++ takes signals in steps of their own.
#include "core/payload_blob.hpp"
#include "core/unwrap.hpp"
#include "history/event_builders.hpp"
#include "runtime/execution.hpp"

#include <dw/dw.hpp>

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace dw::runtime {
namespace {

using namespace history;
using namespace std::chrono_literals;

// ---- their workflows, in C++

std::string greet(std::string) {
  return {};
}
std::string reserve(std::string) {
  return {};
}
void release(std::string, std::string, std::string) {}
void new_path() {}
void old_path() {}
std::string position() {
  return {};
}
std::string other_position() {
  return {};
}

std::string charge(std::string) {
  return {};
}
std::string single_activity(std::string name) {
  return activity(greet, name);
}
std::string saga(std::string order) {
  const auto reservation = activity(reserve, order);
  try {
    return child(charge, order);
  } catch (const ChildError& failed) {
    activity(release, order, reservation, failed.message());
    return "compensated";
  }
}
std::string timeout_wait() {
  return await([] { return false; }, {.key = "approval", .timeout = 5s}) ? "approved" : "timed-out";
}
void version_marker() {
  get_version("golden-version", 1, 2) == 2 ? activity(new_path) : activity(old_path);
}
Value parallel_results() {
  const auto [first, second] = all(call(position), call(other_position));
  return Value::Map{{"results", Value::Array{first, second}}};
}
Value side_effect_and_version() {
  const auto captured = side_effect([]() -> std::string {
    ADD_FAILURE() << "what is recorded is not done again";
    return {};
  });
  return Value::Map{{"captured", captured}, {"version", get_version("cold-restart", 1, 2)}};
}

const Registry& golden() {
  static const Registry all = [] {
    Registry registry;
    registry.activity("golden.greet", greet);
    registry.activity("golden.reserve-inventory", reserve);
    registry.activity("golden.release-inventory", release);
    registry.activity("golden.version-new-path", new_path);
    registry.activity("golden.version-old-path", old_path);
    registry.activity("position-first", position);
    registry.activity("position-second", other_position);
    registry.workflow("golden.charge", charge);
    registry.workflow("golden.single-activity", single_activity);
    registry.workflow("golden.saga-compensation", saga);
    registry.workflow("golden.timeout-wait", timeout_wait);
    registry.workflow("golden.version-marker", version_marker);
    registry.workflow("tests.replay.parallel-result-binding", parallel_results);
    registry.workflow("corpus.side-effect-version", side_effect_and_version);
    registry.freeze();
    return registry;
  }();
  return all;
}

// ---- their histories as our events

std::string text(const Value& object, std::string_view key) {
  const Value* found = object.find(key);
  return found && found->if_string() ? *found->if_string() : std::string{};
}
std::int64_t number(const Value& object, std::string_view key, std::int64_t otherwise = 0) {
  const Value* found = object.find(key);
  return found && found->if_integer() ? *found->if_integer() : otherwise;
}
Payload payload(const Value& object, std::string_view key) {
  const Value& held = *object.find(key);
  const auto& blob = held.if_string() ? *held.if_string() : *held.find("blob")->if_string();
  return unwrap(payload_from_blob("avro", blob));
}

class Retold {
 public:
  Retold(std::string type, const Value& input) {
    WorkflowStarted started = story::workflow_started(std::move(type));
    started.arguments = unwrap(encode(input, "avro"));
    add(std::move(started));
  }

  void tell(const Value& event) {
    const std::string type = text(event, "event_type");
    const Value& said = *event.find("payload");
    if (type == "ActivityScheduled") {
      schedule(said);
    } else if (type == "ActivityCompleted") {
      if (!said.find("sequence")) schedule(said);
      add(ActivityCompleted{ActivityId{activity(said)}, AttemptId{"attempt"},
                            payload(said, "result")});
    } else if (type == "ChildRunFailed") {
      const std::string call = std::to_string(++steps_);
      add(ChildWorkflowScheduled{ChildCallId{call},
                                 steps_,
                                 "golden.charge",
                                 InstanceId{"child"},
                                 ParentClosePolicy::abandon,
                                 {}});
      add(ChildRunFailed{ChildCallId{call}, RunId{"child-run"}, FailureId{"failure"}, "failed",
                         story::failure(text(said, "message"))});
    } else if (type == "ConditionWaitOpened") {
      add(ConditionWaitOpened{WaitId{text(said, "condition_wait_id")}, ++steps_,
                              text(said, "condition_key"), "", number(said, "timeout_seconds")});
    } else if (type == "ConditionWaitTimedOut") {
      add(ConditionWaitTimedOut{WaitId{text(said, "condition_wait_id")}});
    } else if (type == "VersionMarkerRecorded") {
      add(VersionMarkerRecorded{++steps_, text(said, "change_id"), number(said, "version"),
                                number(said, "min_supported"), number(said, "max_supported")});
    } else if (type == "SideEffectRecorded") {
      add(SideEffectRecorded{++steps_, payload(said, "result")});
    } else if (type != "WorkflowStarted") {
      ADD_FAILURE() << "nobody here can retell " << type;
    }
  }

  std::span<const Event> events() const { return events_; }

 private:
  std::string activity(const Value& said) const {
    return std::to_string(number(said, "sequence", steps_));
  }
  void schedule(const Value& said) {
    ++steps_;
    // They do not name the one that must have come before.
    const std::string type = text(said, "activity_type");
    auto scheduled = story::activity_scheduled(std::to_string(steps_), type);
    scheduled.step = steps_;
    if (type.empty()) {
      scheduled.activity_type =
          std::get<WorkflowStarted>(events_.front().body).workflow_type == "golden.single-activity"
              ? "golden.greet"
              : "golden.reserve-inventory";
    }
    if (const auto size = number(said, "parallel_group_size")) {
      scheduled.group = {story::barrier(Group::Kind::activity,
                                        number(said, "parallel_group_base_sequence"), size,
                                        number(said, "parallel_group_index"))};
    }
    add(std::move(scheduled));
  }
  void add(EventBody body) {
    const auto sequence = static_cast<std::int64_t>(events_.size()) + 1;
    events_.push_back({sequence, story::at("09:00"), std::move(body)});
  }

  std::vector<Event> events_;
  std::int64_t steps_ = 0;
};

// ---- what they expect

void expect_same(const engine::Progress& progress, const Value& expected) {
  ASSERT_FALSE(progress.blocked) << progress.blocked->message;
  ASSERT_FALSE(progress.commands.empty());
  const engine::WorkflowCommand& next = progress.commands.back();
  if (const auto* ends = std::get_if<engine::CompleteWorkflow>(&next)) {
    const bool theirs = text(expected, "command_type") == "CompleteWorkflow" ||
                        text(expected, "type") == "complete_workflow";
    EXPECT_TRUE(theirs);
    EXPECT_EQ(to_json(unwrap(decode(ends->output))), to_json(*expected.find("result")));
    return;
  }
  const auto* asks = std::get_if<engine::ScheduleActivity>(&next);
  ASSERT_TRUE(asks);
  EXPECT_EQ(text(expected, "command_type"), "ScheduleActivity");
  EXPECT_EQ(asks->activity_type, text(expected, "activity_type"));
  EXPECT_EQ(to_json(unwrap(decode(asks->arguments))), to_json(*expected.find("arguments")));
}

void replay(std::string type, const Value& input, const Value& history, const Value& expected) {
  Retold retold{std::move(type), input};
  for (const Value& event : *history.if_array()) retold.tell(event);
  StackPool stacks{{}};
  SeededRandom random{7};
  const RunId run{"run"};
  Execution execution{golden(), stacks, random, run};
  execution.feed(retold.events());
  expect_same(execution.run(story::at("10:00")), expected);
}

Value read(const std::string& name) {
  std::ifstream file{std::string{DW_GOLDEN_DIR} + "/" + name};
  std::stringstream all;
  all << file.rdbuf();
  return unwrap(parse_json(all.str()));
}

class GoldenHistory : public ::testing::TestWithParam<std::string> {};

TEST_P(GoldenHistory, LeadsToTheCommandThatTheSdkExpects) {
  const Value fixture = read(GetParam());
  if (const Value* cases = fixture.find("cases")) {
    for (const Value& one : *cases->if_array()) {
      SCOPED_TRACE(text(one, "name"));
      replay(text(one, "workflow_type"), *one.find("start_input"), *one.find("history"),
             *one.find("expected"));
    }
    return;
  }
  const Value& workflow = *fixture.find("workflow");
  replay(text(workflow, "type"), *workflow.find("input"), *fixture.find("history"),
         *fixture.find("expected"));
}

INSTANTIATE_TEST_SUITE_P(Published, GoldenHistory,
                         ::testing::Values("python-sdk-2.0.0-rc.30-avro.json",
                                           "python-sdk-2.0.0-rc.30-avro-saga.json",
                                           "python-sdk-2.0.0-rc.30-avro-timeout.json",
                                           "python-sdk-2.0.0-rc.30-avro-version.json",
                                           "server-2.0.0-rc.39-parallel-completion-order.json",
                                           "side-effect-version-cold-replay-avro.json"));

}  // namespace
}  // namespace dw::runtime
