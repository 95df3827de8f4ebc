#include "main/ready.hpp"

#include <dw/exceptions.hpp>
#include <dw/value.hpp>

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

namespace dw::app {

std::string ready_line(const ReadyNotice& notice, server::LogFormat format) {
  if (format == server::LogFormat::text) {
    return fmt::format("dw {} serves {}", notice.version, notice.url);
  }
  return to_json(Value::Map{
      {"event", "ready"},
      {"version", notice.version},
      {"listen", notice.url},
      {"waterline", notice.waterline ? Value{*notice.waterline} : Value{}},
      {"recovered_runs", notice.recovered_runs ? Value{*notice.recovered_runs} : Value{}},
      {"recovery_ms", static_cast<std::int64_t>(notice.recovery.count())}});
}

void announce_ready(const std::string& line, int ready_fd) {
  fmt::print("{}\n", line);
  std::fflush(stdout);
  if (ready_fd <= 0) return;
  const std::string text = line + "\n";
  const auto written = write(ready_fd, text.data(), text.size());
  if (written != static_cast<ssize_t>(text.size())) {
    spdlog::warn("nobody could be told through descriptor {}: {}", ready_fd, std::strerror(errno));
  }
  // Its other end may be waiting for the end of input rather than for the line.
  if (ready_fd != STDOUT_FILENO && ready_fd != STDERR_FILENO) close(ready_fd);
}

PidFile::PidFile(std::string path) : path_(std::move(path)) {
  if (path_.empty()) return;
  std::ofstream file{path_, std::ios::trunc};
  file << getpid() << '\n';
  file.close();
  if (!file) {
    throw EngineError{{ErrorCode::unavailable,
                       fmt::format("cannot write the pid file {}; name one that this user may "
                                   "write",
                                   path_)}};
  }
}

PidFile::~PidFile() {
  if (path_.empty()) return;
  // A server started since may have taken the name.
  std::ifstream file{path_};
  pid_t holder = 0;
  if (file >> holder && holder == getpid()) unlink(path_.c_str());
}

}  // namespace dw::app
