// Work that is due and has nobody yet: is there a worker that would take it? Pure.
#pragma once
#include "server/debug_findings.hpp"

namespace dw::server {

struct Demand {
  WorkKind kind = WorkKind::workflow;
  Namespace ns = {};
  std::string type = {};
  std::string queue = {};
  std::string build = {};  // empty: any
  Value::Map about = {};   // what a finding is to name

  bool of_activity() const { return kind == WorkKind::activity; }
};

// Why nobody takes it, or why it takes its time. Absent: it is about to be taken.
std::optional<Finding> unmet_demand(const Demand& demand, const QueueSeen& queue, Timestamp now);

// `dw …`, as an operator types it.
std::string shell_line(const Namespace& ns, std::string_view command);

std::string whole_seconds(Duration duration);  // "45 s"

}  // namespace dw::server
