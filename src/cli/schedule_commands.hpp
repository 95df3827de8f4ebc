// What the commands about schedules share.
#pragma once
#include "cli/command.hpp"
#include "cli/page.hpp"

namespace dw::cli {

const Argument& which_schedule();
Option schedule_overlap(std::string_view help);

// "Schedule paused: nightly", what else the answer says, and its warnings.
void draw_changed_schedule(Page& page, const Value& answer);
// One labelled line for each warning of an answer.
void draw_schedule_warnings(Page& page, const Value& answer);

// Completes the body of schedule:create and schedule:update.
Outcome<Value::Map> new_schedule(const Given& given, Value::Map body);
Outcome<Value::Map> changed_schedule(const Given& given, Value::Map body);

Outcome<Exit> run_schedule_create(Task& task);
Outcome<Exit> run_schedule_update(Task& task);
Outcome<Exit> run_schedule_delete(Task& task);
Outcome<Exit> run_schedule_trigger(Task& task);
Outcome<Exit> run_schedule_backfill(Task& task);

// Moves an entry out of a body; null when it has none.
Value taken(Value::Map& body, std::string_view key);
// "?a=b", or one parameter more.
std::string with_query(std::string target, std::string_view name, std::string_view value);

}  // namespace dw::cli
