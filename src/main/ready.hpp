// How a server tells those who started it that it serves, and which process it is.
#pragma once
#include "server/access_log.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace dw::app {

struct ReadyNotice {
  std::string version;
  std::string url;
  std::chrono::milliseconds recovery{};             // from opening the store to this moment
  std::optional<std::string> waterline = {};        // the console's address, where there is one
  std::optional<std::int64_t> recovered_runs = {};  // absent: nobody has counted them
};

// "dw 0.1.0 serves http://…", or {"event":"ready",…}.
std::string ready_line(const ReadyNotice& notice, server::LogFormat format);

// To standard output and, if it is positive, to that descriptor, which is closed afterwards.
void announce_ready(const std::string& line, int ready_fd);

// Holds this process's id for as long as it exists. Without a path it does nothing.
class PidFile {
 public:
  explicit PidFile(std::string path);  // throws EngineError(unavailable)
  ~PidFile();
  PidFile(const PidFile&) = delete;
  PidFile& operator=(const PidFile&) = delete;

 private:
  std::string path_;
};

}  // namespace dw::app
