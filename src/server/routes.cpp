#include "server/routes.hpp"

#include "core/utf8.hpp"

#include <algorithm>
#include <unordered_map>

namespace dw::server {
namespace {

using Op = Operation;

constexpr Route table[] = {
    {"GET", "health", Op::health, Plane::open, anybody},
    {"GET", "ready", Op::ready, Plane::open, anybody},
    {"GET", "cluster/info", Op::cluster_info, Plane::discovery, anybody},
    {"GET", "namespaces", Op::list_namespaces, Plane::control, operators},
    {"GET", "namespaces/{namespace}", Op::describe_namespace, Plane::control, operators},
    {"POST", "namespaces", Op::create_namespace, Plane::control, admins},
    {"PUT", "namespaces/{namespace}", Op::update_namespace, Plane::control, admins},
    {"DELETE", "namespaces/{namespace}", Op::remove_namespace, Plane::control, admins},
    {"PUT", "namespaces/{namespace}/external-storage", Op::set_namespace_storage, Plane::control,
     admins},
    {"POST", "storage/test", Op::test_storage, Plane::control, admins},
    {"GET", "workflows", Op::list, Plane::workflows, operators},
    {"POST", "workflows", Op::start, Plane::workflows, operators},
    {"GET", "workflows/{workflow}", Op::describe, Plane::workflows, operators},
    {"GET", "workflows/{workflow}/runs", Op::list_runs, Plane::workflows, operators},
    {"GET", "workflows/{workflow}/runs/{run}", Op::describe_run, Plane::workflows, operators},
    {"GET", "workflows/{workflow}/debug", Op::debug, Plane::workflows, operators},
    {"GET", "workflows/{workflow}/runs/{run}/debug", Op::debug, Plane::workflows, operators},
    {"GET", "workflows/{workflow}/runs/{run}/history", Op::history, Plane::workflows, operators},
    {"GET", "workflows/{workflow}/runs/{run}/history/export", Op::export_history, Plane::control,
     operators},
    {"GET", "workflows/{workflow}/runs/{run}/result", Op::result, Plane::workflows, operators},
    {"POST", "workflows/{workflow}/signal/{name}", Op::signal, Plane::workflows, operators},
    {"POST", "workflows/{workflow}/query/{name}", Op::query, Plane::workflows, operators},
    {"POST", "workflows/{workflow}/update/{name}", Op::update, Plane::workflows, operators},
    {"POST", "workflows/{workflow}/cancel", Op::cancel, Plane::workflows, operators},
    {"POST", "workflows/{workflow}/terminate", Op::terminate, Plane::workflows, operators},
    {"POST", "workflows/{workflow}/repair", Op::repair, Plane::workflows, operators},
    {"POST", "workflows/{workflow}/archive", Op::archive, Plane::workflows, operators},
    {"POST", "workflows/import", Op::import_workflows, Plane::workflows, operators},
    {"POST", "workflows/import/waterline-v1", Op::import_workflows, Plane::workflows, operators},
    {"POST", "workflows/import/embedded-v2", Op::import_workflows, Plane::workflows, operators},
    {"POST", "workflows/{workflow}/runs/{run}/signal/{name}", Op::signal, Plane::workflows,
     operators},
    {"POST", "workflows/{workflow}/runs/{run}/query/{name}", Op::query, Plane::workflows,
     operators},
    {"POST", "workflows/{workflow}/runs/{run}/update/{name}", Op::update, Plane::workflows,
     operators},
    {"POST", "workflows/{workflow}/runs/{run}/cancel", Op::cancel, Plane::workflows, operators},
    {"POST", "workflows/{workflow}/runs/{run}/terminate", Op::terminate, Plane::workflows,
     operators},
    {"POST", "activities", Op::start_activity, Plane::control, operators},
    {"GET", "activities", Op::list_activities, Plane::control, operators},
    {"GET", "activities/{activity}", Op::describe_activity, Plane::control, operators},
    {"GET", "workers", Op::list_workers, Plane::control, operators},
    {"GET", "workers/{worker}", Op::describe_worker, Plane::control, operators},
    {"DELETE", "workers/{worker}", Op::remove_worker, Plane::control, admins},
    {"GET", "task-queues", Op::list_task_queues, Plane::control, operators},
    {"GET", "task-queues/{queue}", Op::describe_task_queue, Plane::control, operators},
    {"GET", "task-queues/{queue}/build-ids", Op::list_build_ids, Plane::control, operators},
    {"POST", "task-queues/{queue}/build-ids/drain", Op::drain_build_id, Plane::control, operators},
    {"POST", "task-queues/{queue}/build-ids/resume", Op::resume_build_id, Plane::control,
     operators},
    {"POST", "task-queues/{queue}/build-ids/promote", Op::promote_build_id, Plane::control,
     operators},
    {"GET", "search-attributes", Op::list_search_attributes, Plane::control, operators},
    {"POST", "search-attributes", Op::create_search_attribute, Plane::control, operators},
    {"DELETE", "search-attributes/{name}", Op::remove_search_attribute, Plane::control, operators},
    {"GET", "schedules", Op::list_schedules, Plane::control, operators},
    {"POST", "schedules", Op::create_schedule, Plane::control, operators},
    {"GET", "schedules/{schedule}", Op::describe_schedule, Plane::control, operators},
    {"PUT", "schedules/{schedule}", Op::update_schedule, Plane::control, operators},
    {"DELETE", "schedules/{schedule}", Op::delete_schedule, Plane::control, operators},
    {"POST", "schedules/{schedule}/pause", Op::pause_schedule, Plane::control, operators},
    {"POST", "schedules/{schedule}/resume", Op::resume_schedule, Plane::control, operators},
    {"POST", "schedules/{schedule}/trigger", Op::trigger_schedule, Plane::control, operators},
    {"POST", "schedules/{schedule}/backfill", Op::backfill_schedule, Plane::control, operators},
    {"GET", "schedules/{schedule}/history", Op::schedule_history, Plane::control, operators},
    {"GET", "schedules/{schedule}/actions", Op::schedule_actions, Plane::control, operators},
    {"GET", "schedules/{schedule}/preview", Op::preview_schedule, Plane::control, operators},
    {"GET", "schedules/{schedule}/lint", Op::lint_schedule, Plane::control, operators},
    {"PUT", "schedules/{schedule}/calendar", Op::attach_calendar, Plane::control, operators},
    {"DELETE", "schedules/{schedule}/calendar", Op::detach_calendar, Plane::control, operators},
    {"GET", "schedules/{schedule}/condition", Op::read_condition, Plane::control, operators},
    {"PUT", "schedules/{schedule}/condition", Op::set_condition, Plane::control, operators},
    {"DELETE", "schedules/{schedule}/condition", Op::clear_condition, Plane::control, operators},
    {"GET", "schedules/{schedule}/rotation", Op::read_rotation, Plane::control, operators},
    {"PUT", "schedules/{schedule}/rotation", Op::set_rotation, Plane::control, operators},
    {"DELETE", "schedules/{schedule}/rotation", Op::clear_rotation, Plane::control, operators},
    {"GET", "calendars", Op::list_calendars, Plane::control, anybody},
    {"POST", "calendars", Op::create_calendar, Plane::control, operators},
    {"POST", "calendars/import", Op::import_calendar, Plane::control, operators},
    {"GET", "calendars/{calendar}", Op::describe_calendar, Plane::control, anybody},
    {"PUT", "calendars/{calendar}", Op::update_calendar, Plane::control, operators},
    {"DELETE", "calendars/{calendar}", Op::remove_calendar, Plane::control, operators},
    {"POST", "calendars/{calendar}/clone", Op::clone_calendar, Plane::control, operators},
    {"GET", "calendars/{calendar}/expand", Op::expand_calendar, Plane::control, anybody},
    {"POST", "bridge-adapters/webhook/{adapter}", Op::bridge_webhook, Plane::control, operators},
    {"GET", "system/repair", Op::repair_status, Plane::control, admins},
    {"POST", "system/repair/pass", Op::repair_pass, Plane::control, admins},
    {"GET", "system/activity-timeouts", Op::activity_timeout_status, Plane::control, admins},
    {"POST", "system/activity-timeouts/pass", Op::activity_timeout_pass, Plane::control, admins},
    {"GET", "system/retention", Op::retention_status, Plane::control, admins},
    {"POST", "system/retention/pass", Op::retention_pass, Plane::control, admins},
    {"GET", "system/health", Op::system_health, Plane::control, admins},
    {"GET", "system/metrics", Op::system_metrics, Plane::control, admins},
    {"GET", "system/operator-metrics", Op::operator_metrics, Plane::control, admins},
    {"POST", "system/schedules/tick", Op::tick_schedules, Plane::control, admins},
    {"GET", "system/schedules/freeze", Op::schedule_control, Plane::control, admins},
    {"POST", "system/schedules/freeze", Op::freeze_schedules, Plane::control, admins},
    {"DELETE", "system/schedules/freeze", Op::unfreeze_schedules, Plane::control, admins},
    {"POST", "system/schedules/purge", Op::purge_schedules, Plane::control, admins},
    {"POST", "worker/register", Op::register_worker, Plane::worker, workers_only},
    {"DELETE", "worker/registrations/{worker}", Op::deregister_worker, Plane::worker, workers_only},
    {"POST", "worker/heartbeat", Op::heartbeat_worker, Plane::worker, workers_only},
    {"POST", "worker/exchange", Op::exchange, Plane::worker, workers_only},
    {"POST", "worker/workflow-tasks/poll", Op::poll_workflow_task, Plane::worker, workers_only},
    {"POST", "worker/workflow-tasks/{task}/history", Op::workflow_task_history, Plane::worker,
     workers_only},
    {"POST", "worker/workflow-tasks/{task}/complete", Op::complete_workflow_task, Plane::worker,
     workers_only},
    {"POST", "worker/workflow-tasks/{task}/fail", Op::fail_workflow_task, Plane::worker,
     workers_only},
    {"POST", "worker/workflow-tasks/{task}/heartbeat", Op::heartbeat_workflow_task, Plane::worker,
     workers_only},
    {"POST", "worker/activity-tasks/poll", Op::poll_activity_task, Plane::worker, workers_only},
    {"POST", "worker/activity-tasks/{task}/complete", Op::complete_activity_task, Plane::worker,
     workers_only},
    {"POST", "worker/activity-tasks/{task}/fail", Op::fail_activity_task, Plane::worker,
     workers_only},
    {"POST", "worker/activity-tasks/{task}/heartbeat", Op::heartbeat_activity_task, Plane::worker,
     workers_only},
    {"POST", "worker/query-tasks/poll", Op::poll_query_task, Plane::worker, workers_only},
    {"POST", "worker/query-tasks/{task}/complete", Op::complete_query_task, Plane::worker,
     workers_only},
    {"POST", "worker/query-tasks/{task}/fail", Op::fail_query_task, Plane::worker, workers_only},
    {"POST", "worker/update-validation-tasks/poll", Op::poll_update_validation_task, Plane::worker,
     workers_only},
    {"POST", "worker/update-validation-tasks/{task}/approve", Op::approve_update_validation_task,
     Plane::worker, workers_only},
    {"POST", "worker/update-validation-tasks/{task}/reject", Op::reject_update_validation_task,
     Plane::worker, workers_only},
};

constexpr std::size_t longest_pattern = 6;  // in segments

std::optional<unsigned char> hex_digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned char>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned char>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<unsigned char>(c - 'A' + 10);
  return std::nullopt;
}

std::optional<std::string> unescaped(std::string_view text, bool plus_is_space) {
  const bool escapes = text.find('%') != std::string_view::npos ||
                       (plus_is_space && text.find('+') != std::string_view::npos);
  if (!escapes) return std::string{text};
  std::string plain;
  plain.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus_is_space) {
      plain += ' ';
    } else if (text[i] != '%') {
      plain += text[i];
    } else {
      if (i + 2 >= text.size()) return std::nullopt;
      const auto high = hex_digit(text[i + 1]), low = hex_digit(text[i + 2]);
      if (!high || !low) return std::nullopt;
      plain += static_cast<char>(*high << 4 | *low);
      i += 2;
    }
  }
  return plain;
}

// Takes what stands before `separator` off the front of `rest`.
std::string_view next_part(std::string_view& rest, char separator) {
  const auto end = rest.find(separator);
  const auto part = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
  return part;
}

// A route with its pattern taken apart.
struct Trail {
  const Route* route;
  std::vector<std::string_view> parts;
};

bool is_capture(std::string_view part) {
  return part.starts_with('{');
}

// Those of the table whose pattern begins with that word, as every pattern does with some word.
std::span<const Trail> trails_from(std::string_view first) {
  static const auto all = [] {
    std::unordered_map<std::string_view, std::vector<Trail>> trails;
    for (const Route& route : table) {
      Trail trail{&route, {}};
      for (auto rest = route.pattern; !rest.empty();) trail.parts.push_back(next_part(rest, '/'));
      trails[trail.parts.front()].push_back(std::move(trail));
    }
    return trails;
  }();
  const auto found = all.find(first);
  return found == all.end() ? std::span<const Trail>{} : found->second;
}

bool fits(const Trail& trail, const std::vector<std::string>& segments) {
  return std::ranges::equal(trail.parts, segments, [](std::string_view part, const auto& segment) {
    return is_capture(part) ? !segment.empty() : part == segment;
  });
}

decltype(Match::captured) captured_by(const Trail& trail,
                                      const std::vector<std::string>& segments) {
  decltype(Match::captured) captured;
  for (std::size_t i = 0; i < trail.parts.size(); ++i) {
    const auto part = trail.parts[i];
    if (is_capture(part)) captured.emplace_back(part.substr(1, part.size() - 2), segments[i]);
  }
  return captured;
}

}  // namespace

std::string_view to_string(Role role) {
  switch (role) {
    case Role::worker:
      return "worker";
    case Role::operating:
      return "operator";
    case Role::admin:
      return "admin";
  }
  return "unknown";
}

std::span<const Route> routes() {
  return table;
}

bool founds(Operation operation) {
  switch (operation) {
    case Op::start:
    case Op::start_activity:
    case Op::bridge_webhook:
    case Op::create_schedule:
    case Op::create_search_attribute:
    case Op::create_calendar:
    case Op::import_calendar:
    case Op::clone_calendar:
    case Op::drain_build_id:
    case Op::resume_build_id:
    case Op::promote_build_id:
    case Op::register_worker:
      return true;
    default:
      return false;
  }
}

std::optional<Path> parse_path(std::string_view target) {
  Path path;
  std::string_view rest = next_part(target, '?');
  path.query = target;
  if (!rest.starts_with('/')) return std::nullopt;
  rest.remove_prefix(1);
  if (next_part(rest, '/') != "api") return std::nullopt;
  path.segments.reserve(longest_pattern);
  while (!rest.empty()) {
    const auto written = next_part(rest, '/');
    auto segment = unescaped(written, false);
    path.sound = path.sound && segment && is_utf8(*segment);
    path.segments.push_back(segment ? *std::move(segment) : std::string{written});
  }
  return path;
}

std::string_view Match::operator[](std::string_view name) const {
  for (const auto& [captured_name, segment] : captured) {
    if (captured_name == name) return segment;
  }
  return {};
}

Match match(std::string_view method, const Path& path) {
  Match found;
  if (method == "HEAD") method = "GET";  // whoever writes the answer leaves the body out
  if (path.segments.empty()) return found;
  const std::string& first = path.segments.front();
  if (first == "workflows") found.plane = Plane::workflows;
  if (first == "worker") found.plane = Plane::worker;
  for (const Trail& trail : trails_from(first)) {
    if (!fits(trail, path.segments)) continue;
    const Route& route = *trail.route;
    const bool asked_for = route.method == method;
    if (!asked_for) {
      found.allowed += found.allowed.empty() ? "" : ", ";
      found.allowed += route.method == "GET" ? "GET, HEAD" : route.method;
    }
    if (found.nearest && !asked_for) continue;
    found.nearest = &route;
    found.plane = route.plane;
    found.captured = captured_by(trail, path.segments);
    found.known_path = path.sound;
    if (!asked_for) continue;
    if (path.sound) found.route = &route;
    return found;
  }
  // Whatever is asked of a workflow, it is about that one.
  const bool of_a_workflow = found.plane == Plane::workflows && path.segments.size() > 1;
  if (!found.nearest && of_a_workflow) found.captured = {{"workflow", path.segments[1]}};
  return found;
}

Match match(std::string_view method, std::string_view target) {
  const auto path = parse_path(target);
  return path ? match(method, *path) : Match{};
}

std::optional<std::string> query_value(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    std::string_view pair = next_part(query, '&');
    const auto key = unescaped(next_part(pair, '='), true);
    if (key && *key == name) return unescaped(pair, true);
  }
  return std::nullopt;
}

std::optional<std::string_view> unreadable_parameter(std::string_view query) {
  const auto reads = [](std::string_view text) {
    const auto plain = unescaped(text, true);
    return plain && is_utf8(*plain);
  };
  while (!query.empty()) {
    std::string_view pair = next_part(query, '&');
    const auto key = next_part(pair, '=');
    if (!reads(key) || !reads(pair)) return key;
  }
  return std::nullopt;
}

std::vector<std::string> query_names(std::string_view query) {
  std::vector<std::string> names;
  while (!query.empty()) {
    std::string_view pair = next_part(query, '&');
    if (auto key = unescaped(next_part(pair, '='), true); key && !key->empty()) {
      names.push_back(*std::move(key));
    }
  }
  return names;
}

}  // namespace dw::server
