#include "testing/environment.hpp"

#include <fmt/format.h>

namespace dw::testing {
namespace {

Registry frozen(Registry registry) {
  registry.freeze();
  return registry;
}

Namespace checked_namespace(const std::string& text) {
  auto ns = parse_namespace(text);
  if (!ns) throw EngineError{std::move(ns).error()};
  return *std::move(ns);
}

bool in_workflow_code() {
  try {
    dw::detail::steps();
    return true;
  } catch (const UsageError&) {
    return false;
  }
}

}  // namespace

EnvironmentImpl::EnvironmentImpl(Registry registry, Options options)
    : registry_(frozen(std::move(registry))),
      options_(std::move(options)),
      namespace_(checked_namespace(options_.ns)),
      // One stream of randomness for each concern: another fault does not reshuffle the rest.
      schedule_random_(options_.seed * 4),
      process_random_(options_.seed * 4 + 1),
      clock_(options_.start_at),
      // Work takes no time, so that a test may say to the second when something happens.
      scheduler_(clock_, schedule_random_, Duration{0}),
      ulids_(process_random_),
      faults_(options_) {
  boot();
}

EnvironmentImpl::Entry::Entry(EnvironmentImpl& environment) : environment_(environment) {
  if (in_workflow_code()) {
    throw UsageError{
        "workflow code used the test environment it runs in; only the test and its stubs may"};
  }
  if (environment_.entries_++ == 0) environment_.work_ = 0;
}

Error EnvironmentImpl::stopped_error() {
  return {ErrorCode::shutting_down,
          "the test environment of this workflow is gone; keep it as long as its handles"};
}

Error EnvironmentImpl::unanswered_error() {
  return {ErrorCode::timed_out, "everything has come to rest and there was no answer"};
}

std::string EnvironmentImpl::new_id() {
  return ulids_.next(clock_.now());
}

void EnvironmentImpl::boot() {
  process_ = std::make_unique<Process>(ProcessParts{scheduler_,
                                                    disk_,
                                                    clock_,
                                                    registry_,
                                                    book_,
                                                    faults_,
                                                    process_random_.next(),
                                                    {.max_warm = options_.max_warm_workflows}});
}

void EnvironmentImpl::stop() {
  process_.reset();
  book_.stubs.clear();
}

bool EnvironmentImpl::step() {
  if (++work_ > options_.max_work) {
    throw Exhausted{
        {ErrorCode::timed_out,
         fmt::format("given up after {} pieces of work: some workflow goes on and on; raise "
                     "Options::max_work if it should",
                     options_.max_work)}};
  }
  bool ran = false;
  {
    const Count stepping{stepping_};
    ran = scheduler_.step(clock_.now());
  }
  if (ran && faults_.crash_now()) crash_due_ = true;
  crash_if_due();
  return ran;
}

// Not below a stub, which runs in the process that is to die.
void EnvironmentImpl::crash_if_due() {
  if (!crash_due_ || asking_ > 0 || stepping_ > 0 || !process_) return;
  crash_due_ = false;
  ++crashes_;
  process_.reset();
  boot();
}

void EnvironmentImpl::settle() {
  crash_if_due();
  while (step()) {
  }
}

void EnvironmentImpl::crash() {
  crash_due_ = true;
  if (stepping_ == 0) settle();
}

std::optional<Timestamp> EnvironmentImpl::next_at() {
  auto next = process_ ? process_->next_at() : std::nullopt;
  // Past every task of this moment: those that are due and still there wait for something else.
  const engine::TaskKey after{clock_.now(), TaskId{"~"}};
  const auto tasks = disk_.due_tasks(after, Timestamp::max(), 1);
  if (tasks && !tasks->empty()) {
    const Timestamp due = tasks->front().key.available_at;
    if (!next || due < *next) next = due;
  }
  return next;
}

bool EnvironmentImpl::skip() {
  settle();
  const auto next = next_at();
  if (!next || !process_) return false;
  clock_.set(std::max(*next, clock_.now()));
  settle();
  return true;
}

void EnvironmentImpl::advance(Duration by) {
  settle();
  const Timestamp target = clock_.now() + by;
  for (auto next = next_at(); next && *next <= target; next = next_at()) skip();
  clock_.set(std::max(target, clock_.now()));
  settle();
}

}  // namespace dw::testing
