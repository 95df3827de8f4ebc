// Draws programs that must come to one end, whatever goes wrong. What would make the end depend on
// who is quicker stays out:
//
// - Clients act between two seconds, timers fire at whole ones, activities of a program to the
//   second take no time: no two things that could compete happen at one moment.
// - A patient program's client speaks at once or never, and its signals are of a name that nobody
//   else sends. Conditions and signals with a timeout are there at once or never.
// - Of a barrier one member may fail, or the program does not look which one did (`vague`).
// - Whoever is left behind by a failed barrier is asked for nothing any more, and outlives its
//   parent for certain (it sleeps for a year, or waits for a word) or is abandoned.
// - Wait without a timeout only for what was posted just before, unless there is a client to end
// it.
#include "core/random.hpp"
#include "program.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dw::random_programs {
namespace {

constexpr int a_year = 31'536'000;

// What statements may do where they stand.
struct Scope {
  int depth = 0;
  bool may_fail = true;       // somebody catches it, or the run may fail
  bool hears = true;          // its workflow declares signals
  bool has_account = true;    // its workflow declares updates
  bool parent_hears = false;  // it has a parent that waits for it alone
  bool parent_has_account = false;
};

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {
    program_.seed = seed;
    program_.patient = one_in(2);
    program_.starts_with_signal = one_in(5);
  }

  Program make() {
    program_.body = workflow({.has_account = !program_.starts_with_signal});
    program_.patient ? speak_at_once() : act_over_time();
    return std::move(program_);
  }

 private:
  using Body = std::vector<Statement>;

  int below(int bound) {
    return static_cast<int>(random_.below(static_cast<std::uint64_t>(bound)));
  }
  bool one_in(int n) { return below(n) == 0; }
  std::string label(std::string_view kind) { return fmt::format("{}{}", kind, ++labels_); }

  // ---- statements

  // A workflow's whole body: it may continue as new where it ends.
  Body workflow(const Scope& scope) {
    Body body = sequence(scope, 1 + below(scope.depth == 0 ? 6 : 3));
    if (scope.hears && one_in(scope.depth == 0 ? 4 : 6) && left_ > 0) {
      Scope next = scope;
      ++next.depth;
      body.push_back({.kind = Kind::again, .body = workflow(next)});
    }
    return body;
  }

  Body sequence(const Scope& scope, int length) {
    Body body;
    for (int i = 0; i < length && left_ > 0; ++i) add(body, scope);
    return body;
  }

  void add(Body& body, const Scope& scope) {
    --left_;
    switch (below(scope.depth < 3 ? 22 : 12)) {
      case 0:
        return body.push_back(echo());
      case 1:
        return body.push_back({.kind = Kind::near, .name = label("n"), .number = below(3)});
      case 2:
        return body.push_back(flaky());
      case 3:
        return add_failure(body, scope);
      case 4:
      case 5:
        return body.push_back({.kind = Kind::nap, .number = below(4) * below(4)});
      case 6:
        return body.push_back(remark());
      case 7:
      case 8:
        return add_hearing(body, scope);
      case 9:
        return add_waiting(body, scope);
      case 10:
        return add_word_up(body, scope);
      case 11:
        if (!program_.patient) return body.push_back({.kind = Kind::clock});
        return body.push_back(echo());
      case 12:
        return body.push_back(
            {.kind = Kind::effect, .body = sequence(deeper(scope), 1 + below(2))});
      case 13:
      case 14:
        return body.push_back(barrier(scope));
      case 15:
        return add_vague_barrier(body, scope);
      case 16:
      case 17:
        return body.push_back(child(scope));
      case 18:
        return body.push_back(async(scope));
      case 19:
      case 20:
        return body.push_back(
            {.kind = Kind::attempt, .body = sequence(caught(scope), 1 + below(3))});
      default:
        return body.push_back(saga(scope));
    }
  }

  static Scope deeper(Scope scope) {
    ++scope.depth;
    return scope;
  }
  static Scope caught(Scope scope) {
    ++scope.depth;
    scope.may_fail = true;
    return scope;
  }
  static Scope safe(Scope scope) {
    ++scope.depth;
    scope.may_fail = false;
    return scope;
  }

  Statement echo() {
    Statement made{.kind = Kind::echo, .name = label("e")};
    if (program_.patient && one_in(3)) made.limit = 60;
    return made;
  }
  Statement flaky() { return {.kind = Kind::flaky, .name = label("f"), .number = 1 + below(3)}; }
  Statement refused() {
    return {.kind = Kind::refused, .name = label("r"), .number = below(refusals)};
  }
  Statement remark() {
    switch (below(3)) {
      case 0:
        return {.kind = Kind::memo, .name = label("m"), .number = below(3)};
      case 1:
        return {.kind = Kind::attributes, .name = label("s"), .number = below(3)};
      default:
        return {.kind = Kind::version, .name = label("v"), .number = 1 + below(3)};
    }
  }

  void add_failure(Body& body, const Scope& scope) {
    if (one_in(3)) {
      body.push_back({.kind = Kind::attempt, .body = {too_late()}});
    } else if (scope.may_fail && one_in(2)) {
      body.push_back(failure());
    } else {
      body.push_back({.kind = Kind::attempt, .body = {failure()}});
    }
  }
  Statement failure() {
    if (one_in(3)) return {.kind = Kind::fail, .name = label("x"), .number = below(refusals)};
    return refused();
  }
  Statement too_late() {
    if (program_.patient && one_in(2)) return {.kind = Kind::overdue, .name = label("o")};
    // Its time runs out long before its sleep ends.
    return {.kind = Kind::child, .limit = 7, .body = {{.kind = Kind::nap, .number = 50}, echo()}};
  }

  void add_hearing(Body& body, const Scope& scope) {
    if (!scope.hears) return body.push_back(echo());
    if (one_in(2)) {
      // A bell rings when the client rings it.
      return body.push_back({.kind = Kind::hear, .name = "bell", .limit = 1 + below(9)});
    }
    if (program_.patient || !one_in(4)) {
      body.push_back({.kind = Kind::post, .name = "letter", .number = below(100)});
    }
    body.push_back({.kind = Kind::hear, .name = "letter", .limit = one_in(3) ? 1 + below(9) : 0});
  }

  void add_waiting(Body& body, const Scope& scope) {
    if (!scope.has_account) return body.push_back(echo());
    const int amount = 1 + below(5);
    if (!one_in(3)) {
      body.push_back({.kind = Kind::deposit, .number = one_in(5) ? -amount : amount});
    }
    const bool bounded = program_.patient || !one_in(4);
    body.push_back({.kind = Kind::until,
                    .name = one_in(2) ? label("c") : "",
                    .number = below(6) - 2,
                    .limit = bounded ? 1 + below(9) : 0});
  }

  void add_word_up(Body& body, const Scope& scope) {
    if (scope.parent_hears && one_in(2)) {
      return body.push_back({.kind = Kind::post_up, .name = "letter", .number = below(100)});
    }
    if (scope.parent_has_account) {
      return body.push_back({.kind = Kind::deposit_up, .number = 1 + below(5)});
    }
    body.push_back(flaky());
  }

  Statement child(const Scope& scope) {
    Scope inner = deeper(scope);
    inner.parent_hears = scope.hears;
    inner.parent_has_account = scope.has_account;
    inner.hears = inner.has_account = true;
    Statement made{.kind = Kind::child, .number = below(3)};
    if (one_in(2)) children_.push_back(made.name = label("k"));
    made.body = workflow(inner);
    // It is there for a while, and the client knows its name.
    if (!made.name.empty()) made.body.insert(made.body.begin(), {.kind = Kind::nap, .number = 8});
    return made;
  }

  Statement async(const Scope& scope) {
    Scope inner = deeper(scope);
    inner.hears = inner.has_account = inner.parent_hears = inner.parent_has_account = false;
    return {.kind = Kind::async, .body = sequence(inner, 1 + below(3))};
  }

  Statement saga(const Scope& scope) {
    Statement made{.kind = Kind::saga, .number = scope.may_fail && one_in(2) ? 1 : 0};
    made.body = sequence(caught(scope), 1 + below(2));
    if (one_in(2)) made.body.push_back(refused());
    made.undo = sequence(safe(scope), 1 + below(2));
    return made;
  }

  // ---- barriers

  Statement member(const Scope& scope, bool may_fail) {
    Scope inner = may_fail ? caught(scope) : safe(scope);
    inner.hears = true;
    inner.has_account = inner.parent_hears = inner.parent_has_account = false;
    switch (below(may_fail ? 6 : 5)) {
      case 0:
      case 1:
        return echo();
      case 2:
        return flaky();
      case 3:
      case 4:
        return {.kind = Kind::child, .number = 0, .body = workflow(inner)};
      default:
        return refused();
    }
  }

  Statement barrier(const Scope& scope) {
    Statement made{.kind = Kind::all, .number = below(4)};
    const int size = 1 + below(4);
    const int weak = scope.may_fail && one_in(2) ? below(size) : -1;
    for (int i = 0; i < size; ++i) made.body.push_back(member(scope, i == weak));
    return made;
  }

  // One that fails for certain. Some of those it leaves behind are told so.
  void add_vague_barrier(Body& body, const Scope& scope) {
    Statement made{.kind = Kind::all, .number = below(4), .vague = true};
    const int size = below(3);
    for (int i = 0; i < size; ++i) made.body.push_back(member(scope, true));
    made.body.push_back(refused());
    std::string listener;
    if (one_in(2)) {
      listener = label("l");
      made.body.push_back({.kind = Kind::child,
                           .name = listener,
                           .number = below(3),
                           .body = {{.kind = Kind::hear, .name = "word"}, echo()}});
    }
    if (one_in(3)) {
      made.body.push_back({.kind = Kind::child,
                           .number = below(3),
                           .body = {{.kind = Kind::nap, .number = a_year}, echo()}});
    }
    std::rotate(made.body.begin(), made.body.begin() + below(static_cast<int>(made.body.size())),
                made.body.end());
    // It goes on when it has been told, and then nobody may end it at that very moment.
    const bool told = !listener.empty() && one_in(2);
    for (Statement& left : made.body) {
      if (told && left.name == listener) left.number = 0;
    }
    body.push_back(std::move(made));
    if (told) body.push_back({.kind = Kind::whisper, .name = listener, .number = below(100)});
  }

  // ---- the client

  void speak_at_once() {
    for (int i = below(3); i > 0; --i) {
      program_.moves.push_back({.deed = Deed::signal, .name = "bell", .number = below(100)});
    }
  }

  void act_over_time() {
    int second = 0;
    for (int i = below(6); i > 0; --i) {
      second += below(5);
      program_.moves.push_back(move(second));
    }
    if (!children_.empty() && one_in(2)) {
      program_.moves.push_back({.second = below(8),
                                .deed = one_in(2) ? Deed::cancel : Deed::terminate,
                                .name = "not you",
                                .child = children_.front()});
      std::ranges::stable_sort(program_.moves, {}, &Move::second);
      second = std::max(second, 8);
    }
    // Nobody waits for ever.
    program_.moves.push_back({.second = second + 60,
                              .deed = one_in(2) ? Deed::cancel : Deed::terminate,
                              .name = "enough"});
  }

  Move move(int second) {
    Move made{.second = second, .number = below(100)};
    switch (below(12)) {
      case 0:
      case 1:
      case 2:
        made.deed = Deed::signal;
        made.name = one_in(2) ? "bell" : "letter";
        made.child = whom();
        break;
      case 3:
      case 4:
        made.deed = Deed::deposit;
        made.number = below(8) - 1;
        break;
      case 5:
      case 6:
        made.deed = Deed::ask;
        break;
      case 7:
        made.deed = Deed::nonsense;
        break;
      case 8:
        made.deed = Deed::start_again;
        break;
      default:
        made.deed = one_in(2) ? Deed::cancel : Deed::terminate;
        made.name = "no more";
        made.child = whom();
        break;
    }
    return made;
  }

  std::string whom() {
    return children_.empty() || one_in(4) ? "" : children_[random_.below(children_.size())];
  }

  SeededRandom random_;
  Program program_;
  int left_ = 24;  // statements in all
  int labels_ = 0;
  std::vector<std::string> children_;  // those with an id of their own
};

}  // namespace

Program draw(std::uint64_t seed) {
  return Draw{seed}.make();
}

}  // namespace dw::random_programs
