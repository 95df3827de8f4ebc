#include "sim/bodies.hpp"

#include <fmt/format.h>

namespace dw::sim::bodies {

using namespace std::chrono_literals;

namespace {

const ActivityOptions for_ever{.max_attempts = 0, .backoff = std::vector{1s, 2s, 5s}};
const LocalActivityOptions for_ever_here{.max_attempts = 0, .backoff = std::vector{1s, 2s}};

}  // namespace

std::string single(Ops& ops, const Numbers& n) {
  return ops.call(tell, n[0], "single");
}

std::string ten(Ops& ops, const Numbers& n) {
  std::string text = "ten";
  for (int i = 0; i < 10; ++i) {
    text = i % 2 == 0 ? ops.call(tell, n[0] + i, text) : ops.call_here(tell, {}, n[0] + i, text);
  }
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
         ops.call_here(flaky, for_ever_here, n[1] % 3, "on");
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

namespace {

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
      member.attempts = static_cast<int>(1 + detail % 3);
      break;
    case 4:
      member.type = "sim.dice";
      member.child = Numbers{detail};
      break;
    case 5:
      member.type = "sim.patience";
      member.child = Numbers{detail, detail % 20};
      member.run_timeout = std::chrono::seconds{1 + detail % 15};
      member.attempts = static_cast<int>(1 + detail % 2);
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

}  // namespace

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

namespace {

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

}  // namespace

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

template <bool newer>
std::string patched(Ops& ops, const Numbers& n) {
  std::string text = ops.call(tell, n[0], "patched");
  if (newer && ops.version("louder") == 1) text = ops.call(tell, 2, text + "!");
  ops.sleep(std::chrono::seconds{n[0] % 10});
  return ops.call(tell, 3, text);
}
template std::string patched<true>(Ops&, const Numbers&);
template std::string patched<false>(Ops&, const Numbers&);

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
          text = detail % 2 == 0 ? ops.call(lossy, detail % 3, text)
                                 : ops.call_here(lossy, {}, detail % 3, text);
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
          text =
              detail % 2 == 0
                  ? ops.call(sluggish, {.max_attempts = 2, .start_to_close = 3s}, detail % 3, text)
                  : ops.call_here(sluggish, {.max_attempts = 2, .start_to_close = 3s}, detail % 3,
                                  text);
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

}  // namespace dw::sim::bodies
