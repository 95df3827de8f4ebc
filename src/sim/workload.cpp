#include "sim/workload.hpp"

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

using namespace std::chrono_literals;

constexpr std::string_view tell = "sim.tell";          // always answers
constexpr std::string_view flaky = "sim.flaky";        // fails the first n times
constexpr std::string_view broken = "sim.broken";      // always fails
constexpr std::string_view refused = "sim.refused";    // says that trying again is of no use
constexpr std::string_view lossy = "sim.lossy";        // its first n attempts are lost
constexpr std::string_view sluggish = "sim.sluggish";  // its first n attempts answer far too late
constexpr std::string_view beating = "sim.beating";    // likewise, and they give signs of life
constexpr std::string_view mishap = "sim.mishap";      // fails with an exception of its own

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
    return {.parent_close = member.policy, .run_timeout = member.run_timeout};
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

// ---- the workflows

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

// Whom workflows here start as children: types that end by themselves.
Member relative(std::int64_t number, int depth) {
  Member member;
  const std::int64_t detail = number / 8;
  member.policy = static_cast<ParentClose>(detail % 3);
  switch (number % 8) {
    case 0:
      member.type = "sim.single";
      member.child = Numbers{detail};
      break;
    case 1:
      member.type = "sim.listener";
      member.child = Numbers{detail % 3, 1 + detail % 9, 0};
      break;
    case 2:
      member.type = "sim.chain";
      member.child = Numbers{detail % 4, detail};
      break;
    case 3:
      member.type = "sim.hopeless";
      member.child = Numbers{detail, detail / 2};
      break;
    case 4:
      member.type = "sim.dice";
      member.child = Numbers{detail};
      break;
    case 5:
      member.type = "sim.patience";
      member.child = Numbers{detail, detail % 20};
      member.run_timeout = std::chrono::seconds{1 + detail % 15};
      break;
    case 6:
      member.type = depth > 0 ? "sim.family" : "sim.naps";
      member.child = Numbers{detail % 5, detail / 5, 0};
      break;
    default:
      member.type = "sim.mishap";
      member.child = Numbers{detail};
      break;
  }
  return member;
}

std::string family(Ops& ops, const Numbers& n) {
  std::string text = "family";
  try {
    text = ops.child(relative(n[0], static_cast<int>(n[2])));
  } catch (const ChildError& error) {
    text = ops.call(tell, 1, error.closed_reason() + error.message());
    if (n[1] % 4 == 0) throw;
  }
  return ops.call(tell, n[1], text + ops.now());
}

Member member_of(std::int64_t number, const std::string& text) {
  const std::int64_t detail = number / 8;
  switch (number % 8) {
    case 0:
      return {.type = broken, .number = detail, .text = text};
    case 1:
      return {.type = flaky, .number = detail % 3, .text = text, .options = for_ever};
    case 2:
      return {.type = refused, .number = detail, .text = text, .options = {.max_attempts = 3}};
    case 3:
    case 4:
      return {.type = tell, .number = detail, .text = text};
    case 5:
      return {.type = {},
              .members = {{.type = tell, .number = detail, .text = text},
                          relative(detail, 0),
                          {.type = {}, .members = {{.type = tell, .number = 1, .text = text}}}}};
    default:
      return relative(detail, 0);
  }
}

// A barrier. When it fails some of its members are still under way: they are told, and some are
// left behind.
std::string crowd(Ops& ops, const Numbers& n) {
  std::string text = "crowd";
  std::vector<Member> members;
  for (std::size_t i = 2; i < n.size(); ++i) members.push_back(member_of(n[i], text));
  try {
    for (const std::string& result : ops.all(members)) text = digest(1, text + result);
  } catch (const ActivityError& error) {
    text = error.message();
  } catch (const ChildError& error) {
    text = error.closed_reason() + error.message();
  }
  ops.whisper("psst");
  text = ops.call(tell, n[0], text + ops.now());
  ops.whisper("hush");
  if (n[0] % 3 == 0) ops.sleep(std::chrono::seconds{n[1] % 20});
  if (n[0] % 3 == 1 && n.size() > 2) ops.again({n[0], n[1]});
  return text;
}

std::string listener(Ops& ops, const Numbers& n) {
  std::string text = "listener";
  for (std::int64_t i = 0; i <= n[0]; ++i) {
    if (n[2] % 2 == 1) {
      text = digest(i, text + ops.hear());
    } else {
      const auto heard = ops.hear(std::chrono::seconds{n[1]});
      text = digest(i, text + heard.value_or(ops.now()));
    }
    if (n[2] % 3 == 2) text = ops.call(tell, i, text);
  }
  return text;
}

std::string chain(Ops& ops, const Numbers& n) {
  std::string text = ops.call(tell, n[1], "chain");
  for (std::int64_t i = n[1] % 3; i > 0; --i) text += ops.hear(2s).value_or("nothing");
  ops.remember(text);
  if (n[0] > 0) ops.again({n[0] - 1, n[1] + 1});
  return digest(n[1], text);
}

// Others change the balance while it stands at its steps. It waits for money, for words, and for
// work; it fails to get some, and some it outgrows.
std::string keeper(Ops& ops, const Numbers& n) {
  Account& account = ops.account;
  account.log = "open";
  for (std::int64_t i = 0; i <= n[0] % 5; ++i) {
    const std::int64_t wanted = account.balance + 1 + n[1] % 12;
    const auto enough = [&] { return account.balance >= wanted; };
    switch ((n[0] / 5 + i) % 6) {
      case 0:
        account.log += ops.until(enough, fmt::format("wanted-{}", wanted), 60s) ? "+" : "?";
        break;
      case 1:
        account.log += ops.until(enough, "soon", 4s) ? "+" : "-";
        break;
      case 2:
        account.log += ops.hear(3s).value_or("quiet");
        break;
      case 3:
        try {
          ops.all({{.type = tell, .number = i, .text = account.log},
                   {.type = sluggish, .number = 1, .text = "late", .options = for_ever},
                   {.type = refused, .number = i, .text = account.log}});
        } catch (const ActivityError& error) {
          account.log += error.message();
        }
        break;
      case 4:
        ops.sleep(2s);
        break;
      default:
        account.log += ops.hear();
        break;
    }
    account.log = ops.call(tell, account.balance, digest(account.balance, account.log));
  }
  if (n[2] > 0) ops.again({n[0], n[1], n[2] - 1});
  return digest(account.balance, account.log);
}

std::string slow(Ops& ops, const Numbers& n) {
  std::string text = "slow";
  const auto seconds = [&](std::int64_t least) { return std::chrono::seconds{least + n[1] % 4}; };
  ActivityOptions options{.max_attempts = static_cast<int>(1 + n[0] % 3),
                          .backoff = std::vector{1s}};
  switch (n[0] % 4) {
    case 0:
      options.start_to_close = seconds(2);
      break;
    case 1:
      options.heartbeat = seconds(2);
      break;
    case 2:
      options.start_to_close = seconds(3);
      options.schedule_to_close = seconds(6);
      break;
    default:
      options.schedule_to_start = seconds(2);
      options.schedule_to_close = seconds(20);
      break;
  }
  try {
    text = ops.call(n[1] % 2 == 0 ? sluggish : beating, options, n[2] % 4, text);
  } catch (const ActivityError& error) {
    text = ops.call(tell, 1, error.message());
    if (n[1] % 3 == 0) throw;
  }
  return ops.call(tell, n[1], text);
}

// Newer and older code of one type: what the older one began, the newer one goes on with.
template <bool newer>
std::string patched(Ops& ops, const Numbers& n) {
  std::string text = ops.call(tell, n[0], "patched");
  if (newer && ops.version("louder") == 1) text = ops.call(tell, 2, text + "!");
  ops.sleep(std::chrono::seconds{n[0] % 10});
  return ops.call(tell, 3, text);
}

std::string unlucky(Ops& ops, const Numbers& n) {
  std::string text = ops.roll();
  try {
    text = ops.call(mishap, {.max_attempts = static_cast<int>(1 + n[0] % 2)}, n[0], text);
  } catch (const ActivityError& error) {
    if (n[0] % 3 == 0) throw;
    text += error.message();
  }
  return ops.call(tell, 1, text);
}

// Takes its steps from its arguments: what no type above thought of.
std::string script(Ops& ops, const Numbers& n) {
  std::string text = "script";
  for (std::size_t at = 0; at < n.size(); ++at) {
    const std::int64_t number = n[at];
    const std::int64_t detail = number / 32;
    try {
      switch (number % 32) {
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
        case 10:
        case 11:
          text = ops.child(relative(detail, 0));
          break;
        case 12:
        case 13:
        case 14:
          for (const auto& result : ops.all({member_of(detail, text), member_of(detail / 3, text),
                                             member_of(detail / 7, text)})) {
            text += result;
          }
          break;
        case 15:
        case 16:
          text += ops.hear(std::chrono::seconds{detail % 6}).value_or("nothing");
          break;
        case 17:
          text += std::to_string(ops.version(fmt::format("change-{}", detail % 3)));
          break;
        case 18:
          ops.remember(text);
          break;
        case 19:
          ops.again(Numbers{n.begin() + static_cast<std::ptrdiff_t>(at) + 1, n.end()});
          break;
        case 20:
          text = ops.call(sluggish, {.max_attempts = 2, .start_to_close = 3s}, detail % 3, text);
          break;
        case 21:
          text = ops.call(beating, {.max_attempts = 2, .heartbeat = 4s}, detail % 3, text);
          break;
        case 22:
          ops.whisper(text.substr(0, 8));
          break;
        case 23:
          text += ops.until([] { return true; }, "yes", {}) ? "yes" : "no";
          break;
        case 24:
          text += ops.until([] { return false; }, "never", std::chrono::seconds{detail % 3}) ? "yes"
                                                                                             : "no";
          break;
        case 25:
          text = ops.call(mishap, detail, text);
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
    } catch (const ChildError& error) {
      text = ops.call(tell, detail, error.closed_reason() + error.message());
      if (detail % 7 == 0) throw;
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
