// Between what users of a client say and what a server understands: their calls as JSON, its
// answers as their types. Pure; the other half of what embed/spoken.hpp is to an engine.
#pragma once
#include "engine/commands.hpp"
#include "remote/client_line.hpp"

namespace dw::remote {

// For a path or a query: everything but letters, digits and -._~ is escaped.
std::string escaped(std::string_view text);
// The path of an instance, below /api.
std::string path_of(const detail::RunRef& run);

std::string start_body(const engine::StartCommand& command);
std::string start_body(const engine::StartCommand& command, const SignalCall& signal);
std::string query_body(const Payload& arguments);
// By its request id a server knows a command that it is sent again.
std::string signal_body(const Payload& arguments, std::string_view request_id);
std::string update_body(const Payload& arguments, std::string_view request_id,
                        std::optional<std::chrono::seconds> wait_for);
std::string command_body(std::string_view reason, std::string_view request_id);

// Why the server did not do what was asked.
Error refusal(const Said& said, std::string_view about);
// The same of a start, in an engine's words.
Error start_refusal(const Said& said, const std::string& instance_id);
Error start_with_refusal(const Said& said, const std::string& instance_id,
                         const std::string& signal);

// The run that an answer is about.
Result<detail::RunRef> run_in(const Said& said, std::string_view about);
Result<RunInfo> run_info(const Value& description);
// A refusal by the workflow's rules is a reply; the server's own are errors.
Result<CommandReply> command_reply(const Said& said, std::string_view about);
Result<UpdateInfo> update_reply(const Said& said, std::string_view update, std::string_view about);
Result<Payload> query_result(const Said& said, std::string_view about);
Result<detail::Closed> closed_run(const Said& said, std::string_view about);

// Gathers what a history tells about one update, event by event.
class UpdateStory {
 public:
  explicit UpdateStory(std::string_view update_id) : update_id_(update_id) {}
  // Throws EngineError when the result cannot be read.
  void hear(const Value& event);

  // Nothing as long as the update did not occur.
  const std::optional<UpdateInfo>& info() const { return info_; }
  // The run before this one, if it is the continuation of another.
  const std::string& continued_from() const { return continued_from_; }

 private:
  const std::string update_id_;
  std::optional<UpdateInfo> info_;
  std::string continued_from_;
};

}  // namespace dw::remote
