#include "limit.hpp"

#include "core/random.hpp"
#include "core/ulid.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <initializer_list>
#include <memory>
#include <stdexcept>

namespace dw::bench {
namespace {

constexpr std::size_t event_bytes = 200;
constexpr std::size_t value_bytes = 64;  // a run's input and its result
constexpr int transitions_per_workflow = 4;

struct Close {
  void operator()(sqlite3* database) const { sqlite3_close(database); }
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Database = std::unique_ptr<sqlite3, Close>;

class Statement {
 public:
  Statement(sqlite3* database, const char* sql) : database_(database) {
    sqlite3_stmt* statement = nullptr;
    check(sqlite3_prepare_v3(database, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr));
    statement_.reset(statement);
  }

  template <typename... T>
  void run(const T&... values) {
    int column = 0;
    (bind(++column, values), ...);
    check(sqlite3_step(statement_.get()));
    sqlite3_reset(statement_.get());
  }

 private:
  void bind(int column, std::int64_t value) {
    check(sqlite3_bind_int64(statement_.get(), column, value));
  }
  void bind(int column, std::string_view text) {
    check(sqlite3_bind_text(statement_.get(), column, text.data(), static_cast<int>(text.size()),
                            SQLITE_STATIC));
  }
  void check(int code) {
    if (code != SQLITE_OK && code != SQLITE_DONE) {
      throw std::runtime_error{fmt::format("SQLite: {}", sqlite3_errmsg(database_))};
    }
  }

  sqlite3* database_;
  std::unique_ptr<sqlite3_stmt, Close> statement_;
};

Database open(const std::string& path) {
  sqlite3* opened = nullptr;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  const int code = sqlite3_open_v2(path.c_str(), &opened, flags, nullptr);
  Database database{opened};
  if (code != SQLITE_OK) throw std::runtime_error{fmt::format("cannot open '{}'", path)};
  for (const char* sql :
       {"PRAGMA page_size = 4096", "PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL",
        "PRAGMA locking_mode = EXCLUSIVE", "PRAGMA cache_size = -65536",
        "PRAGMA temp_store = MEMORY", "PRAGMA wal_autocheckpoint = 4000",
        "CREATE TABLE runs (run_id TEXT PRIMARY KEY, namespace INTEGER, type TEXT, status INTEGER,"
        " last_sequence INTEGER, input BLOB, output BLOB, started_at INTEGER, closed_at INTEGER)"
        " WITHOUT ROWID",
        "CREATE TABLE events (run_id TEXT NOT NULL, sequence INTEGER NOT NULL, type INTEGER,"
        " recorded_at INTEGER, payload BLOB, PRIMARY KEY (run_id, sequence)) WITHOUT ROWID",
        "CREATE TABLE tasks (task_id INTEGER PRIMARY KEY, queue INTEGER, kind INTEGER,"
        " run_id TEXT, due_at INTEGER)"}) {
    char* message = nullptr;
    if (sqlite3_exec(database.get(), sql, nullptr, nullptr, &message) != SQLITE_OK) {
      throw std::runtime_error{fmt::format("SQLite: {} ({})", message ? message : "", sql)};
    }
  }
  return database;
}

// A w1 on its way: start, schedule, complete, finish.
struct Workflow {
  std::string run_id;
  int transition = 0;
  std::int64_t task = 0;
};

class Limit {
 public:
  explicit Limit(sqlite3* database)
      : begin_(database, "BEGIN IMMEDIATE"),
        commit_(database, "COMMIT"),
        insert_run_(database,
                    "INSERT INTO runs VALUES (?1, 1, 'bench.one_step', 0, 1, ?2, NULL, ?3, NULL)"),
        update_run_(database,
                    "UPDATE runs SET status = 2, last_sequence = ?2, output = ?3, closed_at = ?4"
                    " WHERE run_id = ?1"),
        insert_event_(database, "INSERT INTO events VALUES (?1, ?2, ?3, ?4, ?5)"),
        insert_task_(database, "INSERT INTO tasks VALUES (?1, 1, ?2, ?3, ?4)"),
        remove_task_(database, "DELETE FROM tasks WHERE task_id = ?1"),
        event_(event_bytes, 'e'),
        value_(value_bytes, 'v'),
        live_(limit_group) {
    // Spread over their phases, so that every transaction holds the same mix.
    for (std::size_t i = 0; i < live_.size(); ++i) live_[i].transition = -static_cast<int>(i % 4);
  }

  // One transaction: each live workflow takes one transition.
  std::int64_t run_group() {
    std::int64_t closed = 0;
    begin_.run();
    for (Workflow& workflow : live_) {
      if (workflow.transition >= 0) {
        closed += advance(workflow);
      } else {
        // Its turn has not come yet.
        ++workflow.transition;
      }
    }
    commit_.run();
    return closed;
  }

 private:
  bool advance(Workflow& workflow) {
    ++clock_;
    const int step = workflow.transition++;
    if (step == 0) {
      workflow.run_id = ulids_.next(from_micros(1'700'000'000'000'000 + clock_ * 10));
      insert_run_.run(std::string_view{workflow.run_id}, std::string_view{value_}, clock_);
    } else {
      remove_task_.run(workflow.task);
    }
    insert_event_.run(std::string_view{workflow.run_id}, std::int64_t{step + 1}, std::int64_t{step},
                      clock_, std::string_view{event_});
    if (step < transitions_per_workflow - 1) {
      workflow.task = ++last_task_;
      insert_task_.run(workflow.task, std::int64_t{step % 2}, std::string_view{workflow.run_id},
                       clock_);
      return false;
    }
    update_run_.run(std::string_view{workflow.run_id}, std::int64_t{transitions_per_workflow},
                    std::string_view{value_}, clock_);
    workflow.transition = 0;
    return true;
  }

  Statement begin_, commit_, insert_run_, update_run_, insert_event_, insert_task_, remove_task_;
  const std::string event_, value_;
  std::vector<Workflow> live_;
  SeededRandom random_{1};
  UlidSource ulids_{random_};
  std::int64_t clock_ = 0;
  std::int64_t last_task_ = 0;
};

}  // namespace

LimitResult run_limit(const std::string& path, double seconds) {
  const Database database = open(path);
  LimitResult result;
  {
    Limit limit{database.get()};
    std::vector<double> commits_ms;
    const double cpu = process_cpu_seconds();
    const auto from = Steady::now();
    while (seconds_since(from) < seconds) {
      const auto before = Steady::now();
      result.workflows += limit.run_group();
      commits_ms.push_back(1000 * seconds_since(before));
    }
    result.seconds = seconds_since(from);
    result.cpu_seconds = process_cpu_seconds() - cpu;
    result.commits = std::ssize(commits_ms);
    result.p50_ms = percentile(commits_ms, 50);
    result.p99_ms = percentile(commits_ms, 99);
  }
  result.rows_per_workflow = static_cast<double>(sqlite3_total_changes64(database.get())) /
                             static_cast<double>(std::max<std::int64_t>(1, result.workflows));
  return result;
}

}  // namespace dw::bench
