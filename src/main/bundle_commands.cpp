#include "main/bundle_commands.hpp"

#include "bundle/export.hpp"
#include "bundle/verify.hpp"
#include "core/clock.hpp"
#include "core/unwrap.hpp"
#include "main/run_view.hpp"
#include "main/samples.hpp"
#include "server/run_export.hpp"
#include "store/sqlite/sqlite_store.hpp"
#include "testing/replay_answer.hpp"

#include <dw/exceptions.hpp>
#include <dw/testing.hpp>

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

namespace dw::app {
namespace {

// Of DW_V2_…, which may also be called WORKFLOW_V2_….
std::string v2_variable(const std::string& name) {
  for (const char* prefix : {"DW_V2_", "WORKFLOW_V2_"}) {
    const char* value = std::getenv((prefix + name).c_str());
    if (value && *value) return value;
  }
  return {};
}

// ---- export

void write_file(const std::string& path, std::string_view text, bool overwrite) {
  if (!overwrite && std::filesystem::exists(path)) {
    throw EngineError{
        {ErrorCode::conflict,
         fmt::format("cannot write '{}': the file is there already; --force overwrites it", path)}};
  }
  std::ofstream file{path, std::ios::binary | std::ios::trunc};
  file << text << '\n';
  if (!file.flush()) {
    throw EngineError{{ErrorCode::unavailable, fmt::format("cannot write '{}'", path)}};
  }
}

// ---- verification

std::string read_all(const std::string& path) {
  if (path == "-") {
    return {std::istreambuf_iterator<char>{std::cin}, std::istreambuf_iterator<char>{}};
  }
  std::ifstream file{path, std::ios::binary};
  if (!file) {
    throw EngineError{{ErrorCode::not_found, fmt::format("cannot read the bundle '{}'", path)}};
  }
  return {std::istreambuf_iterator<char>{file}, std::istreambuf_iterator<char>{}};
}

struct Verdict {
  std::string path;
  bundle::Verification integrity;
  Value replay;  // {status, reason, divergence}

  std::string_view replay_status() const { return *replay.find("status")->if_string(); }
  std::string_view word() const {
    if (integrity.status() == "failed") return "failed";
    if (replay_status() == "drifted") return "drifted";
    return integrity.status();
  }
};

// A file that is there while somebody reads it.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string_view text) {
    path_ = (std::filesystem::temp_directory_path() / "dw-bundle-XXXXXX").string();
    const int file = mkstemp(path_.data());
    const auto size = static_cast<ssize_t>(text.size());
    const bool written = file >= 0 && write(file, text.data(), text.size()) == size;
    if (file >= 0) close(file);
    if (!written) {
      throw EngineError{{ErrorCode::unavailable, fmt::format("cannot write '{}'", path_)}};
    }
  }
  ~TemporaryFile() { unlink(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Asks another build, see dw::testing::answer_replay. The command is the shell's to take apart.
Value ask_worker(const std::string& command, const std::string& bundle) {
  const TemporaryFile file{bundle};
  const auto line = fmt::format("{} dw:replay '{}'", command, file.path());
  FILE* pipe = popen(line.c_str(), "r");
  std::string said;
  if (pipe) {
    char part[4096];
    for (std::size_t read = 0; (read = fread(part, 1, sizeof part, pipe)) > 0;) {
      said.append(part, read);
    }
  }
  const int status = pipe ? pclose(pipe) : -1;
  auto answer = parse_json(said);
  const Value* word = answer ? answer->find("status") : nullptr;
  if (status != 0 || !word || !word->if_string()) {
    throw EngineError{
        {ErrorCode::unavailable,
         fmt::format("'{}' did not answer with a replay's outcome; its main() must begin with "
                     "dw::testing::answer_replay(argc, argv, registry)",
                     line)}};
  }
  return *std::move(answer);
}

Value replayed(const std::string& bundle, const VerifyOptions& options) {
  if (options.skip_replay) {
    return Value::Map{{"status", "skipped"}, {"reason", "not_asked_for"}, {"divergence", Value{}}};
  }
  if (!options.worker_command.empty()) return ask_worker(options.worker_command, bundle);
  Registry registry;
  register_samples(registry);
  registry.freeze();
  return testing::replay_answer(registry, bundle);
}

Verdict judge(const std::string& path, const VerifyOptions& options) {
  const std::string text = read_all(path);
  const std::string key =
      options.signing_key.empty() ? v2_variable("HISTORY_EXPORT_SIGNING_KEY") : options.signing_key;
  return {path, bundle::verify_bundle(text, {.signing_key = key}), replayed(text, options)};
}

Value verdict_value(const Verdict& verdict) {
  const bool promote = verdict.word() == "ok" || verdict.word() == "warning";
  return Value::Map{{"schema", "durable-workflow.v2.replay-verification"},
                    {"bundle_path", verdict.path},
                    {"verdict", verdict.word()},
                    {"promotion_decision", promote ? "promote" : "hold"},
                    {"integrity", bundle::to_value(verdict.integrity)},
                    {"replay_diff", verdict.replay}};
}

void print(const Verdict& verdict) {
  fmt::print("{:<8} {}\n", verdict.word(), verdict.path);
  for (const auto& finding : verdict.integrity.findings) {
    fmt::print("         {}: {}\n", finding.rule, finding.message);
  }
  const Value* divergence = verdict.replay.find("divergence");
  if (divergence && !divergence->is_null()) {
    fmt::print("         first divergent step {}: {}\n",
               to_json(*divergence->find("workflow_sequence")),
               *divergence->find("message")->if_string());
  } else if (verdict.replay_status() == "skipped") {
    fmt::print("         not replayed: {}\n", *verdict.replay.find("reason")->if_string());
  }
}

bool passes(const Verdict& verdict, const VerifyOptions& options) {
  return verdict.word() == "ok" || (verdict.word() == "warning" && !options.strict_warnings);
}

}  // namespace

int export_history(const ExportOptions& options) {
  const auto store = unwrap(sqlite::open_sqlite_read_only(options.store));
  const auto run =
      load_named_run(*store, {options.store, options.ns, options.target, options.run_id});
  if (!run) return without_run(run.error());
  bundle::Options how;
  how.pretty = options.pretty;
  how.key = {v2_variable("HISTORY_EXPORT_SIGNING_KEY"),
             v2_variable("HISTORY_EXPORT_SIGNING_KEY_ID")};
  const auto text = unwrap(
      bundle::export_bundle(unwrap(server::export_inputs(*store, *run, SystemClock{}.now())), how));
  if (options.output.empty()) {
    fmt::print("{}\n", text);
  } else {
    write_file(options.output, text, options.force);
    fmt::print(stderr, "Exported run {} to {}.\n", run->row.run_id.view(), options.output);
  }
  return 0;
}

int verify_bundle_file(const std::string& path, const VerifyOptions& options) {
  const Verdict verdict = judge(path, options);
  if (options.json) {
    fmt::print("{}\n", to_json(verdict_value(verdict)));
  } else {
    print(verdict);
  }
  return passes(verdict, options) ? 0 : 1;
}

int verify_bundle_directory(const std::string& directory, const VerifyOptions& options) {
  std::error_code failed;
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator{directory, failed}) {
    if (entry.path().extension() == ".json") paths.push_back(entry.path().string());
  }
  if (failed) {
    throw EngineError{{ErrorCode::not_found, fmt::format("cannot read the directory '{}': {}",
                                                         directory, failed.message())}};
  }
  std::ranges::sort(paths);
  Value::Array reports;
  std::int64_t bad = 0;
  for (const auto& path : paths) {
    const Verdict verdict = judge(path, options);
    bad += passes(verdict, options) ? 0 : 1;
    if (options.json) {
      reports.push_back(verdict_value(verdict));
    } else {
      print(verdict);
    }
  }
  const auto all = static_cast<std::int64_t>(paths.size());
  if (options.json) {
    fmt::print("{}\n", to_json(Value::Map{{"schema", "durable-workflow.v2.replay-simulation"},
                                          {"bundles", std::move(reports)},
                                          {"passed", all - bad},
                                          {"failed", bad}}));
  } else {
    fmt::print("{} passed, {} failed\n", all - bad, bad);
  }
  return bad == 0 ? 0 : 1;
}

}  // namespace dw::app
