#include "told.hpp"

#include "interpreter.hpp"
#include "shape.hpp"

#include <fmt/format.h>

#include <map>
#include <set>

namespace dw::random_programs {
namespace {

using namespace std::chrono_literals;
using testing::Environment;
using testing::Options;

constexpr auto two_years = 24h * 730;

// The world that activities change. It outlives every process, as other people's systems do.
class World {
 public:
  World(const Program& program, const Options& options)
      : program_(program), env_(registry(), options) {
    reset_outside();
    env_.stub(echo, [](const std::string& text) { return text; });
    env_.stub(flaky, [this](const std::string& text, int failures) {
      if (failed_[key()]++ < failures) throw std::runtime_error{text + " is not there yet"};
      return text;
    });
    env_.stub(refused,
              [](const std::string& text, int refusal) -> std::string { refuse(refusal, text); });
    env_.stub(overdue, [](const std::string& text) { return text; }).takes(24h);
    env_.stub(post, [this](const std::string& instance, const std::string& name, int number) {
      return once([&] { return send(instance, name, number); });
    });
    env_.stub(deposit, [this](const std::string& instance, int amount) {
      return once([&] { return put(instance, amount); });
    });
    env_.stub(check, [this](const std::string& place, const std::string& secret) {
      return std::string{secrets_.emplace(place, secret).first->second == secret ? "same" : "torn"};
    });
    env_.stub(careless, [this](const std::string& instance) { send(instance, "bell", 1); });
  }

  Told tell() {
    Told told;
    told.ending = run(told.heard);
    // Whoever was left behind comes to rest as well.
    env_.advance(two_years);
    told.histories = env_.histories();
    told.shape = shape_of(told.histories, !program_.patient);
    std::set<std::string> keys;
    for (const auto& call : env_.calls()) keys.insert(call.idempotency_key);
    told.calls = env_.calls().size();
    told.executions = keys.size();
    told.crashes = env_.crashes();
    return told;
  }

 private:
  std::string run(std::vector<std::string>& heard) {
    Job job{.body = program_.body, .patient = program_.patient};
    // It is still there when its client speaks.
    if (program_.patient) job.body.insert(job.body.begin(), {.kind = Kind::nap, .number = 1});
    const Timestamp begin = env_.now();
    auto root = start(job);
    for (const Move& move : program_.moves) {
      if (!program_.patient) {
        const auto at = begin + std::chrono::seconds{move.second} + 500ms;
        if (at > env_.now()) env_.advance(at - env_.now());
      }
      heard.push_back(act(move));
    }
    try {
      return root.result();
    } catch (const WorkflowError& error) {
      return fmt::format("{} {} {}", error.closed_reason(), error.exception_class(),
                         error.message());
    } catch (const testing::Stuck&) {
      return "stuck";
    }
  }

  testing::Handle<std::string> start(const Job& job) {
    if (!program_.starts_with_signal) return env_.start<Interpreter>({.id = "root"}, job);
    return env_.start_with(dw::send(bell, 0), branch, {.id = "root"}, job);
  }

  std::string act(const Move& move) {
    const std::string target = move.child.empty() ? "root" : move.child;
    switch (move.deed) {
      case Deed::signal:
        return send(target, move.name, move.number);
      case Deed::deposit:
        return put(target, move.number);
      case Deed::ask:
        return answered([&] { return env_.attach(target).query<std::string>("tale"); });
      case Deed::nonsense:
        return answered([&] { return nonsense(env_.attach(target), move.number); });
      case Deed::start_again:
        return answered([&] {
          env_.start<Interpreter>({.id = "root"}, Job{});
          return std::string{"started"};
        });
      case Deed::cancel:
        return answered([&] { return to_text(env_.attach(target).cancel(move.name)); });
      case Deed::terminate:
        return answered([&] { return to_text(env_.attach(target).terminate(move.name)); });
    }
    return {};
  }

  static std::string nonsense(testing::WorkflowHandle handle, int number) {
    if (number % 3 == 0) return to_text(handle.signal(Signal<int>{"gong"}, number));
    if (number % 3 == 1) return to_text(handle.signal(Signal<std::string>{"bell"}, "ding"));
    handle.update("withdraw", number);
    return "withdrawn";
  }

  std::string send(const std::string& instance, const std::string& name, int number) {
    return answered(
        [&] { return to_text(env_.attach(instance).signal(Signal<int>{name}, number)); });
  }
  std::string put(const std::string& instance, int amount) {
    return answered(
        [&] { return std::to_string(env_.attach(instance).update<int>("deposit", amount)); });
  }

  static std::string to_text(const CommandReply& reply) {
    return reply.outcome + reply.rejection_reason;
  }
  template <typename F>
  static std::string answered(const F& ask) {
    try {
      return ask();
    } catch (const UpdateError& error) {
      return error.reason();
    } catch (const EngineError& error) {
      return std::string{to_string(error.code())};
    }
  }

  // What a careful activity does: whoever asks again with the same key gets the first answer.
  template <typename F>
  std::string once(const F& act) {
    const auto found = answers_.find(key());
    if (found != answers_.end()) return found->second;
    const std::string mine = key();
    return answers_[mine] = act();
  }
  static std::string key() { return activity_info().idempotency_key; }

  const Program& program_;
  Environment env_;
  std::map<std::string, int> failed_;
  std::map<std::string, std::string> answers_, secrets_;
};

}  // namespace

Told tell(const Program& program, const Options& options) {
  return World{program, options}.tell();
}

std::string difference(const Told& calm, const Told& other) {
  const auto differ = [](std::string_view what, const std::string& a, const std::string& b) {
    return fmt::format("{}\n  in peace: {}\n  then:     {}\n", what, a, b);
  };
  if (calm.ending != other.ending) return differ("another ending", calm.ending, other.ending);
  for (std::size_t i = 0; i < calm.heard.size(); ++i) {
    if (calm.heard[i] == other.heard[i]) continue;
    return differ(fmt::format("another answer to move {}", i + 1), calm.heard[i], other.heard[i]);
  }
  std::string path;
  for (std::size_t i = 0; i < std::max(calm.shape.size(), other.shape.size()); ++i) {
    const std::string here = i < calm.shape.size() ? calm.shape[i] : "nothing";
    const std::string there = i < other.shape.size() ? other.shape[i] : "nothing";
    if (here != there) return differ("another history of " + path, here, there);
    if (!here.starts_with(' ')) path = here;
  }
  return {};
}

std::string misfit(const Told& told) {
  Registry code = registry();
  code.freeze();
  for (const auto& history : told.histories) {
    const auto report = testing::replay(std::as_const(code), history);
    if (!report.ok()) return report.message();
  }
  return {};
}

}  // namespace dw::random_programs
