#include "server/endpoint.hpp"

#include "server/routes.hpp"

#include <algorithm>
#include <array>

namespace dw::server {
namespace {

// What is not a route of the API: a name for everything at or below a path. The last takes the
// rest.
struct Surroundings {
  std::string_view below;
  std::string_view shown;
};
constexpr std::array surroundings = {
    Surroundings{metrics_path, metrics_path},
    Surroundings{"/api", "/api/(unknown)"},
    Surroundings{"/waterline", "/waterline"},
    Surroundings{"/webhooks", "/webhooks"},
    Surroundings{"", "(other)"},
};
constexpr std::array<std::string_view, 8> methods = {"GET",   "HEAD",   "POST",    "PUT",
                                                     "PATCH", "DELETE", "OPTIONS", "(other)"};

Waiting waiting_at(Operation operation) {
  switch (operation) {
    case Operation::poll_workflow_task:
      return Waiting::workflow_task;
    case Operation::poll_activity_task:
      return Waiting::activity_task;
    case Operation::poll_query_task:
      return Waiting::query_task;
    case Operation::poll_update_validation_task:
      return Waiting::update_validation_task;
    case Operation::exchange:
      return Waiting::exchange;
    case Operation::query:
      return Waiting::query;
    case Operation::update:
      return Waiting::update;
    case Operation::result:
      return Waiting::result;
    case Operation::history:
      return Waiting::history;
    default:
      return Waiting::nobody;
  }
}

struct EndpointTable {
  EndpointTable() {
    for (const Route& route : routes()) paths.push_back("/api/" + std::string{route.pattern});
    for (const Route& route : routes()) {
      endpoints.push_back({endpoints.size(), paths[endpoints.size()], route.method,
                           waiting_at(route.operation),
                           route.plane != Plane::open && route.plane != Plane::discovery});
    }
    for (const auto& place : surroundings) {
      for (const auto method : methods)
        endpoints.push_back({endpoints.size(), place.shown, method});
    }
  }
  std::vector<std::string> paths;  // what the routes among the endpoints show
  std::vector<Endpoint> endpoints;
};

const EndpointTable& endpoint_table() {
  static const EndpointTable table;
  return table;
}

bool at_or_below(std::string_view path, std::string_view place) {
  if (!path.starts_with(place)) return false;
  return place.empty() || path.size() == place.size() || path[place.size()] == '/';
}

std::size_t surroundings_of(const Request& request) {
  const std::string_view path =
      std::string_view{request.target}.substr(0, request.target.find('?'));
  const auto place = std::ranges::find_if(
      surroundings, [&](const Surroundings& each) { return at_or_below(path, each.below); });
  const auto method = std::find(methods.begin(), methods.end() - 1, request.method);
  return static_cast<std::size_t>(place - surroundings.begin()) * methods.size() +
         static_cast<std::size_t>(method - methods.begin());
}

}  // namespace

std::string_view to_string(Waiting waiting) {
  switch (waiting) {
    case Waiting::nobody:
      return "nobody";
    case Waiting::workflow_task:
      return "workflow_task";
    case Waiting::activity_task:
      return "activity_task";
    case Waiting::query_task:
      return "query_task";
    case Waiting::update_validation_task:
      return "update_validation_task";
    case Waiting::exchange:
      return "exchange";
    case Waiting::query:
      return "query";
    case Waiting::update:
      return "update";
    case Waiting::result:
      return "result";
    case Waiting::history:
      return "history";
  }
  return "unknown";
}

const Endpoint& endpoint_of(const Request& request) {
  const auto& endpoints = endpoint_table().endpoints;
  const Route* route =
      request.match ? request.match->route : match(request.method, request.target).route;
  if (route) return endpoints[static_cast<std::size_t>(route - routes().data())];
  return endpoints[routes().size() + surroundings_of(request)];
}

std::size_t endpoint_count() {
  return endpoint_table().endpoints.size();
}

}  // namespace dw::server
