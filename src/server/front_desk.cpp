#include "server/front_desk.hpp"

#include "core/trimmed.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <charconv>

namespace dw::server {
namespace {

std::string lower(std::string_view text) {
  std::string low{text};
  std::ranges::transform(low, low.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return low;
}

bool is_json(std::string_view content_type) {
  const std::string type = lower(trimmed(content_type.substr(0, content_type.find(';'))));
  return type == "application/json" || type.ends_with("+json");
}

Subject subject_of(const Match& match) {
  Subject subject;
  subject.workflow_id = match["workflow"];
  if (match.nearest) {
    subject.operation = match.nearest->operation;
  } else if (!subject.workflow_id.empty()) {
    subject.operation = Operation::describe;
  }
  subject.run_id = match["run"];
  subject.name = match["name"];
  return subject;
}

// Those who may not ask learn nothing about what they asked for.
bool enveloped(Plane plane, int status) {
  return plane == Plane::workflows && status != 401 && status != 403;
}

Response finished(Answer answer, Plane plane, const Subject& subject, bool compression) {
  Response response;
  response.status = answer.status;
  response.headers.reserve(4);
  response.headers.push_back({"Content-Type", "application/json"});
  if (plane == Plane::control || plane == Plane::workflows) {
    response.headers.push_back(
        {std::string{control_plane_header}, std::string{control_plane_version}});
  }
  if (answer.status == 429 || answer.status == 503) {
    response.headers.push_back({"Retry-After", "1"});
  }
  if (plane == Plane::worker) {
    response.headers.push_back(
        {std::string{worker_protocol_header}, std::string{worker_protocol_version}});
    with_worker_envelope(answer, compression);
  }
  if (enveloped(plane, answer.status)) with_envelope(answer, subject);
  response.body = body_text(std::move(answer));
  return response;
}

// "1.2": our major, and a minor no newer than ours.
bool speaks_our_protocol(std::string_view version) {
  const auto number = [](std::string_view text) {
    int value = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end == text.data() + text.size() && text.front() != '-' ? value
                                                                                           : -1;
  };
  const auto parts = [&](std::string_view text) {
    const auto dot = text.find('.');
    if (dot == 0 || dot == std::string_view::npos || dot + 1 == text.size()) {
      return std::pair{-1, -1};
    }
    return std::pair{number(text.substr(0, dot)), number(text.substr(dot + 1))};
  };
  const auto [major, minor] = parts(version);
  const auto [our_major, our_minor] = parts(worker_protocol_version);
  return major == our_major && minor >= 0 && minor <= our_minor;
}

std::optional<Answer> wrong_version(const Request& request, Plane plane) {
  const bool worker = plane == Plane::worker;
  const auto header = worker ? worker_protocol_header : control_plane_header;
  const auto supported = worker ? worker_protocol_version : control_plane_version;
  const auto version = trimmed(request.header(header));
  if (worker ? speaks_our_protocol(version) : version == supported) return {};
  const bool missing = version.empty();
  return refusal(400,
                 fmt::format("{}_{}_version", missing ? "missing" : "unsupported",
                             worker ? "protocol" : "control_plane"),
                 missing ? fmt::format("the header {} is missing", header)
                         : fmt::format("version '{}' is not spoken here", version),
                 {{"supported_version", supported},
                  {"requested_version", missing ? Value{} : Value{version}},
                  {"remediation", fmt::format("send {}: {}", header, supported)}});
}

std::optional<Answer> take_body(std::optional<Value> given, Value::Map& body) {
  if (!given) return {};
  if (auto* object = given->if_map()) {
    body = std::move(*object);
    return {};
  }
  // An empty list is how some clients write an empty object.
  if (const auto* list = given->if_array(); list && list->empty()) return {};
  return invalid({{"body", Value::Array{"must be a JSON object"}}});
}

}  // namespace

std::optional<Answer> misnamed(const Auth& auth, const Request& request,
                               std::string_view listens_as) {
  const std::string_view host = request.header("Host");
  if (auth.driver != Auth::Driver::none || means_this_machine(host, listens_as)) return {};
  return refusal(403, "forbidden",
                 fmt::format("this server asks nobody who they are and is for its own machine, and "
                             "'{}' may be anybody's name for it; use localhost or its number, or "
                             "set DW_AUTH_TOKEN",
                             host));
}

const Value* Call::field(std::string_view name) const {
  for (const auto& [key, value] : body) {
    if (key == name) return value.is_null() ? nullptr : &value;
  }
  return nullptr;
}

FrontDesk::FrontDesk(DeskOptions options, Service& control, Service& worker)
    : options_(std::move(options)),
      credentials_(options_.auth),
      cluster_info_(to_json(server::cluster_info(options_.about))),
      control_(control),
      worker_(worker) {}

void FrontDesk::handle(Request request, Respond respond) {
  Call call;
  call.match =
      request.match ? *std::exchange(request.match, {}) : match(request.method, request.target);
  if (const auto mark = request.target.find('?'); mark != std::string::npos) {
    call.query = request.target.substr(mark + 1);
  }
  call.client = request.client;
  call.caller.request_id = request.header(request_id_header);
  const Plane plane = call.match.plane;
  Subject subject = subject_of(call.match);
  if (auto no = refused(request, call.match, call)) {
    const bool names_methods = no->status == 405;
    auto response = finished(*std::move(no), plane, subject, options_.about.compression);
    if (names_methods) response.headers.push_back({"Allow", call.match.allowed});
    return respond(std::move(response));
  }
  if (call.operation() == Operation::cluster_info) {
    return respond({200, {{"Content-Type", "application/json"}}, cluster_info_});
  }
  Service& service = plane == Plane::worker ? worker_ : control_;
  // In one piece: a reply goes through many hands.
  struct Asker {
    Respond respond;
    Plane plane;
    Subject subject;
    bool compression;
    Stay stay;
  };
  const auto asker =
      std::make_shared<Asker>(Asker{std::move(respond), plane, std::move(subject),
                                    options_.about.compression, std::move(call.stay)});
  const Reply reply = [asker](Answer answer) {
    asker->stay.reset();
    asker->respond(finished(std::move(answer), asker->plane, asker->subject, asker->compression));
  };
  try {
    service.serve(std::move(call), reply);
  } catch (const std::exception& failure) {
    reply(broke_down(request.header(request_id_header), failure));
  }
}

std::optional<Answer> FrontDesk::refused(const Request& request, const Match& match,
                                         Call& call) const {
  if (!match.route) {
    if (match.known_path) {
      return refusal(
          405, "method_not_allowed",
          fmt::format("{} is not something to do with {}", request.method, request.target));
    }
    return refusal(404, "not_found", fmt::format("there is nothing at {}", request.target));
  }
  // What strangers send is looked at, not read: that takes time, and memory many times its length.
  auto stranger = unwelcome(request, call);
  std::optional<Value> body;
  if (auto no = misread(request, stranger ? nullptr : &body)) return no;
  if (stranger) return stranger;
  if (auto no = misaddressed(request, match, call)) return no;
  return take_body(std::move(body), call.body);
}

// Size, media type, syntax; then the body, where somebody wants it.
std::optional<Answer> FrontDesk::misread(const Request& request, std::optional<Value>* body) const {
  if (request.too_large || request.body.size() > options_.max_payload_bytes) {
    return refusal(413, "payload_too_large",
                   fmt::format("the body is longer than {} bytes", options_.max_payload_bytes),
                   {{"limit", static_cast<std::int64_t>(options_.max_payload_bytes)}});
  }
  if (request.method == "GET" || request.method == "HEAD" || request.body.empty()) return {};
  if (!is_json(request.header("Content-Type"))) {
    return refusal(
        415, "unsupported_media_type", "the body must be JSON, and its Content-Type must say so",
        {{"accepted_content_types", Value::Array{"application/json", "application/*+json"}}});
  }
  const auto malformed = [](const Error& error) {
    if (error.code == ErrorCode::integer_overflow) {
      return invalid({{"body", Value::Array{error.message}}});
    }
    return refusal(400, "malformed_json", "the body is not valid JSON",
                   {{"json_error", error.message}});
  };
  if (!body) {
    const auto checked = check_json(request.body);
    return checked ? std::nullopt : std::optional{malformed(checked.error())};
  }
  auto parsed = parse_json(request.body);
  if (!parsed) return malformed(parsed.error());
  *body = *std::move(parsed);
  return {};
}

std::optional<Answer> FrontDesk::unwelcome(const Request& request, Call& call) const {
  const Match& match = call.match;
  if (match.plane == Plane::open) return {};
  const auto auth = credentials_.in_force();
  if (auth->driver != Auth::Driver::none && !auth->has_secret()) {
    return refusal(500, "server_error",
                   "this server has no credentials to compare with; set DW_AUTH_TOKEN, or "
                   "DW_AUTH_DRIVER=none on a loopback address");
  }
  if (auto no = misnamed(*auth, request, options_.listens_as)) return no;
  const auto principal = authenticate(*auth, request);
  if (!principal) {
    const bool signs = auth->driver == Auth::Driver::signature;
    return refusal(401, "unauthorized",
                   fmt::format("the credential is missing or wrong; send it as '{}'",
                               signs ? "X-Signature: …" : "Authorization: Bearer …"));
  }
  call.caller.principal = *principal;
  if (principal->may(match.route->roles)) return {};
  Value::Array allowed;
  for (const Role role : {Role::worker, Role::operating, Role::admin}) {
    if (match.route->roles.include(role)) allowed.emplace_back(to_string(role));
  }
  return refusal(403, "forbidden",
                 fmt::format("role {} may not do this", to_string(principal->role)),
                 {{"role", to_string(principal->role)}, {"allowed_roles", std::move(allowed)}});
}

// Version, then namespace.
std::optional<Answer> FrontDesk::misaddressed(const Request& request, const Match& match,
                                              Call& call) const {
  if (match.plane == Plane::open || match.plane == Plane::discovery) return {};
  if (auto no = wrong_version(request, match.plane)) return no;
  if (const auto parameter = unreadable_parameter(call.query)) {
    return invalid({{std::string{*parameter},
                     Value::Array{"must be UTF-8 with percent escapes of two hex digits"}}});
  }
  if (match.route->pattern.starts_with("namespaces")) return {};
  std::string named = lower(trimmed(request.header("X-Namespace")));
  if (named.empty()) named = lower(call.parameter("namespace").value_or(""));
  if (named.empty()) named = options_.about.default_namespace;
  // Before anybody looks whether it is there: from here on it stays if it is.
  if (options_.guests && founds(match.route->operation)) {
    call.stay = options_.guests->enter(named);
    if (!call.stay) {
      return refusal(503, "unavailable",
                     fmt::format("namespace '{}' is about to be removed; try again in a second, "
                                 "should it stay",
                                 named),
                     {{"namespace", named}});
    }
  }
  if (!options_.namespace_exists(named)) {
    return refusal(404, "namespace_not_found", fmt::format("there is no namespace '{}'", named),
                   {{"namespace", named},
                    {"remediation", "name one that GET /api/namespaces lists, in X-Namespace"}});
  }
  call.ns = Namespace{named};
  return {};
}

}  // namespace dw::server
