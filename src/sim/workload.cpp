#include "sim/workload.hpp"

#include "sim/bodies.hpp"
#include "sim/ops.hpp"

#include <fmt/format.h>
#include <dw/activity.hpp>

#include <algorithm>
#include <array>

// Its name must not begin with ours: what the engine knows by name blocks nobody.
namespace sim_world {

struct Mishap : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace sim_world

namespace dw::sim {
namespace {

using namespace bodies;

std::string broken_message(std::int64_t number) {
  return fmt::format("out of order {}", number);
}
std::string refused_message(std::int64_t number) {
  return fmt::format("no entry {}", number);
}
std::string mishap_message(std::int64_t number) {
  return fmt::format("who would have thought {}", number);
}

class DurableOps final : public Ops {
 public:
  using Ops::call;
  std::string call(std::string_view activity, const ActivityOptions& options, std::int64_t number,
                   const std::string& text) override {
    return dw::activity<std::string>(activity, options, number, text);
  }
  std::string call_here(std::string_view activity, const LocalActivityOptions& options,
                        std::int64_t number, const std::string& text) override {
    const auto arguments = detail::arguments_of(number, text);
    return detail::result_as<std::string>(
        detail::steps().local_activity(activity, options, arguments), activity);
  }
  void sleep(std::chrono::seconds delay) override { dw::sleep(delay); }
  std::string roll() override { return dw::uuid4(); }
  std::string now() override { return format_timestamp(dw::now()); }
  std::string child(const Member& member) override {
    return dw::child<std::string>(member.type, options_of(member), *member.child);
  }
  std::vector<std::string> all(const std::vector<Member>& members) override {
    std::vector<std::string> results;
    for (const Payload& result : detail::steps().all(tree_of({.type = {}, .members = members}))) {
      results.push_back(detail::result_as<std::string>(result, "a member"));
    }
    return results;
  }
  std::string hear() override { return dw::await(word); }
  std::optional<std::string> hear(std::chrono::seconds timeout) override {
    return dw::await(word, timeout);
  }
  bool until(const std::function<bool()>& holds, const std::string& key,
             std::optional<std::chrono::seconds> timeout) override {
    return dw::await(holds, {.key = key, .definition = key, .timeout = timeout});
  }
  int version(std::string_view change) override {
    return dw::get_version(change, dw::default_version, 1);
  }
  void remember(const std::string& text) override {
    dw::upsert_memo(Value::Map{{"said", Value{text}}});
  }
  void whisper(const std::string& text) override {
    for (const ChildHandle& child : dw::children()) {
      child.signal(word, fmt::format("{}/{}/{}", child.call_id(), ++whispers_, text));
    }
  }
  [[noreturn]] void again(const Numbers& numbers) override { dw::continue_as_new(numbers); }

 private:
  int whispers_ = 0;

  static ChildOptions options_of(const Member& member) {
    return {.parent_close = member.policy,
            .max_attempts = member.attempts,
            .run_timeout = member.run_timeout};
  }
  static detail::CallTree tree_of(const Member& member) {
    detail::CallTree tree;
    for (const Member& inner : member.members) tree.members.push_back(tree_of(inner));
    if (member.barrier()) return tree;
    tree.leaf = true;
    tree.type = member.type;
    tree.child = member.child.has_value();
    if (tree.child) {
      tree.child_options = options_of(member);
      tree.arguments = detail::arguments_of(*member.child);
    } else {
      tree.activity_options = member.options;
      tree.arguments = detail::arguments_of(member.number, member.text);
    }
    return tree;
  }
};

template <Body body>
std::string durable(Numbers numbers) {
  DurableOps ops;
  return body(ops, numbers);
}

class Keeper {
 public:
  std::string handle(Numbers numbers) { return keeper(ops_, numbers); }
  std::int64_t add(std::int64_t amount, std::string text) { return ops_.account.add(amount, text); }
  std::string look() const { return ops_.account.look(); }

 private:
  DurableOps ops_;
};

struct WorkflowType {
  std::string_view type;
  Body body;
  std::string (*code)(Numbers);   // null for the one that is a class
  std::string (*older)(Numbers);  // what a deploy gone wrong knows under that name, if anything
};

template <Body body, Body older = body>
constexpr WorkflowType known(std::string_view type) {
  return {type, body, &durable<body>, &durable<older>};
}
// Missing in a deploy gone wrong.
template <Body body>
constexpr WorkflowType missed(std::string_view type) {
  return {type, body, &durable<body>, nullptr};
}

constexpr std::array workflow_types{
    known<single>("sim.single"),
    known<ten>("sim.ten"),
    known<naps>("sim.naps"),
    missed<dice>("sim.dice"),
    known<saga>("sim.saga"),
    missed<stubborn>("sim.stubborn"),
    known<hopeless>("sim.hopeless"),
    known<lost>("sim.lost"),
    known<patience>("sim.patience"),
    missed<script>("sim.script"),
    known<family>("sim.family"),
    known<crowd>("sim.crowd"),
    known<listener>("sim.listener"),
    missed<chain>("sim.chain"),
    WorkflowType{"sim.keeper", keeper, nullptr, nullptr},
    known<slow>("sim.slow"),
    known<patched<true>, patched<false>>("sim.patched"),
    known<unlucky>("sim.mishap"),
    // Twice, because most of what can go wrong between runs goes wrong with these.
    WorkflowType{"sim.keeper", keeper, nullptr, nullptr},
    known<crowd>("sim.crowd"),
};

}  // namespace

std::string digest(std::int64_t number, std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325 ^ static_cast<std::uint64_t>(number);
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return fmt::format("{:x}", hash);
}

std::int64_t Account::add(std::int64_t amount, const std::string& text) {
  log += text;
  if (amount < 0) {
    balance += 1'000'000;
    throw std::runtime_error{"no debts"};
  }
  return balance += amount;
}

std::string Account::look() const {
  return fmt::format("{} {}", balance, log);
}

Body find_body(std::string_view type) {
  const auto found = std::ranges::find(workflow_types, type, &WorkflowType::type);
  return found == workflow_types.end() ? nullptr : found->body;
}

Expected expected_of(std::string_view activity, std::int64_t number, const std::string& text) {
  if (activity == broken) return {true, broken_message(number)};
  if (activity == refused) return {true, refused_message(number)};
  if (activity == mishap) return {true, mishap_message(number)};
  return {false, digest(number, text)};
}

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
  registry.activity(std::string{sluggish}, [invoked](std::int64_t number, std::string text) {
    invoked();
    return digest(number, text);
  });
  registry.activity(std::string{beating}, [invoked](std::int64_t number, std::string text) {
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
  registry.activity(std::string{mishap},
                    [invoked](std::int64_t number, std::string) -> std::string {
                      invoked();
                      throw sim_world::Mishap{mishap_message(number)};
                    });
  if (complete) {
    registry.activity(std::string{flaky}, [invoked](std::int64_t number, std::string text) {
      if (invoked() <= number) throw std::runtime_error{"not yet"};
      return digest(number, text);
    });
    registry.exception<sim_world::Mishap>("sim.mishap");
    // What the other deploy wrote down without knowing a name for it.
    registry.exception_class_alias("sim_world::Mishap", "sim.mishap");
    registry.workflow<Keeper>("sim.keeper")
        .signal(word)
        .update("add", &Keeper::add, {"amount", "text"})
        .query("look", &Keeper::look);
  }
  for (const WorkflowType& workflow : workflow_types) {
    const auto code = complete ? workflow.code : workflow.older;
    if (code && !registry.find_workflow(workflow.type)) {
      registry.workflow(std::string{workflow.type}, code).signal(word);
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
      order.numbers.push_back(number(32 * 400));
  } else if (workflow.body == crowd) {
    order.numbers = {number(100), number(100)};
    for (auto members = random.below(5); members > 0; --members)
      order.numbers.push_back(number(1'000));
  } else if (workflow.body == listener) {
    order.numbers = {number(5), 1 + number(10), number(6)};
  } else if (workflow.body == chain) {
    order.numbers = {number(5), number(100)};
  } else if (workflow.body == keeper) {
    order.numbers = {number(100), number(100), number(3)};
  } else if (workflow.body == family) {
    order.numbers = {number(1'000), number(100), number(2)};
  } else {
    order.numbers = {number(100), number(100), number(100)};
  }
  if (random.below(16) == 0) order.run_timeout = 1 + number(3 * 86'400);
  order.hears = workflow.body == listener || workflow.body == chain || workflow.body == keeper ||
                (workflow.body == script && random.below(2) == 0);
  order.takes_updates = workflow.body == keeper;
  return order;
}

bool retried_for_ever(std::string_view activity_type) {
  return activity_type == flaky;
}

Duty duty_of(std::string_view activity_type, const Payload& arguments) {
  const auto decoded = detail::decode_arguments<std::tuple<std::int64_t, std::string>>(arguments);
  if (!decoded) return {};
  const std::int64_t number = std::get<0>(*decoded);
  if (activity_type == lossy) return {.to_lose = number};
  if (activity_type == sluggish) return {.to_drag = number};
  if (activity_type == beating) return {.to_drag = number, .beats = true};
  return {};
}

}  // namespace dw::sim
