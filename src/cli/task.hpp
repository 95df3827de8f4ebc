// One command at work: what it is, what was given, and everything it may need on the way.
#pragma once
#include "cli/client_commands.hpp"
#include "cli/command.hpp"
#include "cli/given.hpp"
#include "cli/output.hpp"
#include "cli/request.hpp"
#include "cli/session.hpp"

namespace dw::cli {

struct Task {
  const Command& command;
  const Given& given;
  const ClientIo& io;
  Output& output;
  Session& session;  // local commands have one, too, and never speak
  ReadFile read;
  bool may_ask = false;  // somebody sits at both ends

  const std::string& ns() const { return session.connection().ns; }
};

// The one request of a described command, its timeout by the command's patience.
Outcome<Request> request_of(const Task& task);
// Asks, adds the namespace, enriches.
Outcome<Value> answer_to(Task& task, const Request& request);
// Shows an answer in the mode that was asked for.
void show_answer(Task& task, const Value& answer);
// As its description draws it.
void draw(Page& page, const Command& command, const Value& answer, const std::string& ns);

// Asks on a terminal unless --yes; elsewhere the answer is yes.
bool confirmed(Task& task, const std::string& question);

// Every answer about a namespace says which, and so does every item of its list.
Value with_namespace(Value answer, const Command& command, const std::string& ns);

// A run that has ended, by what a server says about it.
bool has_ended(const Value& run);
bool has_completed(const Value& run);

// One request, one answer: what most commands are.
Outcome<Exit> run_described(Task& task);

}  // namespace dw::cli
