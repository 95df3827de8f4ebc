// For tests: a command line, a server that answers as told, and what came of it.
#pragma once
#include "cli/client_commands.hpp"

#include <dw/value.hpp>

#include <deque>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace dw::cli {

// A description that every check accepts.
inline std::string fitting_cluster_info() {
  return R"({"server_id":"s1","version":"2.0.0","default_namespace":"default",
    "client_compatibility":{"authority":"protocol_manifests",
      "clients":{"cli":{"supported_versions":">=0.1,<3.0"}}},
    "control_plane":{"version":"2","request_contract":{
      "schema":"durable-workflow.v2.control-plane-request.contract","version":1,"operations":{
        "list":{"fields":{"status":{"canonical_values":["running","completed","failed"],
          "rejected_aliases":{"cancelled":"failed"}}}},
        "start":{"fields":{"duplicate_policy":{"canonical_values":["fail","use-existing"],
          "rejected_aliases":{"use_existing":"use-existing"}}}},
        "update":{"fields":{"wait_for":{"canonical_values":["accepted","completed"]}}}}}},
    "worker_protocol":{"version":"1.19","server_capabilities":{"long_poll_timeout":30}}})";
}

struct Ran {
  int code = 0;
  std::string out;
  std::string err;

  Value document() const {
    return parse_json(out).value_or(Value{"not one JSON document: " + out});
  }
};

class ClientStory {
 public:
  struct Sent {
    std::string method;
    std::string target;
    std::string body;
    client::HttpHeaders headers;
    std::chrono::milliseconds timeout;
  };

  // The next request after the check gets this answer; the last one said stays.
  ClientStory& answers(std::string body, int status = 200) {
    answers_.push_back(client::HttpReply{.status = status, .body = std::move(body)});
    return *this;
  }
  ClientStory& replies(client::HttpReply reply) {
    answers_.push_back(std::move(reply));
    return *this;
  }
  ClientStory& answers(Error error) {
    answers_.push_back(std::move(error));
    return *this;
  }
  ClientStory& describes_itself(std::string info, int status = 200) {
    info_ = client::HttpReply{.status = status, .body = std::move(info)};
    return *this;
  }
  ClientStory& cannot_be_reached(Error error) {
    info_ = error;
    return answers(std::move(error));
  }
  ClientStory& environment(std::string name, std::string value) {
    environment_[std::move(name)] = std::move(value);
    return *this;
  }
  ClientStory& on_a_terminal(std::string typed) {
    terminal_ = true;
    typed_ = std::move(typed);
    return *this;
  }
  ClientStory& standard_input(std::string text) {
    typed_ = std::move(text);
    return *this;
  }

  Ran run(std::vector<std::string> words, const std::vector<std::string>& local = {}) {
    std::ostringstream out, err;
    std::istringstream in{typed_};
    const ClientIo io{.build = {.version = "0.1.0"},
                      .out = out,
                      .err = err,
                      .in = in,
                      .in_is_terminal = terminal_,
                      .out_is_terminal = terminal_,
                      .environment = [this](std::string_view name) -> std::optional<std::string> {
                        const auto found = environment_.find(name);
                        if (found == environment_.end()) return std::nullopt;
                        return found->second;
                      },
                      .connect = [this](const client::HttpClientOptions& options) -> Transport {
                        connected_to = options.url;
                        return [this](client::HttpRequest request) {
                          return reply(std::move(request));
                        };
                      },
                      .pause = [this](std::chrono::milliseconds time) { paused += time; },
                      .new_id = [this] { return "id-" + std::to_string(++ids_); }};
    std::vector<const char*> argv{"dw"};
    for (const std::string& word : words) argv.push_back(word.c_str());
    const auto understood =
        understand(static_cast<int>(argv.size()), argv.data(), local, terminal_);
    Ran ran;
    ran.code = run_client_command(understood, io);
    ran.out = out.str();
    ran.err = err.str();
    return ran;
  }

  std::vector<Sent> sent;  // without the checks of /cluster/info
  std::string connected_to;
  std::chrono::milliseconds paused{0};

 private:
  using Answer = Result<client::HttpReply>;

  Answer reply(client::HttpRequest request) {
    if (request.target == "/api/cluster/info") return info_;
    sent.push_back(
        {request.method, request.target, request.body, request.headers, request.timeout});
    if (answers_.empty()) return client::HttpReply{.status = 200, .body = "{}"};
    Answer next = answers_.front();
    if (answers_.size() > 1) answers_.pop_front();
    return next;
  }

  Answer info_ = client::HttpReply{.status = 200, .body = fitting_cluster_info()};
  std::deque<Answer> answers_;
  std::map<std::string, std::string, std::less<>> environment_;
  bool terminal_ = false;
  std::string typed_;
  int ids_ = 0;
};

}  // namespace dw::cli
