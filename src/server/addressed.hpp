// Whom a call is about, and how its failure is told. For the services of this room.
#pragma once
#include "engine/decide.hpp"
#include "server/front_desk.hpp"
#include "server/run_look.hpp"

namespace dw::server {

store::InstanceKey instance_of(const Call& call);
// Absent: whichever run is the instance's current one.
std::optional<RunId> run_of(const Call& call);

Answer no_such_instance(const Call& call);
Answer no_such_run(const Call& call);
// Why there is nothing to tell: no such workflow, or it has no run of that name.
std::optional<Answer> absent(const FoundRun& found, const Call& call);
// How the engine's refusal of a command is told: the status, and the reason as callers of this API
// know it.
int status_of_rejection(std::string_view reason);
std::string_view wire_reason(std::string_view reason);
// For people, with what to do next.
std::string words_of_rejection(std::string_view reason);
// What is wrong with the arguments of a signal, query or update, under both names that its readers
// know.
Value::Map errors_of_arguments(Value errors);
// What a run may hold, for callers who met the limit; nothing for others.
Value::Map limit_facts(const engine::CommandOutcome& outcome);
// Why a start was refused though the word for it is that of any duplicate: another type has the id.
inline constexpr std::string_view type_mismatch = "workflow_type_mismatch";
// What went wrong on our side of the desk, or on the way to the disk.
Answer failed(const Error& error, const Call& call);
// Whether that lasts a moment: nothing was recorded, and the same request may do better then.
bool will_pass(const Error& error);

}  // namespace dw::server
