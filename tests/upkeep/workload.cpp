#include "workload.hpp"

#include <dw/testing.hpp>

#include <fmt/format.h>

namespace dw::upkeep::test {
namespace {

using namespace std::chrono_literals;

const Signal<int> nudge{"nudge", {"number"}};

int work(int number) {
  if (number % 7 == 3) throw std::runtime_error{"it does not work"};
  return number;
}

ActivityOptions patient() {
  return {.max_attempts = 3,
          .backoff = std::vector<std::chrono::seconds>{5s},
          .start_to_close = 40s,
          .schedule_to_close = 200s,
          .heartbeat = 30s};
}

int in_steps(int number) {
  const int first = activity(work, patient(), number);
  dw::sleep(std::chrono::seconds{1 + number % 20});
  return first + activity(work, number + 1);
}

int on_request(int number) {
  if (number % 2 == 0) return await(nudge);
  const auto got = await(nudge, 30s);
  return activity(work, got.value_or(number));
}

int with_children(int number) {
  const auto policy = static_cast<ParentClose>(number % 3);
  const int first = child(in_steps, {.parent_close = policy}, number);
  return first + child(on_request, {.parent_close = policy, .run_timeout = 90s}, number);
}

int all_at_once(int number) {
  const auto [a, b, c] =
      dw::all(dw::call(work, patient(), number), dw::call(work, number + 1),
              dw::group(dw::child_call(in_steps, {.parent_close = ParentClose::terminate}, number),
                        dw::call(work, number + 2)));
  return a + b + std::get<0>(c);
}

// The child outlives the run that called it: the next one takes it over.
int again_and_again(int number) {
  upsert_memo(Value{Value::Map{{"left", number}}});
  dw::sleep(3s);
  try {
    dw::all(
        dw::call(work, 3),
        dw::child_call(on_request,
                       {.parent_close = ParentClose::request_cancel, .run_timeout = 60s}, number));
  } catch (const std::exception&) {
    if (number % 5 != 0) continue_as_new(number - 1);
  }
  return number;
}

// A child that continues: its parent hears of every run.
int with_a_loop(int number) {
  return child(again_and_again, {.parent_close = ParentClose::request_cancel}, number);
}

struct Counter {
  int handle(int wanted) {
    await([&] { return count_ >= wanted % 3; }, {.key = "full", .timeout = 60s});
    return activity(work, count_);
  }
  int add(int number) {
    if (number % 4 == 0) throw std::invalid_argument{"not that one"};
    return ++count_;
  }

 private:
  int count_ = 0;
};

Registry all_code() {
  Registry registry;
  registry.activity("work", work);
  registry.workflow("in-steps", in_steps);
  registry.workflow("on-request", on_request).signal(nudge);
  registry.workflow("with-children", with_children).signal(nudge);
  registry.workflow("all-at-once", all_at_once);
  registry.workflow("again-and-again", again_and_again).signal(nudge);
  registry.workflow("with-a-loop", with_a_loop);
  registry.workflow<Counter>("counter").update("add", &Counter::add, {"number"});
  registry.freeze();
  return registry;
}

Registry frozen(Registry registry) {
  registry.freeze();
  return registry;
}

constexpr std::string_view types[] = {"in-steps",    "on-request",      "with-children", "counter",
                                      "all-at-once", "again-and-again", "with-a-loop"};

testing::Options weather(std::uint64_t seed) {
  testing::Options options;
  options.seed = seed;
  options.duplicates = options.lost_attempts = options.timeouts = true;
  return options;
}

Payload arguments(int number) {
  return *encode(Value{Value::Array{number}});
}

}  // namespace

Workload::Workload(std::uint64_t seed)
    : random_(seed * 2),
      schedule_random_(seed * 2 + 1),
      code_(all_code()),
      no_code_(frozen({})),
      clock_(testing::Options{}.start_at),
      scheduler_(clock_, schedule_random_, 2ms),
      faults_(weather(seed)) {
  boot();
}

Workload::~Workload() = default;

void Workload::boot() {
  process_.reset();
  process_ = std::make_unique<testing::Process>(testing::ProcessParts{
      scheduler_, disk_, clock_, with_code_ ? code_ : no_code_, book_, faults_, random_.next()});
}

void Workload::go_on(int pieces_of_work) {
  for (int i = 0; i < pieces_of_work; ++i) {
    if (chance(8)) ask_something();
    if (chance(1)) {
      with_code_ = chance(75);
      boot();
    }
    // Mostly what can be done now; now and then some time passes.
    const auto until =
        chance(10) ? clock_.now() + std::chrono::seconds{random_.below(20)} : clock_.now() + 1ms;
    scheduler_.step(until);
  }
}

void Workload::come_to_rest() {
  with_code_ = true;
  boot();
  const Timestamp end = clock_.now() + 3h;
  while (clock_.now() < end && scheduler_.step(end)) {
  }
}

store::InstanceKey Workload::any_instance() {
  const auto number = random_.below(static_cast<std::uint64_t>(started_) + 2);
  return {Namespace{number % 3 == 0 ? "other" : ""}, InstanceId{fmt::format("w-{}", number)}};
}

void Workload::start(int number) {
  const auto& type = types[random_.below(std::size(types))];
  const auto* definition = code_.find_workflow(type);
  engine::StartCommand command;
  command.ns = Namespace{number % 3 == 0 ? "other" : ""};
  command.instance_id = InstanceId{fmt::format("w-{}", number)};
  command.workflow_type = std::string{type};
  command.workflow_class = definition->implementation;
  command.fingerprint = definition->fingerprint;
  command.declared = definition->snapshot;
  command.arguments = arguments(static_cast<int>(random_.below(30)));
  command.business_key = fmt::format("order-{}", number);
  command.labels = {{"shop", "south"}};
  if (chance(20)) command.run_timeout = 50;
  process_->dispatch().start(std::move(command), [](const auto&) {});
}

void Workload::ask_something() {
  auto& dispatch = process_->dispatch();
  const auto ignore = [](const auto&) {};
  switch (random_.below(9)) {
    case 0:
    case 1:
    case 2:
      return start(++started_);
    case 3: {
      engine::SignalCommand command;
      command.name = chance(90) ? "nudge" : "nobody-listens";
      command.arguments = arguments(static_cast<int>(random_.below(20)));
      return dispatch.signal(any_instance(), std::move(command), ignore);
    }
    case 4: {
      engine::UpdateCommand command;
      command.name = "add";
      command.arguments = arguments(static_cast<int>(random_.below(20)));
      return dispatch.update(any_instance(), std::move(command), false, ignore);
    }
    case 5: {
      const auto kind =
          chance(50) ? engine::CloseCommand::Kind::cancel : engine::CloseCommand::Kind::terminate;
      return dispatch.close(any_instance(), {kind, "because", std::nullopt, "native"}, ignore);
    }
    case 6:
      return dispatch.reserve({Namespace{""}, InstanceId{fmt::format("w-{}", started_ + 5)}},
                              std::string{types[random_.below(std::size(types))]}, ignore);
    case 7:
      return dispatch.repair(any_instance(), {}, ignore);
    default: {
      const auto runs = disk_.list_runs({.limit = 20}).value();
      if (runs.empty()) return;
      const auto& run = runs[random_.below(runs.size())];
      return dispatch.archive({{run.ns, run.instance_id}, run.run_id}, {"done", "native"}, ignore);
    }
  }
}

}  // namespace dw::upkeep::test
