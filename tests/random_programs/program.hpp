// A workflow nobody wrote: a small tree of statements, drawn from a seed together with what its
// client does. One registered workflow type interprets it (interpreter.hpp).
#pragma once
#include <boost/describe.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace dw::random_programs {

// clang-format off
BOOST_DEFINE_ENUM_CLASS(Kind,
  echo,        // an activity that answers with `name`; `limit`: seconds for one attempt
  flaky,       // one that fails `number` times before it answers
  near,        // like flaky, but a local activity
  refused,     // one that fails for good; `number`: Refusal
  overdue,     // one that is never done within its time
  nap,         // sleeps `number` seconds
  clock,       // looks at dw::now()
  effect,      // a random side effect, checked by an activity before and after `body`
  version,     // get_version of change `name` up to `number`
  memo,        // upserts
  attributes,
  all,         // a barrier of `body`; `number`: its form; `vague`: several may fail
  child,       // a workflow that runs `body`; `number`: its close policy; `limit`: its run timeout
  async,       // a piece of code that runs `body`
  post,        // an activity that sends signal `name` with `number` to this workflow
  post_up,     // the same to its parent
  hear,        // awaits signal `name`, for `limit` seconds if that is not 0
  deposit,     // an activity that puts `number` on this workflow's account, by an update
  deposit_up,  // the same for its parent
  until,       // awaits `number` more on the account, for `limit` seconds if that is not 0
  attempt,     // runs `body`, catches what it throws
  saga,        // runs `body`; if that throws, `undo`; then throws it again if `number` is 1
  fail,        // throws; `number`: Refusal
  whisper,     // signals the child with the id `name`, which a failed barrier left behind
  again,       // continues as new, with `body`
  cheat)       // what nobody should do, as `name` says; only planted
// clang-format on

// How something fails.
enum Refusal { worn_out, for_good, as_mishap, refusals };

struct Statement {
  Kind kind = Kind::echo;
  std::string name = {};
  int number = 0;
  int limit = 0;
  bool vague = false;
  std::vector<Statement> body = {};
  std::vector<Statement> undo = {};
};
BOOST_DESCRIBE_STRUCT(Statement, (), (kind, name, number, limit, vague, body, undo))

// clang-format off
BOOST_DEFINE_ENUM_CLASS(Deed,
  signal,      // `name` with `number`
  deposit,     // an update; a negative `number` makes its body throw
  ask,         // a query
  nonsense,    // what was never declared, or has the wrong arguments
  start_again,
  cancel,
  terminate)
// clang-format on

// What the client does half a second after `second`: never at the moment of a timer.
struct Move {
  int second = 0;
  Deed deed = Deed::ask;
  std::string name = {};
  int number = 0;
  std::string child = {};  // the instance id it goes to; empty: the root
};

struct Program {
  std::uint64_t seed = 0;
  // Nothing it does depends on how long an activity took: it may be given faults that cost time.
  // The others may depend on it, and are given faults that cost none.
  bool patient = false;
  bool starts_with_signal = false;  // then it is a plain function, without an account
  std::vector<Statement> body = {};
  std::vector<Move> moves = {};  // in order of time
};

Program draw(std::uint64_t seed);

// For people.
std::string shown(const Program& program);

// Programs with one statement or one move less.
std::vector<Program> smaller(const Program& program);

}  // namespace dw::random_programs
