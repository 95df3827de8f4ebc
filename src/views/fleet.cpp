#include "views/fleet.hpp"

#include "views/row_value.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace dw::views {
namespace {

std::vector<engine::WorkerHeartbeat> workers_for(const Account& account, const Sight& sight,
                                                 std::string_view queue) {
  if (!sight.fleet) return {};
  return engine::in_scope(sight.fleet->workers,
                          {sight.fleet->local.ns, account.state.start.connection, queue},
                          sight.now);
}

Support judge(const Account& account, const Sight& sight,
              const std::vector<engine::WorkerHeartbeat>& workers) {
  Support support;
  const std::string& required = account.state.start.compatibility;
  if (!sight.fleet || required.empty()) return support;
  const auto& supported = sight.fleet->local.supported;
  support.here = sight.fleet->local.supports(required);
  if (!support.here) {
    support.reason = fmt::format(
        "the run needs {}; this process supports {}", required,
        supported.empty() ? "no marker" : fmt::format("{}", fmt::join(supported, ", ")));
  }
  support.in_fleet = engine::any_supports(workers, required);
  if (workers.empty()) {
    support.fleet_reason = fmt::format("the run needs {}; no worker in scope is alive", required);
  } else if (!support.in_fleet) {
    support.fleet_reason = fmt::format(
        "the run needs {}; none of {} live workers in scope supports it", required, workers.size());
  }
  return support;
}

Value worker_value(const engine::WorkerHeartbeat& worker, const std::string& required) {
  RowValue row;
  row("worker_id", worker.worker_id)("namespace", worker.ns)("host", worker.host)(
      "process_id", worker.process_id)("connection", worker.connection)("queue", worker.queue)(
      "supported", worker.supported)("supports_required",
                                     engine::supports(worker.supported, required))(
      "recorded_at", worker.recorded_at)("expires_at", worker.expires_at)("source", "database");
  return row.take();
}

}  // namespace

Support support_of(const Account& account, const Sight& sight, std::string_view queue) {
  return judge(account, sight, workers_for(account, sight, queue));
}

bool somebody_takes(const Account& account, const Sight& sight, std::string_view queue) {
  const std::string& required = account.state.start.compatibility;
  if (!sight.fleet || required.empty()) return true;
  if (sight.fleet->local_works && sight.fleet->local.supports(required)) return true;
  return engine::any_supports(workers_for(account, sight, queue), required);
}

CompatibilityDetail compatibility_detail(const Account& account, const Sight& sight) {
  CompatibilityDetail detail;
  detail.compatibility = account.state.start.compatibility;
  if (sight.fleet) detail.ns = sight.fleet->local.ns;
  detail.fleet = workers_for(account, sight, account.state.start.queue);
  detail.support = judge(account, sight, detail.fleet);
  return detail;
}

Value to_value(const CompatibilityDetail& detail) {
  Value::Array fleet;
  for (const auto& worker : detail.fleet) {
    fleet.push_back(worker_value(worker, detail.compatibility));
  }
  RowValue row;
  row("compatibility", detail.compatibility)("compatibility_namespace", detail.ns)(
      "compatibility_supported", detail.support.here)(
      "compatibility_reason", detail.support.reason)("compatibility_supported_in_fleet",
                                                     detail.support.in_fleet)(
      "compatibility_fleet_reason", detail.support.fleet_reason)("compatibility_fleet",
                                                                 Value{std::move(fleet)});
  return row.take();
}

}  // namespace dw::views
