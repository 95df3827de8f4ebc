// What this server has done and is doing, in Prometheus' text form. Labels come from short lists
// (routes, methods, kinds), never from what clients send.
#pragma once
#include "dispatch/schedule_standing.hpp"
#include "server/endpoint.hpp"
#include "store/store.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dw::server {

// What others count, read when somebody asks; what is absent is not shown.
struct Readings {
  std::optional<std::size_t> open_connections = {};
  std::optional<std::size_t> queued_commits = {};
  std::optional<store::StoreCounters> store = {};
  std::optional<std::int64_t> runs_started = {};
  std::vector<std::pair<std::string, std::int64_t>> runs_closed = {};  // by outcome
  std::optional<dispatch::ScheduleTally::Counts> schedules = {};
  std::optional<dispatch::ScheduleStanding> schedule_standing = {};
};

// Any thread may call anything here.
class Metrics {
 public:
  explicit Metrics(const std::string& version);
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  void answered(const Endpoint& endpoint, int status, std::chrono::nanoseconds took,
                std::size_t bytes);
  void compressed(std::string_view coding, std::size_t before, std::size_t after);
  // A request waits for somebody else, until it does not any more, answered or not.
  void wait_began(Waiting waiting);
  void wait_ended(Waiting waiting);

  std::string text(const Readings& readings) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Of what text() gives.
inline constexpr std::string_view metrics_content_type = "text/plain; version=0.0.4; charset=utf-8";

}  // namespace dw::server
