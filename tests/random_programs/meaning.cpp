#include "meaning.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <deque>
#include <map>
#include <optional>

namespace dw::random_programs {
namespace {

// A failure on its way up, as whoever catches it describes it.
struct Thrown {
  std::string by;  // "random.refused random.mishap"; empty: thrown by the code itself
  std::string exception_class;
  std::string message;

  std::string described() const { return by.empty() ? message : fmt::format("{} {}", by, message); }
};

Thrown refusal(std::string by, const Statement& statement) {
  switch (statement.number) {
    case for_good:
      return {by, "dw::NonRetryableError", statement.name + " is over"};
    case as_mishap:
      return {by.empty() ? by : by + "random.mishap", "dw::random_programs::Mishap",
              statement.name + " is a mishap"};
    default:
      return {by, "std::runtime_error", statement.name + " is broken"};
  }
}

class Meaning {
 public:
  explicit Meaning(Meaning* parent) : parent_(parent) {}

  std::deque<int>& mail(const std::string& signal) { return mail_[signal]; }

  std::string run(const std::vector<Statement>& body) {
    sequence(body);
    return fmt::format("{}({})", tale_, balance_);
  }

 private:
  void say(const Statement& statement, const std::string& what) {
    tale_ += fmt::format("{}{}={} ", boost::describe::enum_to_string(statement.kind, "?"),
                         statement.name, what);
  }

  void sequence(const std::vector<Statement>& body) {
    for (const Statement& statement : body) step(statement);
  }

  void step(const Statement& statement) {
    const int number = statement.number;
    switch (statement.kind) {
      case Kind::echo:
      case Kind::flaky:
      case Kind::near:
      case Kind::refused:
        return say(statement, member(statement));
      case Kind::overdue:
        throw Thrown{"random.overdue timeout", "", ""};
      case Kind::effect:
        say(statement, "same");
        sequence(statement.body);
        return say(statement, "same");
      case Kind::version:
        return say(statement, std::to_string(number));
      case Kind::all:
        return all(statement);
      case Kind::child:
        if (statement.limit > 0) throw Thrown{"random.program timed_out", "", ""};
        return say(statement, below("random.program", statement));
      case Kind::async:
        return say(statement, below("durable-workflow.async", statement));
      case Kind::post:
      case Kind::post_up:
        (statement.kind == Kind::post ? *this : *parent_).mail("letter").push_back(number);
        return say(statement, "signal_received");
      case Kind::deposit:
      case Kind::deposit_up:
        return say(statement, (statement.kind == Kind::deposit ? *this : *parent_).add(number));
      case Kind::hear:
        return hear(statement);
      case Kind::until:
        return say(statement,
                   fmt::format("{} with {}", number <= 0 ? "enough" : "too late", balance_));
      case Kind::attempt:
        try {
          return sequence(statement.body);
        } catch (const Thrown& thrown) {
          return say(statement, thrown.described());
        }
      case Kind::saga:
        return saga(statement);
      case Kind::fail:
        throw refusal("", statement);
      case Kind::whisper:
        return say(statement, "psst");
      case Kind::again:
        tale_ += "again ";
        return sequence(statement.body);
      case Kind::nap:
      case Kind::clock:
      case Kind::memo:
      case Kind::attributes:
      case Kind::cheat:
        return;
    }
  }

  std::string member(const Statement& statement) {
    if (statement.kind == Kind::refused) throw refusal("random.refused ", statement);
    return statement.kind == Kind::child ? below("random.branch", statement) : statement.name;
  }

  std::string below(std::string_view type, const Statement& statement) {
    Meaning child{this};
    try {
      return child.run(statement.body);
    } catch (const Thrown& thrown) {
      throw Thrown{fmt::format("{} failed", type), thrown.exception_class, thrown.message};
    }
  }

  void all(const Statement& statement) {
    if (statement.vague) return say(statement, "some member failed");
    std::vector<std::string> results;
    for (const Statement& each : statement.body) results.push_back(member(each));
    say(statement, fmt::format("[{}]", fmt::join(results, ", ")));
  }

  void hear(const Statement& statement) {
    auto& waiting = mail(statement.name);
    if (waiting.empty()) return say(statement, "nothing");
    say(statement, std::to_string(waiting.front()));
    waiting.pop_front();
  }

  std::string add(int amount) {
    // An update never overtakes a signal.
    for (const auto& [signal, waiting] : mail_) {
      if (!waiting.empty()) return "earlier_signal_pending";
    }
    return amount < 0 ? "update_failed" : std::to_string(balance_ += amount);
  }

  void saga(const Statement& statement) {
    try {
      sequence(statement.body);
    } catch (const Thrown& thrown) {
      say(statement, thrown.described());
      sequence(statement.undo);
      if (statement.number == 1) throw;
      say(statement, "undone");
    }
  }

  Meaning* const parent_;
  std::string tale_;
  int balance_ = 0;
  std::map<std::string, std::deque<int>> mail_;
};

}  // namespace

std::string meaning_of(const Program& program) {
  Meaning root{nullptr};
  if (program.starts_with_signal) root.mail("bell").push_back(0);
  for (const Move& move : program.moves) root.mail(move.name).push_back(move.number);
  try {
    return root.run(program.body);
  } catch (const Thrown& thrown) {
    return fmt::format("failed {} {}", thrown.exception_class, thrown.message);
  }
}

}  // namespace dw::random_programs
