#include "interpreter.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace dw::random_programs {
namespace {

using namespace std::chrono_literals;

// Calls `handle` with a description while the exception is in hand, so that it may throw it again.
// What ran out of time says when, and that is left out.
// Not `...`: an abandoned fiber leaves by an exception as well.
template <typename Body, typename Handle>
void guarded(const Body& body, const Handle& handle) {
  try {
    body();
  } catch (const ActivityError& error) {
    handle(fmt::format("{} {} {}", error.activity_type(), error.exception_type(),
                       error.exception_type() == "timeout" ? "" : error.message()));
  } catch (const ChildError& error) {
    handle(fmt::format("{} {} {}", error.workflow_type(), error.closed_reason(),
                       error.closed_reason() == "timed_out" ? "" : error.message()));
  } catch (const std::exception& error) {
    handle(error.what());
  }
}

void collect(std::vector<std::string>& list, const std::string& result) {
  list.push_back(result);
}
template <typename... T>
void collect(std::vector<std::string>& list, const std::tuple<T...>& results) {
  std::apply([&](const auto&... result) { (collect(list, result), ...); }, results);
}

template <typename... M>
std::vector<std::string> results_of(M... members) {
  std::vector<std::string> list;
  collect(list, dw::all(std::move(members)...));
  return list;
}

// A barrier of these, in one of the forms that fit their number.
std::vector<std::string> run_barrier(const std::vector<Call<std::string>>& c, int form) {
  const bool other = form % 2 == 1;
  switch (form == 0 ? 0 : c.size()) {
    case 1:
      return results_of(group(c[0]));
    case 2:
      return other ? results_of(c[0], c[1]) : results_of(c[0], group(c[1]));
    case 3:
      return other ? results_of(c[0], group(c[1], c[2])) : results_of(group(c[0], c[1]), c[2]);
    case 4:
      return other ? results_of(group(c[0], c[1]), group(c[2], c[3]))
                   : results_of(c[0], group(c[1], group(c[2], c[3])));
    default:
      return dw::all(c);
  }
}

[[noreturn]] void called_for_real() {
  throw std::logic_error{"an activity that should have been stubbed"};
}

}  // namespace

void refuse(int refusal, const std::string& text) {
  switch (refusal) {
    case for_good:
      throw NonRetryableError{text + " is over"};
    case as_mishap:
      throw Mishap{text + " is a mishap"};
    default:
      throw std::runtime_error{text + " is broken"};
  }
}

std::string echo(std::string) {
  called_for_real();
}
std::string flaky(std::string, int) {
  called_for_real();
}
std::string refused(std::string, int) {
  called_for_real();
}
std::string overdue(std::string) {
  called_for_real();
}
std::string post(std::string, std::string, int) {
  called_for_real();
}
std::string deposit(std::string, int) {
  called_for_real();
}
std::string check(std::string, std::string) {
  called_for_real();
}

void careless(std::string) {
  called_for_real();
}

std::string Interpreter::handle(Job job) {
  patient_ = job.patient;
  parent_ = std::move(job.parent);
  tale_ = std::move(job.tale);
  balance_ = job.balance;
  run(job.body);
  return fmt::format("{}({})", tale_, balance_);
}

int Interpreter::add(int amount) {
  if (amount < 0) throw std::invalid_argument{"nobody takes anything from this account"};
  return balance_ += amount;
}

void Interpreter::say(const Statement& statement, const std::string& what) {
  tale_ += fmt::format("{}{}={} ", boost::describe::enum_to_string(statement.kind, "?"),
                       statement.name, what);
}

void Interpreter::run(const std::vector<Statement>& body) {
  for (const Statement& statement : body) run(statement);
}

void Interpreter::run(const Statement& statement) {
  switch (statement.kind) {
    case Kind::echo:
    case Kind::flaky:
    case Kind::near:
    case Kind::refused:
    case Kind::overdue:
    case Kind::post:
    case Kind::post_up:
    case Kind::deposit:
    case Kind::deposit_up:
      return work(statement);
    case Kind::nap:
      return dw::sleep(std::chrono::seconds{statement.number});
    case Kind::clock:
      return say(statement, format_timestamp(now()));
    case Kind::effect:
      return effect(statement);
    case Kind::version:
      return say(statement,
                 std::to_string(get_version(statement.name, default_version, statement.number)));
    case Kind::memo:
      return upsert_memo(Value::Map{{statement.name, statement.number}, {"last", statement.name}});
    case Kind::attributes:
      return upsert_search_attributes(Value::Map{{statement.name, statement.number}});
    case Kind::all:
      return all(statement);
    case Kind::child: {
      ChildOptions options{.id = statement.name,
                           .parent_close = static_cast<ParentClose>(statement.number)};
      if (statement.limit > 0) options.run_timeout = std::chrono::seconds{statement.limit};
      return say(statement, child<std::string>("random.program", options, job_for(statement)));
    }
    case Kind::async:
      return say(statement, async(piece, job_for(statement)));
    case Kind::hear:
      return hear(statement);
    case Kind::until:
      return until(statement);
    case Kind::attempt:
      return guarded([&] { run(statement.body); },
                     [&](const std::string& why) { say(statement, why); });
    case Kind::saga:
      return saga(statement);
    case Kind::fail:
      refuse(statement.number, statement.name);
    case Kind::whisper:
      return whisper(statement);
    case Kind::again:
      again(statement);
    case Kind::cheat:
      return cheat(statement);
  }
}

ActivityOptions Interpreter::options_for(const Statement& statement) const {
  // How many attempts it takes may change, so where time counts they cost none.
  ActivityOptions options{.backoff = std::vector{patient_ ? 2s : 0s}};
  switch (statement.kind) {
    case Kind::refused:
      options.max_attempts = 3;
      break;
    case Kind::overdue:
      options.max_attempts = 2;
      options.start_to_close = 60s;
      break;
    default:
      options.max_attempts = 0;
      break;
  }
  if (statement.limit > 0) options.start_to_close = std::chrono::seconds{statement.limit};
  return options;
}

void Interpreter::work(const Statement& statement) {
  const auto options = options_for(statement);
  const auto& [kind, name, number, limit, vague, body, undo] = statement;
  const bool up = kind == Kind::post_up || kind == Kind::deposit_up;
  const std::string& whom = up ? parent_ : instance_id();
  switch (kind) {
    case Kind::flaky:
      return say(statement, activity(flaky, options, name, number));
    case Kind::near:
      return say(statement, local_activity(flaky, {.max_attempts = 0, .backoff = options.backoff},
                                           name, number));
    case Kind::refused:
      return say(statement, activity(refused, options, name, number));
    case Kind::overdue:
      return say(statement, activity(overdue, options, name));
    case Kind::post:
    case Kind::post_up:
      return say(statement, activity(post, options, whom, name, number));
    case Kind::deposit:
    case Kind::deposit_up:
      return say(statement, activity(deposit, options, whom, number));
    default:
      return say(statement, activity(echo, options, name));
  }
}

// What it drew is nobody's business; that it stays what it was is.
void Interpreter::effect(const Statement& statement) {
  const std::string secret = uuid4() + side_effect([] { return std::to_string(outside()); });
  const std::string place = secret.substr(0, 36);
  say(statement, activity(check, place, secret));
  run(statement.body);
  say(statement, activity(check, place, secret));
}

Job Interpreter::job_for(const Statement& child) const {
  return {.body = child.body, .patient = patient_, .parent = instance_id()};
}

Call<std::string> Interpreter::call_of(const Statement& member) const {
  const auto options = options_for(member);
  switch (member.kind) {
    case Kind::flaky:
      return call(flaky, options, member.name, member.number);
    case Kind::refused:
      return call(refused, options, member.name, member.number);
    case Kind::child:
      return child_call(
          branch,
          ChildOptions{.id = member.name, .parent_close = static_cast<ParentClose>(member.number)},
          job_for(member));
    default:
      return call(echo, options, member.name);
  }
}

void Interpreter::all(const Statement& statement) {
  std::vector<Call<std::string>> calls;
  for (const Statement& member : statement.body) calls.push_back(call_of(member));
  const auto meet = [&] {
    say(statement, fmt::format("[{}]", fmt::join(run_barrier(calls, statement.number), ", ")));
  };
  if (!statement.vague) return meet();
  guarded(meet, [&](const std::string&) {
    say(statement, "some member failed");
    // Should this workflow end next, those it leaves behind have all begun.
    dw::sleep(1s);
  });
}

void Interpreter::hear(const Statement& statement) {
  const auto& signal = statement.name == "bell" ? bell : statement.name == "word" ? word : letter;
  if (statement.limit == 0) return say(statement, std::to_string(await(signal)));
  const auto heard = await(signal, std::chrono::seconds{statement.limit});
  say(statement, heard ? std::to_string(*heard) : "nothing");
}

void Interpreter::until(const Statement& statement) {
  const int wanted = balance_ + statement.number;
  AwaitOptions options{.key = statement.name};
  if (statement.limit > 0) options.timeout = std::chrono::seconds{statement.limit};
  const bool enough = await([&] { return balance_ >= wanted; }, options);
  say(statement, fmt::format("{} with {}", enough ? "enough" : "too late", balance_));
}

// The throw after steps within the handler is the point: exceptions belong to a fiber.
void Interpreter::saga(const Statement& statement) {
  guarded([&] { run(statement.body); },
          [&](const std::string& why) {
            say(statement, why);
            run(statement.undo);
            if (statement.number == 1) throw;
            say(statement, "undone");
          });
}

void Interpreter::whisper(const Statement& statement) {
  const auto family = children();
  const auto found = std::ranges::find(family, statement.name, &ChildHandle::instance_id);
  say(statement, found == family.end() ? "nobody" : "psst");
  if (found != family.end()) found->signal(word, statement.number);
}

void Interpreter::again(const Statement& statement) {
  Job next = job_for(statement);
  next.parent = parent_;
  next.tale = tale_ + "again ";
  next.balance = balance_;
  continue_as_new(next);
}

void Interpreter::cheat(const Statement& statement) {
  if (statement.name == "careless")
    return activity(careless, options_for(statement), instance_id());
  const int now = outside();
  if (statement.name == "tells") return say(statement, std::to_string(now));
  if (now % 2 == 0) dw::sleep(1s);
}

std::string branch(Job job) {
  return Interpreter{}.handle(std::move(job));
}

std::string piece(Job job) {
  return Interpreter{}.handle(std::move(job));
}

namespace {
int times_outside = 0;
}

int outside() {
  return ++times_outside;
}
void reset_outside() {
  times_outside = 0;
}

Registry registry() {
  Registry registry;
  registry.activity("random.echo", echo);
  registry.activity("random.flaky", flaky);
  registry.activity("random.refused", refused);
  registry.activity("random.overdue", overdue);
  registry.activity("random.post", post);
  registry.activity("random.deposit", deposit);
  registry.activity("random.check", check);
  registry.activity("random.careless", careless);
  registry.exception<Mishap>("random.mishap");
  registry.callback("random.piece", piece);
  registry.workflow<Interpreter>("random.program")
      .signal(bell)
      .signal(letter)
      .signal(word)
      .query("tale", &Interpreter::tale)
      .update("deposit", &Interpreter::add, {"amount"});
  registry.workflow("random.branch", branch).signal(bell).signal(letter).signal(word);
  return registry;
}

}  // namespace dw::random_programs
