// A trial of thirty days, and its tests: on a simulated clock, with the mail server stubbed, in
// milliseconds. A real project would keep the two apart and use its own test framework.
#include <dw/testing.hpp>

#include <cstdlib>
#include <iostream>

using namespace std::chrono_literals;

// ---- the workflow

const dw::Signal<std::string> buy{"buy", {"plan"}};

void send_mail(std::string customer, std::string text) {
  std::cerr << "to " << customer << ": " << text << '\n';
  std::abort();  // no test may ever send a mail
}

std::string trial(std::string customer) {
  if (const auto plan = dw::await(buy, 30 * 24h)) return "bought " + *plan;
  dw::activity(send_mail, customer, "your trial has ended");
  return "ended";
}

dw::Registry registry() {
  dw::Registry registry;
  registry.activity("trial.mail", send_mail).tries(5);
  registry.workflow("trial", trial).signal(buy);
  return registry;
}

// ---- its tests

void expect(bool holds, const std::string& what) {
  std::cout << (holds ? "ok: " : "FAILED: ") << what << std::endl;
  if (!holds) std::exit(1);
}

void thirty_days_end_with_a_mail() {
  dw::testing::Environment env{registry()};
  env.stub(send_mail, [] {});
  auto run = env.start(trial, {.id = "ann"}, "ann");
  env.advance(29 * 24h);
  expect(run.status() == "waiting", "on day 29 the trial goes on");
  expect(run.result() == "ended", "on day 30 it ends");
  expect(env.calls(send_mail).front().argument<std::string>(0) == "ann", "ann got a mail");
}

void who_buys_gets_no_mail() {
  dw::testing::Environment env{registry()};
  auto run = env.start(trial, {.id = "ann"}, "ann");
  env.advance(29 * 24h);
  run.signal(buy, "the large one");
  expect(run.result() == "bought the large one", "a customer may buy on the last day");
  expect(env.calls().empty(), "who bought gets no mail");
}

void nothing_that_goes_wrong_changes_the_end() {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    dw::testing::Environment env{
        registry(), {.seed = seed, .crashes = true, .duplicates = true, .lost_attempts = true}};
    env.stub(send_mail, [] {});
    auto run = env.start(trial, {.id = "ann"}, "ann");
    if (run.result() != "ended") expect(false, "seed " + std::to_string(seed));
  }
  expect(true, "20 seeds of crashes, duplicates and lost attempts");
}

// What ran in production must fit the code that is deployed tomorrow.
void what_was_recorded_still_replays() {
  dw::testing::Environment env{registry()};
  env.stub(send_mail, [] {});
  auto run = env.start(trial, {.id = "ann"}, "ann");
  run.wait();
  const std::string recorded = run.history().to_json();  // or a file next to the test
  const auto report = dw::testing::replay(registry(), recorded);
  expect(report.ok(), report.message());
}

int main() {
  thirty_days_end_with_a_mail();
  who_buys_gets_no_mail();
  nothing_that_goes_wrong_changes_the_end();
  what_was_recorded_still_replays();
  std::cout << "all is well" << std::endl;
}
