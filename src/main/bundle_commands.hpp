// dw history-export, dw replay:verify and dw replay:simulate: a run as a document that can be
// checked and replayed away from its store.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace dw::app {

struct ExportOptions {
  std::string store = "dw.db";
  std::optional<std::string> ns = {};      // absent: whichever has the instance
  std::string target = {};                 // an instance id, or a run id
  std::optional<std::string> run_id = {};  // of that instance; absent: its current run
  std::string output = {};                 // empty: standard output
  bool pretty = false;
  bool force = false;  // overwrite the file
};

struct VerifyOptions {
  std::string signing_key = {};  // empty: the environment's, if it has one
  bool skip_replay = false;
  bool strict_warnings = false;
  std::string worker_command = {};  // another build to replay against; empty: this one
  bool json = false;
};

// Each returns the exit code of the process.
int export_history(const ExportOptions& options);
// "-" reads standard input.
int verify_bundle_file(const std::string& path, const VerifyOptions& options);
int verify_bundle_directory(const std::string& directory, const VerifyOptions& options);

}  // namespace dw::app
