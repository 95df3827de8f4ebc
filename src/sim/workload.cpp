#include "sim/workload.hpp"

#include <fmt/format.h>
#include <dw/activity.hpp>

#include <algorithm>
#include <array>
#include <set>

namespace dw::sim {
namespace {

using namespace std::chrono_literals;
using history::overloaded;

constexpr std::string_view tell = "sim.tell";        // always answers
constexpr std::string_view flaky = "sim.flaky";      // fails the first n times
constexpr std::string_view broken = "sim.broken";    // always fails
constexpr std::string_view refused = "sim.refused";  // says that trying again is of no use
constexpr std::string_view lossy = "sim.lossy";      // its first n attempts are lost

std::string digest(std::int64_t number, std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325 ^ static_cast<std::uint64_t>(number);
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return fmt::format("{:x}", hash);
}

std::string broken_message(std::int64_t number) {
  return fmt::format("out of order {}", number);
}
std::string refused_message(std::int64_t number) {
  return fmt::format("no entry {}", number);
}

// What a workflow may do.
class Ops {
 public:
  virtual ~Ops() = default;
  virtual std::string call(std::string_view activity, const ActivityOptions& options,
                           std::int64_t number, const std::string& text) = 0;
  virtual void sleep(std::chrono::seconds delay) = 0;
  virtual std::string roll() = 0;  // a side effect that never gives the same answer twice
  virtual std::string now() = 0;

  std::string call(std::string_view activity, std::int64_t number, const std::string& text) {
    return call(activity, {}, number, text);
  }
};

class DurableOps final : public Ops {
 public:
  using Ops::call;
  std::string call(std::string_view activity, const ActivityOptions& options, std::int64_t number,
                   const std::string& text) override {
    return dw::activity<std::string>(activity, options, number, text);
  }
  void sleep(std::chrono::seconds delay) override { dw::sleep(delay); }
  std::string roll() override { return dw::uuid4(); }
  std::string now() override { return format_timestamp(dw::now()); }
};

// ---- the workflows

using Body = std::string (*)(Ops&, const Numbers&);

const ActivityOptions for_ever{.max_attempts = 0, .backoff = std::vector{1s, 2s, 5s}};

std::string single(Ops& ops, const Numbers& n) {
  return ops.call(tell, n[0], "single");
}

std::string ten(Ops& ops, const Numbers& n) {
  std::string text = "ten";
  for (int i = 0; i < 10; ++i) text = ops.call(tell, n[0] + i, text);
  return text;
}

std::string naps(Ops& ops, const Numbers& n) {
  std::string text = ops.now();
  ops.sleep(std::chrono::seconds{n[0]});
  text = ops.call(tell, 1, text + ops.now());
  ops.sleep(0s);
  ops.sleep(std::chrono::seconds{n[1]});
  return text + ops.now();
}

std::string dice(Ops& ops, const Numbers& n) {
  std::string text = ops.roll();
  text += ops.now();
  text += ops.roll();
  text += ops.call(tell, n[0], text);
  text += ops.roll();
  ops.sleep(std::chrono::seconds{n[0] % 3});
  return text + ops.now();
}

// The rethrow after steps inside the handler is the point: exceptions belong to a fiber.
std::string saga(Ops& ops, const Numbers& n) {
  const std::string booked = ops.call(tell, n[0], "book");
  std::string undone;
  try {
    ops.call(broken, {.max_attempts = static_cast<int>(1 + n[0] % 3), .backoff = std::vector{1s}},
             n[0], booked);
  } catch (const ActivityError& error) {
    undone = ops.call(tell, 1, error.message());
    try {
      ops.call(refused, {.max_attempts = 5}, n[0], undone);
    } catch (const ActivityError& inner) {
      ops.sleep(1s);
      undone += ops.call(tell, 2, inner.exception_class());
    }
    if (n[1] % 2 == 0) throw;
  }
  return undone + ops.call(tell, 3, booked);
}

std::string stubborn(Ops& ops, const Numbers& n) {
  return ops.call(flaky, for_ever, n[0] % 4, "stubborn") +
         ops.call(flaky, for_ever, n[1] % 3, "on");
}

std::string hopeless(Ops& ops, const Numbers& n) {
  const std::string text = ops.call(tell, n[0], "hopeless");
  return n[1] % 2 == 0
             ? ops.call(refused, {.max_attempts = 3}, n[0], text)
             : ops.call(broken, {.max_attempts = 2, .backoff = std::vector{0s}}, n[0], text);
}

std::string lost(Ops& ops, const Numbers& n) {
  std::string text;
  try {
    text = ops.call(lossy, n[0] % 7, "lost");
  } catch (const ActivityError& error) {
    text = "gave up: " + error.exception_type();
  }
  return ops.call(tell, n[1], text);
}

std::string patience(Ops& ops, const Numbers& n) {
  const std::string text = ops.call(tell, n[0], "patience");
  ops.sleep(std::chrono::seconds{n[1]});
  return ops.call(tell, 2, text);
}

// Takes its steps from its arguments: what no type above thought of.
std::string script(Ops& ops, const Numbers& n) {
  std::string text = "script";
  for (const std::int64_t number : n) {
    const std::int64_t detail = number / 16;
    try {
      switch (number % 16) {
        case 0:
          text = ops.call(tell, detail, text);
          break;
        case 1:
          ops.sleep(std::chrono::seconds{detail % 5});
          break;
        case 2:
          ops.sleep(0s);
          break;
        case 3:
          text += ops.roll();
          break;
        case 4:
          text = ops.call(flaky, for_ever, detail % 3, text);
          break;
        case 5:
          text = ops.call(lossy, detail % 3, text);
          break;
        case 6:
          text += ops.now();
          break;
        case 7:
          ops.sleep(std::chrono::seconds{detail % 100});
          break;
        case 8:
          text = ops.call(refused, detail, text);
          break;
        case 9:
          text = ops.call(broken, {.max_attempts = static_cast<int>(1 + detail % 3)}, detail, text);
          break;
        default:
          text = ops.call(tell, detail, text);
          break;
      }
    } catch (const ActivityError& error) {
      try {
        text = ops.call(tell, detail, error.message());
        if (detail % 3 == 0) throw;
      } catch (const ActivityError& again) {
        text = ops.call(tell, 1, again.message());
      }
    }
    text = digest(number, text);
  }
  return text;
}

template <Body body>
std::string durable(Numbers numbers) {
  DurableOps ops;
  return body(ops, numbers);
}

struct WorkflowType {
  std::string_view type;
  Body body;
  std::string (*code)(Numbers);
  bool always_known;
};

template <Body body>
constexpr WorkflowType known(std::string_view type, bool always) {
  return {type, body, &durable<body>, always};
}

constexpr std::array workflow_types{
    known<single>("sim.single", true),     known<ten>("sim.ten", true),
    known<naps>("sim.naps", true),         known<dice>("sim.dice", false),
    known<saga>("sim.saga", true),         known<stubborn>("sim.stubborn", false),
    known<hopeless>("sim.hopeless", true), known<lost>("sim.lost", true),
    known<patience>("sim.patience", true), known<script>("sim.script", false),
};

// ---- plain code

// History ends here: the run was closed while this step was open, or before it was taken.
struct HistoryEnds {};

class ModelOps final : public Ops {
 public:
  using Ops::call;

  explicit ModelOps(std::span<const history::Event> events) {
    std::map<std::string, std::size_t> open;
    const auto find = [&](const std::string& id) -> Step& { return steps_[open.at(id)]; };
    const auto add = [&](Step step, const std::string& id) {
      if (!id.empty()) open[id] = steps_.size();
      steps_.push_back(std::move(step));
    };
    for (const history::Event& event : events) {
      const auto at = event.recorded_at;
      std::visit(
          overloaded{
              [&](const history::WorkflowStarted&) { now_ = at; },
              [&](const history::ActivityScheduled& e) {
                add({.activity = e.activity_type, .arguments = e.arguments}, e.activity_id.str());
              },
              [&](const history::TimerScheduled& e) {
                add({.delay = e.delay_seconds}, e.timer_id.str());
              },
              [&](const history::SideEffectRecorded& e) {
                add({.value = e.result, .resolved_at = at}, {});
              },
              [&](const history::ActivityCompleted& e) {
                find(e.activity_id.str()).resolved_at = at;
                find(e.activity_id.str()).value = e.result;
              },
              [&](const history::ActivityFailed& e) { find(e.activity_id.str()).resolved_at = at; },
              [&](const history::ActivityTimedOut& e) {
                find(e.activity_id.str()).resolved_at = at;
                find(e.activity_id.str()).timed_out = e.message;
              },
              [&](const history::TimerFired& e) { find(e.timer_id.str()).resolved_at = at; },
              [](const auto&) {}},
          event.body);
    }
  }

  std::string call(std::string_view activity, const ActivityOptions&, std::int64_t number,
                   const std::string& text) override {
    const Step& step = take();
    if (step.activity != activity || step.arguments != detail::arguments_of(number, text)) {
      complain(fmt::format("asks for activity {}({}, '{}')", activity, number, text));
    }
    wait(step);
    if (step.timed_out) {
      throw ActivityError{std::string{activity}, "dw::ActivityTimedOut", "timeout",
                          *step.timed_out};
    }
    if (activity == broken) {
      throw ActivityError{std::string{activity}, "std::runtime_error", {}, broken_message(number)};
    }
    if (activity == refused) {
      throw ActivityError{
          std::string{activity}, "dw::NonRetryableError", {}, refused_message(number)};
    }
    auto answer = digest(number, text);
    if (step.value != detail::encode_or_throw(to_value(answer))) {
      complain(fmt::format("gets '{}' from {}", answer, activity));
    }
    return answer;
  }

  void sleep(std::chrono::seconds delay) override {
    const Step& step = take();
    if (step.delay != delay.count()) complain(fmt::format("sleeps {} s", delay.count()));
    wait(step);
  }

  std::string roll() override {
    const Step& step = take();
    if (!step.activity.empty() || step.delay || !step.value) {
      complain("records a side effect");
      return {};
    }
    return detail::result_as<std::string>(*step.value, "a side effect");
  }

  std::string now() override { return format_timestamp(now_); }

  bool all_taken() const { return taken_ == steps_.size(); }
  const std::optional<std::string>& complaint() const { return complaint_; }

 private:
  struct Step {
    std::string activity = {};
    Payload arguments = {};
    std::optional<std::int64_t> delay = {};
    std::optional<Payload> value = {};
    std::optional<std::string> timed_out = {};
    std::optional<Timestamp> resolved_at = {};
  };

  const Step& take() {
    if (taken_ == steps_.size()) throw HistoryEnds{};
    return steps_[taken_++];
  }
  void wait(const Step& step) {
    if (!step.resolved_at) throw HistoryEnds{};
    now_ = *step.resolved_at;
  }
  void complain(std::string what) {
    if (!complaint_) {
      complaint_ =
          fmt::format("step {}: plain code {}, history holds something else", taken_, what);
    }
  }

  std::vector<Step> steps_;
  std::size_t taken_ = 0;
  Timestamp now_;
  std::optional<std::string> complaint_;
};

}  // namespace

Registry build_registry(Invocations& invocations, bool complete) {
  const auto invoked = [&invocations] { return ++invocations[activity_info().idempotency_key]; };
  Registry registry;
  registry.activity(std::string{tell}, [invoked](std::int64_t number, std::string text) {
    invoked();
    return digest(number, text);
  });
  registry.activity(std::string{lossy}, [invoked](std::int64_t number, std::string text) {
    invoked();
    return digest(number, text);
  });
  registry.activity(std::string{broken},
                    [invoked](std::int64_t number, std::string) -> std::string {
                      invoked();
                      throw std::runtime_error{broken_message(number)};
                    });
  registry.activity(std::string{refused},
                    [invoked](std::int64_t number, std::string) -> std::string {
                      invoked();
                      throw NonRetryableError{refused_message(number)};
                    });
  if (complete) {
    registry.activity(std::string{flaky}, [invoked](std::int64_t number, std::string text) {
      if (invoked() <= number) throw std::runtime_error{"not yet"};
      return digest(number, text);
    });
  }
  for (const WorkflowType& workflow : workflow_types) {
    if (complete || workflow.always_known) {
      registry.workflow(std::string{workflow.type}, workflow.code);
    }
  }
  registry.freeze();
  return registry;
}

Order draw_order(Random& random) {
  Order order;
  const WorkflowType& workflow = workflow_types[random.below(workflow_types.size())];
  order.workflow_type = workflow.type;
  const auto number = [&](std::uint64_t below) {
    return static_cast<std::int64_t>(random.below(below));
  };
  if (workflow.body == naps) {
    // Days cost the simulator a walk over every idle tick, so they are rare.
    static constexpr std::array<std::uint64_t, 8> longest{3,  3,     60,    60,
                                                          60, 3'600, 3'600, 2 * 86'400};
    order.numbers = {number(5), number(longest[random.below(longest.size())])};
  } else if (workflow.body == patience) {
    // Some time out, some make it just in time.
    order.numbers = {number(100), number(60)};
    if (random.below(3) > 0) order.run_timeout = 1 + number(60);
    if (random.below(3) > 0) order.execution_timeout = 1 + number(60);
  } else if (workflow.body == script) {
    for (auto steps = random.below(12); steps > 0; --steps)
      order.numbers.push_back(number(16 * 100));
  } else {
    order.numbers = {number(100), number(100)};
  }
  if (random.below(16) == 0) order.run_timeout = 1 + number(3 * 86'400);
  return order;
}

bool retried_for_ever(std::string_view activity_type) {
  return activity_type == flaky;
}

std::int64_t attempts_to_lose(std::string_view activity_type, const Payload& arguments) {
  if (activity_type != lossy) return 0;
  const auto decoded = detail::decode_arguments<std::tuple<std::int64_t, std::string>>(arguments);
  return decoded ? std::get<0>(*decoded) : 0;
}

std::optional<std::string> compare_with_model(std::span<const history::Event> events) {
  const history::WorkflowStarted* start = nullptr;
  const history::WorkflowCompleted* completed = nullptr;
  const history::WorkflowFailed* failed = nullptr;
  for (const history::Event& event : events) {
    if (const auto* e = std::get_if<history::WorkflowStarted>(&event.body)) start = e;
    if (const auto* e = std::get_if<history::WorkflowCompleted>(&event.body)) completed = e;
    if (const auto* e = std::get_if<history::WorkflowFailed>(&event.body)) failed = e;
  }
  if (!start) return "the run never started";
  const auto workflow =
      std::ranges::find(workflow_types, start->workflow_type, &WorkflowType::type);
  const auto arguments = detail::decode_arguments<std::tuple<Numbers>>(start->arguments);
  if (workflow == workflow_types.end() || !arguments) return "nobody asked for such a run";

  ModelOps ops{events};
  std::optional<std::string> answer;
  std::optional<std::string> failure;
  try {
    answer = workflow->body(ops, std::get<0>(*arguments));
  } catch (const ActivityError& error) {
    failure = error.what();
  } catch (const HistoryEnds&) {
  }
  if (ops.complaint()) return ops.complaint();
  if (!ops.all_taken()) return "history holds more steps than plain code takes";
  if (completed) {
    if (!answer) return "the run completed, plain code does not";
    if (completed->output != detail::encode_or_throw(to_value(*answer))) {
      return fmt::format("the run's output is not '{}', which plain code answers", *answer);
    }
  } else if (failed) {
    if (!failure) return "the run failed, plain code does not: " + failed->failure.message;
    if (failed->failure.message != *failure) {
      return fmt::format("the run failed with '{}', plain code with '{}'", failed->failure.message,
                         *failure);
    }
  }
  return std::nullopt;
}

}  // namespace dw::sim
