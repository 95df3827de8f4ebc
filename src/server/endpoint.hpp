// What a request counts as in metrics and in the access log: the pattern of its route, never what
// stands in the pattern's place. There are only so many of them, whatever clients ask for.
#pragma once
#include "server/http.hpp"

#include <cstddef>
#include <string_view>

namespace dw::server {

// Requests that wait for somebody else: how long they take says nothing about this server.
enum class Waiting {
  nobody,
  workflow_task,
  activity_task,
  query_task,
  update_validation_task,
  exchange,  // a native worker, for any of these
  query,
  update,
  result,
  history,  // whoever follows one; others are not told apart
};
inline constexpr Waiting all_waiting[] = {Waiting::workflow_task, Waiting::activity_task,
                                          Waiting::query_task,    Waiting::update_validation_task,
                                          Waiting::exchange,      Waiting::query,
                                          Waiting::update,        Waiting::result,
                                          Waiting::history};
std::string_view to_string(Waiting waiting);  // workflow_task, …

struct Endpoint {
  std::size_t index = 0;    // below endpoint_count()
  std::string_view route;   // "/api/workflows/{workflow}", or "/api/(unknown)"
  std::string_view method;  // "GET", …; "(other)" for what nobody has heard of
  Waiting waiting = Waiting::nobody;
  bool in_namespace = false;  // the request is about things of one namespace
};

inline constexpr std::string_view metrics_path = "/metrics";

const Endpoint& endpoint_of(const Request& request);
std::size_t endpoint_count();

}  // namespace dw::server
