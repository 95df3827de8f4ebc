// From what was given to the request that says it. Pure, but for files that somebody named.
#pragma once
#include "cli/command.hpp"
#include "cli/given.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace dw::cli {

struct Request {
  std::string method = "GET";
  std::string target;  // below /api, escaped, with its query
  std::optional<Value> body = {};
  std::optional<std::int64_t> seconds = {};  // how long it may take; --timeout when absent
  bool for_monitoring = false;               // not below /api, and answered with text
};

// The content of a file; "-" is standard input.
using ReadFile = std::function<Outcome<std::string>(const std::string& path)>;

Outcome<Request> build_request(const Command& command, const Given& given, const ReadFile& read);

// "/workflows/{workflow-id}[/runs/{run-id}]": what is in brackets goes when nothing was given for
// it.
std::string fill_path(std::string_view pattern, const Given& given);
// "?page_size=20&status=running", or nothing.
std::string query_text(const std::vector<std::pair<std::string, std::string>>& parameters);
std::string escape_segment(std::string_view text);

// The payload of --input and its like; absent when none was given, or JSON null.
Outcome<std::optional<Value>> read_input(const Given& given, InputAs as, const ReadFile& read);
Outcome<Value> parse_payload(std::string_view text, std::string_view encoding,
                             std::string_view source);
// A list of arguments: what is no list and no object becomes the only one of a list.
Value as_arguments(Value payload);

}  // namespace dw::cli
