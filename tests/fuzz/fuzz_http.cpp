// Anybody can send the front desk anything. It answers once, in JSON, and with a status that says
// whose mistake it was; what it lets pass is a route of the table.
#include "fuzz.hpp"
#include "server/front_desk.hpp"

using dw::fuzz::must_hold;
using namespace dw::server;

namespace {

// Answers with what it was asked, so that whatever came in goes out again.
class Parrot final : public Service {
 public:
  void serve(Call call, Reply reply) override {
    must_hold(call.match.route != nullptr, "only what has a route is served");
    dw::Value::Map body{{"parameter", call.parameter("namespace").value_or("")}};
    for (auto& [name, segment] : call.match.captured) body.emplace_back(name, segment);
    body.emplace_back("body", std::move(call.body));
    reply({200, std::move(body)});
  }
};

std::string_view take_line(std::string_view& rest) {
  const auto end = rest.find('\n');
  const auto line = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return line;
}

// "METHOD target", then headers, an empty line, and the body.
Request request_of(std::string_view text) {
  Request request;
  std::string_view first = take_line(text);
  const auto space = first.find(' ');
  request.method = first.substr(0, space);
  if (space != std::string_view::npos) request.target = first.substr(space + 1);
  while (!text.empty()) {
    const auto line = take_line(text);
    if (line.empty()) break;
    const auto colon = line.find(':');
    request.headers.push_back(
        {std::string{line.substr(0, colon)},
         std::string{colon == std::string_view::npos ? "" : line.substr(colon + 1)}});
  }
  request.body = text;
  return request;
}

void take_apart(const Request& request) {
  const auto path = parse_path(request.target);
  if (!path) return;
  const auto found = match(request.method, *path);
  must_hold(!found.route || found.known_path, "a route's path is known");
  for (const auto& [name, segment] : found.captured) {
    must_hold(!found.route || !segment.empty(), "a name is never empty");
  }
  query_value(path->query, "namespace");
  query_value(path->query, "");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Parrot parrot;
  static FrontDesk desk{
      {.auth = {.worker_secret = "w", .operator_secret = "o", .admin_secret = "a"},
       .about = {"host-1", "1.0", "default", 4096},
       .namespace_exists = [](std::string_view name) { return name == "default"; },
       .max_payload_bytes = 4096},
      parrot,
      parrot};
  Request request = request_of(dw::fuzz::text_of(data, size));
  take_apart(request);
  int answers = 0;
  desk.handle(std::move(request), [&](const Response& response) {
    ++answers;
    must_hold(response.status >= 200 && response.status < 500, "the server never blames itself");
    must_hold(dw::parse_json(response.body).has_value(), "every answer is JSON");
  });
  must_hold(answers == 1, "every request is answered once");
  return 0;
}
