// Stands before another handler and sees to what every request has in common, whoever answers it: a
// request id, a count, a line in the access log, a smaller body for those who asked for one. It
// answers GET /metrics itself.
#pragma once
#include "core/clock.hpp"
#include "core/executor.hpp"
#include "server/access_log.hpp"
#include "server/compression.hpp"
#include "server/credentials.hpp"
#include "server/metrics.hpp"

#include <chrono>
#include <functional>
#include <memory>

namespace dw::server {

struct ObservedParts {
  Handler& inner;
  Metrics& metrics;
  const AccessLog& log;
  const Credentials& credentials;
  // For what takes longer than a thread may that serves sockets or decides: large bodies, /metrics.
  Executor& aside;
  const Clock& clock;
  std::function<Readings()> readings;
  std::string default_namespace = "default";
  bool compression = true;
  std::size_t compress_from_bytes = 1024;
  std::size_t compress_aside_from_bytes = 16 * 1024;
  // Anybody may read /metrics; otherwise whoever has a role, any role.
  bool open_metrics = false;
  std::string listens_as = {};  // the name or number the server was told
  // Durations are measured by it; absent: the machine's steady clock.
  std::function<std::chrono::nanoseconds()> stopwatch = {};
};

class Observed final : public Handler {
 public:
  // The parts must outlive the last answer, which may come after this object is gone.
  explicit Observed(ObservedParts parts);

  void handle(Request request, Respond respond) override;

 private:
  struct Visit;
  struct Inside;
  std::shared_ptr<Inside> inside_;
};

}  // namespace dw::server
