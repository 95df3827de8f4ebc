#include "server/metrics.hpp"

#include "server/process_stats.hpp"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <array>
#include <atomic>
#include <limits>
#include <sstream>

namespace dw::server {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;

// What we answer by ourselves takes microseconds to milliseconds; a second is a bad day.
const prometheus::Histogram::BucketBoundaries answering_seconds{
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10};
// Long polls end after up to a minute, and most of them should end late: with nothing to do.
const prometheus::Histogram::BucketBoundaries waiting_seconds{0.01, 0.1, 1, 5, 10, 20, 30, 60};

constexpr std::array<std::string_view, 6> status_classes = {"1xx", "2xx", "3xx",
                                                            "4xx", "5xx", "other"};

std::size_t status_class(int status) {
  return status >= 100 && status < 600 ? static_cast<std::size_t>(status / 100 - 1)
                                       : status_classes.size() - 1;
}

double in_seconds(std::chrono::nanoseconds took) {
  return std::chrono::duration<double>{took}.count();
}

// One value, or one for each label, that somebody else has counted.
MetricFamily family(std::string name, std::string help, MetricType type) {
  return {std::move(name), std::move(help), type, {}};
}

void add_value(MetricFamily& to, double value, std::string label = {}, std::string name = {}) {
  prometheus::ClientMetric metric;
  if (!label.empty()) metric.label.push_back({std::move(label), std::move(name)});
  if (to.type == MetricType::Counter) {
    metric.counter.value = value;
  } else {
    metric.gauge.value = value;
  }
  to.metric.push_back(std::move(metric));
}

class Families {
 public:
  template <typename Number>
  void counter(std::string name, std::string help, Number value) {
    add(std::move(name), std::move(help), MetricType::Counter, static_cast<double>(value));
  }
  template <typename Number>
  void gauge(std::string name, std::string help, Number value) {
    add(std::move(name), std::move(help), MetricType::Gauge, static_cast<double>(value));
  }
  void add(MetricFamily more) { all_.push_back(std::move(more)); }
  std::vector<MetricFamily> take() { return std::move(all_); }

 private:
  void add(std::string name, std::string help, MetricType type, double value) {
    all_.push_back(family(std::move(name), std::move(help), type));
    add_value(all_.back(), value);
  }
  std::vector<MetricFamily> all_;
};

void add_store(Families& to, const store::StoreCounters& counted) {
  to.counter("dw_store_commits_total", "Transactions that became durable.", counted.commits);
  to.counter("dw_store_transitions_total", "Decisions in them.", counted.transitions);
  to.counter("dw_store_rows_total", "Rows inserted, updated or deleted.", counted.rows);
  to.counter("dw_store_history_bytes_total", "Bytes of history appended.", counted.bytes);
  to.counter("dw_store_fsyncs_total", "Times the store's file was synced.", counted.fsyncs);
}

void add_spread(Families& to, std::string name, std::string help, const dispatch::Spread& spread) {
  prometheus::ClientMetric metric;
  std::uint64_t so_far = 0;
  for (std::size_t i = 0; i < spread.counts.size(); ++i) {
    so_far += static_cast<std::uint64_t>(spread.counts[i]);
    const bool last = i == dispatch::Spread::bounds.size();
    metric.histogram.bucket.push_back(
        {so_far, last ? std::numeric_limits<double>::infinity()
                      : static_cast<double>(dispatch::Spread::bounds[i])});
  }
  metric.histogram.sample_count = so_far;
  metric.histogram.sample_sum = static_cast<double>(spread.sum_ms);
  auto added = family(std::move(name), std::move(help), MetricType::Histogram);
  added.metric.push_back(std::move(metric));
  to.add(std::move(added));
}

void add_schedules(Families& to, const dispatch::ScheduleTally::Counts& counted) {
  to.counter("dw_schedules_fires_total", "Actions that schedules started.", counted.fires);
  to.counter("dw_schedules_failures_total", "Actions that could not be started.", counted.failures);
  to.counter("dw_schedules_dropped_total", "Occurrences that passed unseen and were dropped.",
             counted.dropped);
  auto skips = family("dw_schedules_skips_total", "Occurrences that were skipped, by reason.",
                      MetricType::Counter);
  for (const auto& [reason, count] : counted.skips) {
    add_value(skips, static_cast<double>(count), "reason", reason);
  }
  if (!skips.metric.empty()) to.add(std::move(skips));
  to.gauge("dw_schedules_buffered", "Occurrences that wait for a run to end.", counted.buffered);
  add_spread(to, "dw_schedules_fire_lag_ms", "How long after its time an action was started.",
             counted.fire_lag);
  add_spread(to, "dw_schedules_tick_ms", "How long it took to judge all that was due.",
             counted.ticks);
}

void add_standing(Families& to, const dispatch::ScheduleStanding& standing) {
  const auto& counts = standing.counts;
  to.gauge("dw_schedules_active", "Schedules that fire.", counts.active);
  to.gauge("dw_schedules_paused", "Schedules that are paused.", counts.paused);
  to.gauge("dw_schedules_missed", "Active schedules that are late by more than two polls.",
           counts.late);
  to.gauge("dw_schedules_max_overdue_ms", "How late the latest of the active ones is.",
           standing.max_overdue_ms());
  if (counts.oldest_due) {
    to.gauge("dw_schedules_oldest_overdue_at", "When that one was due, in seconds since 1970.",
             static_cast<double>(to_micros(*counts.oldest_due)) / 1e6);
  }
}

void add_process(Families& to, const ProcessStats& stats) {
  to.counter("process_cpu_seconds_total", "Processor time used, user and system.",
             stats.cpu_seconds);
  to.gauge("process_start_time_seconds", "When this process started, since 1970.",
           stats.started_at);
  to.gauge("process_resident_memory_bytes", "Memory in use.", stats.resident_bytes);
  to.gauge("process_virtual_memory_bytes", "Address space in use.", stats.virtual_bytes);
  to.gauge("process_threads", "Threads of this process.", stats.threads);
  to.gauge("process_open_fds", "Open file descriptors.", stats.open_files);
  to.gauge("process_max_fds", "How many file descriptors may be open.", stats.max_files);
}

std::vector<MetricFamily> read_elsewhere(const Readings& readings) {
  Families families;
  if (readings.open_connections) {
    families.gauge("dw_http_connections", "Open connections.", *readings.open_connections);
  }
  if (readings.queued_commits) {
    families.gauge("dw_commit_queue", "Decisions waiting to become durable.",
                   *readings.queued_commits);
  }
  if (readings.store) add_store(families, *readings.store);
  if (readings.runs_started) {
    families.counter("dw_runs_started_total", "Runs opened since this process started.",
                     *readings.runs_started);
  }
  if (!readings.runs_closed.empty()) {
    auto closed = family("dw_runs_closed_total", "Runs closed since this process started.",
                         MetricType::Counter);
    for (const auto& [outcome, count] : readings.runs_closed) {
      add_value(closed, static_cast<double>(count), "outcome", outcome);
    }
    families.add(std::move(closed));
  }
  if (readings.schedules) add_schedules(families, *readings.schedules);
  if (readings.schedule_standing) add_standing(families, *readings.schedule_standing);
  if (const auto stats = read_process_stats()) add_process(families, *stats);
  return families.take();
}

}  // namespace

struct Metrics::Impl {
  template <typename Metric>
  using Slot = std::atomic<Metric*>;
  struct Slots {
    std::array<Slot<prometheus::Counter>, status_classes.size()> answers{};
    Slot<prometheus::Histogram> took{};
  };

  explicit Impl(const std::string& version) {
    prometheus::BuildGauge()
        .Name("dw_build_info")
        .Help("Always 1; the labels say what runs here.")
        .Register(registry)
        .Add({{"version", version}, {"compiler", __VERSION__}})
        .Set(1);
    for (const Waiting kind : all_waiting) {
      waits[static_cast<std::size_t>(kind)] =
          &waiting.Add({{"kind", std::string{to_string(kind)}}});
    }
  }

  prometheus::Counter& answers(const Endpoint& endpoint, std::size_t status) {
    auto& slot = slots[endpoint.index].answers[status];
    if (auto* known = slot.load(std::memory_order_acquire)) return *known;
    auto& added = requests.Add({{"route", std::string{endpoint.route}},
                                {"method", std::string{endpoint.method}},
                                {"status", std::string{status_classes[status]}}});
    slot.store(&added, std::memory_order_release);
    return added;
  }

  prometheus::Histogram& durations(const Endpoint& endpoint) {
    auto& slot = slots[endpoint.index].took;
    if (auto* known = slot.load(std::memory_order_acquire)) return *known;
    const bool waits_for_others = endpoint.waiting != Waiting::nobody;
    auto& added =
        (waits_for_others ? waited : took)
            .Add({{"route", std::string{endpoint.route}}, {"method", std::string{endpoint.method}}},
                 waits_for_others ? waiting_seconds : answering_seconds);
    slot.store(&added, std::memory_order_release);
    return added;
  }

  prometheus::Registry registry;
  prometheus::Family<prometheus::Counter>& requests = prometheus::BuildCounter()
                                                          .Name("dw_http_requests_total")
                                                          .Help("Answered requests.")
                                                          .Register(registry);
  prometheus::Family<prometheus::Histogram>& took =
      prometheus::BuildHistogram()
          .Name("dw_http_request_duration_seconds")
          .Help("From the whole request to its answer, where nobody else is waited for.")
          .Register(registry);
  prometheus::Family<prometheus::Histogram>& waited =
      prometheus::BuildHistogram()
          .Name("dw_http_wait_duration_seconds")
          .Help("The same for long polls, queries, updates and results, which wait for others.")
          .Register(registry);
  prometheus::Family<prometheus::Gauge>& waiting =
      prometheus::BuildGauge()
          .Name("dw_http_requests_waiting")
          .Help("Requests that wait for work, or for a worker, by what they wait for.")
          .Register(registry);
  prometheus::Counter& bytes = prometheus::BuildCounter()
                                   .Name("dw_http_response_bytes_total")
                                   .Help("Bytes of bodies sent, compressed where they were.")
                                   .Register(registry)
                                   .Add({});
  prometheus::Family<prometheus::Counter>& before =
      prometheus::BuildCounter()
          .Name("dw_http_compression_in_bytes_total")
          .Help("Bytes of bodies before they were compressed.")
          .Register(registry);
  prometheus::Family<prometheus::Counter>& after = prometheus::BuildCounter()
                                                       .Name("dw_http_compression_out_bytes_total")
                                                       .Help("The same bodies afterwards.")
                                                       .Register(registry);
  // Looking a metric up by its labels costs more than counting, so each is looked up once.
  std::vector<Slots> slots = std::vector<Slots>(endpoint_count());
  std::array<prometheus::Gauge*, 1 + std::size(all_waiting)> waits{};
};

Metrics::Metrics(const std::string& version) : impl_(std::make_unique<Impl>(version)) {}

Metrics::~Metrics() = default;

void Metrics::answered(const Endpoint& endpoint, int status, std::chrono::nanoseconds took,
                       std::size_t bytes) {
  impl_->answers(endpoint, status_class(status)).Increment();
  impl_->durations(endpoint).Observe(in_seconds(took));
  impl_->bytes.Increment(static_cast<double>(bytes));
}

void Metrics::compressed(std::string_view coding, std::size_t before, std::size_t after) {
  const prometheus::Labels labels{{"coding", std::string{coding}}};
  impl_->before.Add(labels).Increment(static_cast<double>(before));
  impl_->after.Add(labels).Increment(static_cast<double>(after));
}

void Metrics::wait_began(Waiting waiting) {
  if (auto* gauge = impl_->waits[static_cast<std::size_t>(waiting)]) gauge->Increment();
}

void Metrics::wait_ended(Waiting waiting) {
  if (auto* gauge = impl_->waits[static_cast<std::size_t>(waiting)]) gauge->Decrement();
}

std::string Metrics::text(const Readings& readings) const {
  auto families = impl_->registry.Collect();
  for (auto& more : read_elsewhere(readings)) families.push_back(std::move(more));
  std::ostringstream out;
  prometheus::TextSerializer{}.Serialize(out, families);
  return out.str();
}

}  // namespace dw::server
