#include "cli/failure.hpp"

#include "cli/lookup.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dw::cli {
namespace {

struct Recommendation {
  std::string_view id;
  std::string message;
  std::string command;
};

const Value* validation_errors(const Value& response) {
  for (const char* key : {"validation_errors", "errors"}) {
    const Value* found = response.find(key);
    if (found && found->if_map() && !found->if_map()->empty()) return found;
  }
  return nullptr;
}

std::string said_by(const Value& response, int status) {
  for (const char* key : {"message", "error", "rejection_reason"}) {
    if (const auto text = text_of(response, key); !text.empty()) return text;
  }
  return fmt::format("it answered with HTTP status {} and no message", status);
}

// Where a server says more of a mistake than the word that programs know it by, people get that,
// and the place at which a text stops making sense.
std::string mistake_in_words(const Value& response, std::string_view field,
                             const std::string& message) {
  for (const Value& problem : list_of(response, "problems")) {
    if (text_of(problem, "path") != field || text_of(problem, "message") != message) continue;
    const auto hint = text_of(problem, "hint"), code = text_of(problem, "code");
    if (hint.empty() || hint == message) return message;
    const bool for_programs = message == code || !text_of(problem, "problem").empty();
    if (!for_programs) return fmt::format("{}; {}", message, hint);
    const Value* position = look_up(problem, "position");
    if (!position) return fmt::format("{} ({})", hint, code);
    return fmt::format("{} ({}, position {})", hint, code, in_words(*position));
  }
  return message;
}

// The command, asked of whom this one was asked.
std::string there(std::string_view command, const FailureContext& context) {
  if (!context.server.empty()) return fmt::format("{} --server={}", command, context.server);
  if (!context.env.empty()) return fmt::format("{} --env={}", command, context.env);
  return std::string{command};
}

std::string probe_command(const FailureContext& context) {
  return there("dw doctor", context) + " --output=json";
}

std::string help_command(const FailureContext& context) {
  return context.command.empty() ? "dw --help" : fmt::format("dw help {}", context.command);
}

// A name that a server told, for a line that somebody may hand to a shell.
std::string name_in(const Value& response, std::string_view key, std::string_view otherwise) {
  constexpr std::string_view marks = "._:-";
  const std::string name = text_of(response, key);
  const bool plain = std::ranges::all_of(name, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           marks.find(c) != std::string_view::npos;
  });
  return plain && !name.empty() ? name : std::string{otherwise};
}

// Where the reason says more than the status does of what would help.
std::optional<Recommendation> recommendation_by_reason(const Value& response,
                                                       const FailureContext& context) {
  const std::string reason = text_of(response, "reason");
  if (reason == "calendar_is_seed") {
    return Recommendation{"request.invalid", "Make a calendar of your own from it.",
                          there(fmt::format("dw calendar:clone {} --name=<name>",
                                            name_in(response, "calendar_id", "<calendar>")),
                                context)};
  }
  if (reason == "forbidden" && !list_of(response, "allowed_roles").empty()) {
    return Recommendation{
        "auth.failed",
        fmt::format("Use a token of a role that may: {}.", words_of(response, "allowed_roles")),
        probe_command(context)};
  }
  if (reason == "namespace_already_exists") {
    return Recommendation{
        "request.invalid", "Choose another name, or change it with dw namespace:update.",
        there(fmt::format("dw namespace:describe {}", name_in(response, "namespace", "<name>")),
              context)};
  }
  if (reason == "namespace_not_found") {
    return Recommendation{"resource.not_found",
                          "See which there are; dw namespace:create makes another.",
                          there("dw namespace:list", context)};
  }
  if (reason == "worker_not_registered") {
    return Recommendation{"request.invalid", "Register the worker for its queue first.",
                          there(fmt::format("dw worker:register {} --task-queue=<queue>",
                                            name_in(response, "worker_id", "<worker-id>")),
                                context)};
  }
  return std::nullopt;
}

Recommendation recommendation_for(const Failure& failure, const FailureContext& context) {
  if (auto advice = recommendation_by_reason(failure.response, context)) return *std::move(advice);
  switch (failure.exit) {
    case Exit::network:
      return {"server.unreachable",
              "Check the server URL, DNS, port and TLS settings of the selected environment.",
              probe_command(context)};
    case Exit::timeout:
      return {
          "server.timeout",
          "Check the server's load and whether it can be reached, or allow more with --timeout.",
          probe_command(context)};
    case Exit::auth:
      return {"auth.failed", "Check the environment, where its token comes from, and its role.",
              probe_command(context)};
    case Exit::not_found:
      return {"resource.not_found", "Check the namespace, the ids and the selected environment.",
              help_command(context)};
    case Exit::server:
      if (failure.status == 501) {  // no fault, and no other time will help
        return {"server.error", "This server does not have that; see what it can do.",
                "dw server:info --output=json"};
      }
      return {"server.error", "Check the server's health and its log before trying again.",
              "dw server:health --output=json"};
    case Exit::compatibility:
      return {"compatibility.unsupported",
              "Use a dw that this server supports, or connect to a server that supports this dw.",
              probe_command(context)};
    case Exit::invalid:
      if (failure.status) {
        if (*failure.status == 429) {
          return {"server.error", "The server has enough to do: wait a little, then try again.",
                  "dw server:health"};
        }
        return {"request.invalid", "Look at what the server refused, and change the options.",
                help_command(context)};
      }
      return {"input.invalid", "Look at the command's arguments and options.",
              help_command(context)};
    case Exit::success:
    case Exit::failure:
      break;
  }
  return {};
}

}  // namespace

Failure invalid_input(std::string message) {
  return {.exit = Exit::invalid, .message = std::move(message)};
}

Exit exit_of_status(int status) {
  if (status < 300) return Exit::success;
  if (status < 400) return Exit::server;  // sent elsewhere: no server of ours does that
  if (status == 401 || status == 403) return Exit::auth;
  if (status == 404) return Exit::not_found;
  if (status == 408) return Exit::timeout;
  return status < 500 ? Exit::invalid : Exit::server;
}

Failure failure_of_reply(int status, std::string_view body) {
  Failure failure{.exit = exit_of_status(status), .status = status};
  if (auto parsed = parse_json(body)) failure.response = *std::move(parsed);
  failure.message = fmt::format("Server error: {}", said_by(failure.response, status));
  return failure;
}

Failure failure_of_error(const Error& error) {
  switch (error.code) {
    case ErrorCode::timed_out:
      return {.exit = Exit::timeout,
              .message = fmt::format("No answer in time: {}", error.message)};
    case ErrorCode::invalid_argument:
      return invalid_input(error.message);
    default:
      return {.exit = Exit::network,
              .message = fmt::format("Server unreachable: {}", error.message)};
  }
}

Value failure_document(const Failure& failure, const FailureContext& context) {
  Value::Map document{{"error", failure.message},
                      {"exit_code", static_cast<int>(failure.exit)},
                      {"command", context.command}};
  if (!context.ns.empty()) document.emplace_back("namespace", context.ns);
  Value::Map subject = context.subject;
  const auto add = [&subject](const std::string& key, Value value) {
    const auto is_it = [&key](const auto& entry) { return entry.first == key; };
    if (std::ranges::none_of(subject, is_it)) subject.emplace_back(key, std::move(value));
  };
  for (const auto& [key, value] : failure.subject) add(key, value);
  if (!failure.request_id.empty()) add("request_id", failure.request_id);
  if (failure.status) document.emplace_back("status_code", *failure.status);
  for (const char* key : {"reason", "code", "error_code", "rejection_reason"}) {
    if (const auto text = text_of(failure.response, key); !text.empty()) {
      document.emplace_back(key, text);
    }
  }
  if (const Value* errors = validation_errors(failure.response)) {
    document.emplace_back("validation_errors", *errors);
  }
  for (auto& entry : subject) document.push_back(std::move(entry));
  if (!failure.response.is_null()) document.emplace_back("server_response", failure.response);
  if (!failure.compatibility.is_null()) {
    document.emplace_back("compatibility", failure.compatibility);
  }
  Value::Array recommendations;
  if (const auto advice = recommendation_for(failure, context); !advice.id.empty()) {
    recommendations.emplace_back(Value::Map{{"id", advice.id},
                                            {"severity", "error"},
                                            {"message", advice.message},
                                            {"command", advice.command}});
  }
  document.emplace_back("recommendations", std::move(recommendations));
  return document;
}

std::string failure_text(const Failure& failure, const FailureContext& context, bool hints) {
  // Our own messages may have several lines; whoever answers may have anything in theirs.
  const bool ours = !failure.status && failure.exit != Exit::compatibility;
  std::string text = (ours ? failure.message : printable(failure.message)) + "\n";
  if (!context.ns.empty()) text += fmt::format("Namespace: {}\n", context.ns);
  if (const auto reason = text_of(failure.response, "reason"); !reason.empty()) {
    text += fmt::format("Reason: {}\n", printable(reason));
  }
  if (const Value* errors = validation_errors(failure.response)) {
    for (const auto& [field, messages] : *errors->if_map()) {
      const auto tell = [&, field = std::string_view{field}](const std::string& message) {
        text += fmt::format("Validation: {}: {}\n", printable(field),
                            printable(mistake_in_words(failure.response, field, message)));
      };
      if (const auto* one = messages.if_string()) {
        tell(*one);
      } else if (const auto* several = messages.if_array()) {
        for (const Value& message : *several) {
          if (const auto* words = message.if_string()) tell(*words);
        }
      }
    }
  }
  const auto advice = recommendation_for(failure, context);
  if (hints && !advice.id.empty()) {
    text += fmt::format("Next steps:\n  - {}\n    Try: {}\n", advice.message, advice.command);
  }
  return text;
}

}  // namespace dw::cli
