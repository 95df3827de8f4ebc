// Which request is which operation, and who may ask for it. One table: the auth matrix test reads
// it beside the one in the specification.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dw::server {

// Whose rules of conversation apply: version header, envelope, namespace.
enum class Plane {
  open,       // health and readiness: nothing is asked of the caller
  discovery,  // cluster/info: authenticated, no version yet
  control,    // everything an operator does
  workflows,  // likewise, with the control_plane envelope around every answer
  worker,     // what workers poll for and report
};

enum class Role { worker, operating, admin };
std::string_view to_string(Role role);  // worker, operator, admin

// A set of them.
struct Roles {
  bool worker = false;
  bool operating = false;
  bool admin = false;

  constexpr bool include(Role role) const {
    return role == Role::worker ? worker : role == Role::operating ? operating : admin;
  }
};
inline constexpr Roles anybody{true, true, true};
inline constexpr Roles operators{.operating = true, .admin = true};
inline constexpr Roles admins{.admin = true};
inline constexpr Roles workers_only{.worker = true};

enum class Operation {
  health,
  ready,
  cluster_info,
  list_namespaces,
  describe_namespace,
  create_namespace,
  update_namespace,
  remove_namespace,
  set_namespace_storage,
  test_storage,
  list,
  start,
  describe,
  list_runs,
  describe_run,
  debug,
  history,
  export_history,
  result,
  signal,
  query,
  update,
  cancel,
  terminate,
  repair,
  archive,
  import_workflows,
  start_activity,
  list_activities,
  describe_activity,
  list_workers,
  describe_worker,
  remove_worker,
  list_task_queues,
  describe_task_queue,
  list_build_ids,
  drain_build_id,
  resume_build_id,
  promote_build_id,
  list_search_attributes,
  create_search_attribute,
  remove_search_attribute,
  list_schedules,
  create_schedule,
  describe_schedule,
  update_schedule,
  delete_schedule,
  pause_schedule,
  resume_schedule,
  trigger_schedule,
  backfill_schedule,
  schedule_history,
  schedule_actions,
  preview_schedule,
  lint_schedule,
  attach_calendar,
  detach_calendar,
  read_condition,
  set_condition,
  clear_condition,
  read_rotation,
  set_rotation,
  clear_rotation,
  list_calendars,
  create_calendar,
  import_calendar,
  describe_calendar,
  update_calendar,
  remove_calendar,
  clone_calendar,
  expand_calendar,
  bridge_webhook,
  repair_status,
  repair_pass,
  activity_timeout_status,
  activity_timeout_pass,
  retention_status,
  retention_pass,
  system_health,
  system_metrics,
  operator_metrics,
  tick_schedules,
  schedule_control,
  freeze_schedules,
  unfreeze_schedules,
  purge_schedules,
  register_worker,
  deregister_worker,
  heartbeat_worker,
  exchange,
  poll_workflow_task,
  workflow_task_history,
  complete_workflow_task,
  fail_workflow_task,
  heartbeat_workflow_task,
  poll_activity_task,
  complete_activity_task,
  fail_activity_task,
  heartbeat_activity_task,
  poll_query_task,
  complete_query_task,
  fail_query_task,
  poll_update_validation_task,
  approve_update_validation_task,
  reject_update_validation_task,
};
// Makes something that a namespace may have without any of its runs or schedules.
bool founds(Operation operation);

struct Route {
  std::string_view method;
  std::string_view pattern;  // below /api; {name} takes one segment
  Operation operation;
  Plane plane;
  Roles roles;
};
std::span<const Route> routes();

// A request's path taken apart. Segments are decoded once; the query is not touched.
struct Path {
  std::vector<std::string> segments;  // without the leading "api"
  std::string_view query;
  bool sound = true;  // an escape that is broken stands as it was written, and leads nowhere
};
// Absent when it is not below /api.
std::optional<Path> parse_path(std::string_view target);

struct Match {
  const Route* route = nullptr;    // null: nothing here answers to that method
  const Route* nearest = nullptr;  // of this path: that route, or one with another method
  std::vector<std::pair<std::string_view, std::string>> captured;  // {name} → its segment
  bool known_path = false;                                         // with another method
  std::string allowed = {};      // those methods, as Allow has them
  Plane plane = Plane::control;  // of the path, known or not

  // The segment captured as that name; empty when there is none.
  std::string_view operator[](std::string_view name) const;
};
Match match(std::string_view method, const Path& path);
// Of a request as it was sent; nothing is matched where the path is not below /api.
Match match(std::string_view method, std::string_view target);

// The first value of that name in a query, decoded; absent when it is not there.
std::optional<std::string> query_value(std::string_view query, std::string_view name);
// The first whose name or value cannot be decoded, as it was written. To overlook one would be to
// do something else than was asked, and to something else.
std::optional<std::string_view> unreadable_parameter(std::string_view query);
// Every name in a query, decoded, in the order they were written.
std::vector<std::string> query_names(std::string_view query);

}  // namespace dw::server
