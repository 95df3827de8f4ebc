#include "support.hpp"

#include "history/codec.hpp"
#include "history/fold.hpp"
#include "store/sqlite/connection.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <stdexcept>

namespace dw::e2e {

using namespace dw::history;

TempDir::TempDir() {
  std::string pattern = (std::filesystem::temp_directory_path() / "dw-e2e-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("cannot create " + pattern);
  path_ = pattern;
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void Signal::set() {
  const std::lock_guard lock{mutex_};
  happened_ = true;
  changed_.notify_all();
}

bool Signal::wait() {
  std::unique_lock lock{mutex_};
  return changed_.wait_for(lock, patience, [&] { return happened_; });
}

// ---- processes

ChildProcess::ChildProcess(const std::vector<std::string>& arguments) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) throw std::runtime_error("cannot make a pipe");
  std::vector<char*> argv{const_cast<char*>("child")};
  for (const auto& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ < 0) throw std::runtime_error("cannot fork");
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    close(ends[1]);
    execv("/proc/self/exe", argv.data());
    _exit(127);
  }
  close(ends[1]);
  output_ = ends[0];
}

ChildProcess::~ChildProcess() {
  kill_hard();
  close(output_);
}

std::vector<std::string> ChildProcess::read_lines(std::chrono::steady_clock::time_point until,
                                                  std::string_view stop_at) {
  std::vector<std::string> lines;
  std::array<char, 65536> buffer{};
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        until - std::chrono::steady_clock::now());
    pollfd wanted{output_, POLLIN, 0};
    if (::poll(&wanted, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0))) <= 0) {
      return lines;
    }
    const ssize_t count = read(output_, buffer.data(), buffer.size());
    if (count <= 0) return lines;
    partial_.append(buffer.data(), static_cast<std::size_t>(count));
    bool stop = false;
    for (auto end = partial_.find('\n'); end != std::string::npos; end = partial_.find('\n')) {
      lines.push_back(partial_.substr(0, end));
      partial_.erase(0, end + 1);
      stop = stop || (!stop_at.empty() && lines.back() == stop_at);
    }
    if (stop) return lines;
  }
}

void ChildProcess::kill_hard() {
  if (!status_) {
    ::kill(pid_, SIGKILL);
    wait();
  }
}

int ChildProcess::wait() {
  if (!status_) {
    int status = 0;
    waitpid(pid_, &status, 0);
    status_ = status;
  }
  return *status_;
}

std::uint64_t number_from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

bool long_test() {
  return number_from_environment("DW_TEST_LONG", 0) != 0;
}

// ---- the auditor

std::vector<std::string> Auditor::look_at(store::Store& store) {
  std::vector<std::string> problems;
  const auto rows = store.list_runs({.limit = 1'000'000});
  if (!rows) return {rows.error().message};
  std::set<std::string> present;
  for (const auto& row : *rows) {
    present.insert(row.instance_id.str());
    if (fresh_.contains(row.version.str())) continue;
    const auto run = store.load_run(row.run_id);
    if (!run || !*run) {
      problems.push_back(fmt::format("run {} cannot be loaded", row.run_id.str()));
      continue;
    }
    for (auto& problem : audit(**run)) {
      problems.push_back(
          fmt::format("{} ({}): {}", row.instance_id.str(), row.run_id.str(), problem));
    }
    fresh_.insert(row.version.str());
  }
  for (const auto& [id, run] : runs_) {
    if (!present.contains(id)) problems.push_back(id + " was there and is gone");
  }
  return problems;
}

std::vector<std::string> Auditor::audit(const store::LoadedRun& run) {
  std::vector<std::string> problems;
  SeenRun seen;
  seen.row = run.row;

  std::vector<Event> events;
  for (const auto& commit : run.commits) {
    seen.commits.push_back(commit.id);
    auto bodies = parse_events(commit.events);
    if (!bodies) return {bodies.error().message};
    std::int64_t sequence = commit.first_sequence;
    for (auto& body : *bodies) events.push_back({sequence++, commit.recorded_at, std::move(body)});
    if (sequence != commit.last_sequence + 1)
      problems.emplace_back("a commit misstates its sequences");
  }
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (events[i].sequence != static_cast<std::int64_t>(i) + 1) {
      problems.push_back(
          fmt::format("sequence {} stands where {} belongs", events[i].sequence, i + 1));
    }
  }
  if (const auto state = fold(events); !state) {
    problems.push_back(state.error().message);
  } else if (state->status != run.row.status || state->last_sequence != run.row.last_sequence) {
    problems.emplace_back("the run's row disagrees with its history");
  }

  std::int64_t steps = 0;
  int ends = 0;
  std::map<std::string, int> outcomes;  // of an activity or a timer
  const auto take_step = [&](std::int64_t step) {
    if (step != ++steps)
      problems.push_back(fmt::format("step {} was recorded as number {}", step, steps));
  };
  const auto settle = [&](const std::string& id) {
    if (++outcomes[id] > 1) problems.push_back(id + " has two outcomes");
  };
  for (const Event& event : events) {
    if (ends > 0) problems.emplace_back("something happened after the end");
    std::visit(
        overloaded{[&](const ActivityScheduled& e) { take_step(e.step); },
                   [&](const TimerScheduled& e) { take_step(e.step); },
                   [&](const SideEffectRecorded& e) { take_step(e.step); },
                   [&](const ActivityStarted&) { ++seen.attempts; },
                   [&](const ActivityCompleted& e) {
                     settle(e.activity_id.str());
                     seen.completed_activities.insert(e.activity_id.str());
                   },
                   [&](const ActivityFailed& e) { settle(e.activity_id.str()); },
                   [&](const ActivityTimedOut& e) { settle(e.activity_id.str()); },
                   [&](const ActivityCancelled& e) { settle(e.activity_id.str()); },
                   [&](const TimerFired& e) { settle(e.timer_id.str()); },
                   [&](const TimerCancelled& e) { settle(e.timer_id.str()); },
                   [&](const WorkflowCompleted& e) {
                     ++ends;
                     seen.output = e.output;
                   },
                   [&](const WorkflowFailed&) { ++ends; }, [&](const WorkflowTimedOut&) { ++ends; },
                   [&](const WorkflowCancelled&) { ++ends; },
                   [&](const WorkflowTerminated&) { ++ends; }, [](const auto&) {}},
        event.body);
  }

  if (const auto before = runs_.find(run.row.instance_id.str()); before != runs_.end()) {
    const SeenRun& old = before->second;
    if (old.row.run_id != run.row.run_id) problems.emplace_back("it is another run now");
    if (old.commits.size() > seen.commits.size() ||
        !std::equal(old.commits.begin(), old.commits.end(), seen.commits.begin())) {
      problems.emplace_back("recorded commits are gone or have changed");
    }
  }
  runs_[run.row.instance_id.str()] = std::move(seen);
  return problems;
}

std::string integrity_check(const std::string& path, const std::string& vfs) {
  auto connection = sqlite::Connection::open({path, vfs}, sqlite::Connection::Access::read_only);
  if (!connection) return connection.error().message;
  auto statement = connection->prepare("PRAGMA integrity_check");
  if (!statement) return statement.error().message;
  if (statement->step() != sqlite::Outcome::row) return connection->failure().message;
  std::string answer{statement->text(0)};
  statement->reset();
  return answer;
}

}  // namespace dw::e2e
