// Where a server's lines go: what it has to say, and the access log beside it.
#pragma once
#include "server/access_log.hpp"

#include <memory>
#include <string>

namespace dw::app {

// How the default logger writes from now on. `level` is one that the settings know.
void configure_logging(const std::string& level, server::LogFormat format);

// Writes lines on a thread of its own, so that a slow disk or a full pipe delays no answer; when it
// cannot keep up, the oldest lines are lost.
class AccessOutput {
 public:
  // An empty path means standard error. Throws EngineError when the file cannot be opened.
  explicit AccessOutput(std::string path);
  ~AccessOutput();
  AccessOutput(const AccessOutput&) = delete;
  AccessOutput& operator=(const AccessOutput&) = delete;

  void write(std::string_view line);
  // Opens the file again, after somebody has moved the old one away.
  Result<void> reopen();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dw::app
