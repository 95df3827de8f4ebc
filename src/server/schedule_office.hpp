// Schedules and their desk in a small world: a store in memory, a clock that stands still until it
// is moved, and workflows that start at once and end when a test says so.
#pragma once
#include "dispatch/calendar_shelf.hpp"
#include "history/event_builders.hpp"
#include "machine/scheduler.hpp"
#include "machine/zone_files.hpp"
#include "schedule/record_codec.hpp"
#include "server/decided_runs.hpp"
#include "server/schedules.hpp"
#include "store/memory_store.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace dw::server {

class ScheduleOffice : public ::testing::Test {
 protected:
  explicit ScheduleOffice(std::filesystem::path zone_directory = machine::system_zone_directory)
      : zones(std::move(zone_directory)) {}

  // ---- what callers ask

  // As a route is asked for, with what stands in its pattern's place.
  Answer ask(Operation operation, std::string_view id = {}, Value::Map body = {},
             std::string query = {}) {
    const auto all = routes();
    Call call;
    call.ns = ns;
    call.body = std::move(body);
    call.query = std::move(query);
    call.caller = caller;
    call.match.route = &*std::ranges::find(all, operation, &Route::operation);
    if (!id.empty()) call.match.captured.emplace_back("schedule", id);
    std::optional<Answer> said;
    schedules.serve(std::move(call), [&](Answer answer) { said = std::move(answer); });
    work_off();
    EXPECT_TRUE(said) << "nobody answered";
    return said.value_or(Answer{});
  }
  Value told(const Answer& answer, int status = 200) {
    EXPECT_EQ(answer.status, status) << to_json(Value{answer.body});
    return Value{answer.body};
  }
  void expect_refused(const Answer& answer, int status, std::string_view reason) {
    EXPECT_EQ(answer.status, status) << to_json(Value{answer.body});
    const Value body{answer.body};
    ASSERT_NE(body.find("reason"), nullptr) << to_json(body);
    EXPECT_EQ(*body.find("reason"), Value{reason});
    EXPECT_NE(body.find("message"), nullptr);
  }

  static Value json(std::string_view text) { return *parse_json(text); }
  static Value::Map object(std::string_view text) { return *json(text).if_map(); }
  // Every hour, and starts `report`.
  static Value::Map hourly(const std::string& id, std::string_view more = "{}") {
    Value::Map body{{"schedule_id", id},
                    {"spec", json(R"({"cron_expressions":["0 * * * *"]})")},
                    {"action", json(R"({"workflow_type":"report","task_queue":"night"})")}};
    for (auto& other : object(more)) {
      std::erase_if(body, [&](const auto& field) { return field.first == other.first; });
      body.push_back(std::move(other));
    }
    return body;
  }
  Value create(const std::string& id, std::string_view more = "{}") {
    return told(ask(Operation::create_schedule, {}, hourly(id, more)), 201);
  }
  Value described(std::string_view id) { return told(ask(Operation::describe_schedule, id)); }
  // What a path such as "info.last_skip_reason" leads to, as JSON.
  static std::string at(const Value& body, std::string_view path) {
    const Value* found = &body;
    while (found && !path.empty()) {
      const auto dot = path.find('.');
      const auto* list = found->if_array();
      const auto step = path.substr(0, dot);
      const auto index = list ? std::stoul(std::string{step}) : 0;
      found = !list ? found->find(step) : index < list->size() ? &(*list)[index] : nullptr;
      path = dot == std::string_view::npos ? std::string_view{} : path.substr(dot + 1);
    }
    return found ? to_json(*found) : "(absent)";
  }
  // "ScheduleCreated ScheduleTriggered"
  std::string events_of(std::string_view id) {
    const Value body = told(ask(Operation::schedule_history, id));
    std::string types;
    for (const Value& event : *body.find("events")->if_array()) {
      types += (types.empty() ? "" : " ") + *event.find("event_type")->if_string();
    }
    return types;
  }

  // ---- what is kept

  store::ScheduleRow row_of(std::string_view id) { return store.find_schedule(ns, id)->value(); }
  schedule::Schedule kept(std::string_view id) {
    return *schedule::read_schedule(row_of(id).record);
  }
  // What no decision of ours would leave behind.
  void put_by_another_hand(store::ScheduleRow row) {
    store::Transition transition;
    transition.id = CommitId{decided.now().ids.ulid()};
    transition.recorded_at = clock.now();
    transition.reads = {{row.ulid, row.version}};
    transition.schedules = {std::move(row)};
    ASSERT_EQ(store.commit({&transition, 1}).front(), store::CommitOutcome{store::Won{}});
  }
  void spoil(std::string_view id) {
    auto row = row_of(id);
    row.record = "{";
    put_by_another_hand(std::move(row));
  }

  // ---- time and runs

  void work_off() {
    while (scheduler.step(clock.now())) {
    }
  }
  void wait(Duration duration) {
    const Timestamp until = clock.now() + duration;
    while (scheduler.step(until)) {
    }
    clock.set(until);
  }
  Value tick() { return told(ask(Operation::tick_schedules)); }
  void close(const std::string& instance) {
    engine::Run& run = runs_.at(instance);
    decided.commit(run, engine::decide_close(run, {}, decided.now()).decision);
  }
  const engine::Run& run(const std::string& instance) const { return runs_.at(instance); }
  std::size_t started() const { return runs_.size(); }

  Namespace ns{"default"};
  Caller caller = {};
  store::MemoryStore store;
  machine::SimClock clock{story::at("09:00")};
  DecidedRuns decided{store, clock};
  SeededRandom random{7};
  machine::Scheduler scheduler{clock, random, Duration{0}};
  machine::SimExecutor desk_thread{scheduler, "desk"};
  machine::SimExecutor reader{scheduler, "reader"};
  machine::SimExecutor writer{scheduler, "writer"};
  dispatch::Committer committer{store, writer, 1000};
  machine::ZoneFiles zones;
  dispatch::CalendarShelf calendars{store, clock};
  SearchAttributes attributes{{store, writer}};
  dispatch::ScheduleSources sources{
      [this](std::string_view name) { return zones.find(name); },
      [this](const Namespace& in, std::string_view id) { return calendars.find(in, id); }};
  dispatch::ScheduleReader looks{store, sources};
  dispatch::ScheduleDesk desk{
      {.store = store,
       .committer = committer,
       .executor = desk_thread,
       .reader = reader,
       .clock = clock,
       .random = random,
       .sources = sources,
       .prepare = command,
       .start = [this](dispatch::StartJob job) { carry_out(std::move(job)); },
       .close = [this](const store::InstanceKey& instance,
                       const engine::CloseCommand&) { close(instance.id.str()); }}};
  Schedules schedules{{desk, looks, sources, store, reader, writer, clock, random, attributes}};

 private:
  static Result<engine::StartCommand> command(const Namespace& in, const schedule::Start& start) {
    if (start.workflow_type == "broken") return Error{ErrorCode::internal, "it is broken"};
    if (start.workflow_type == "throws") throw std::runtime_error{"it was thrown"};
    engine::StartCommand command;
    command.ns = in;
    command.instance_id = InstanceId{start.instance_id};
    command.workflow_type = start.workflow_type;
    command.queue = start.queue.value_or("");
    command.arguments = *encode(start.arguments);
    return command;
  }

  void carry_out(dispatch::StartJob job) {
    const auto known = runs_.find(job.command.instance_id.str());
    const engine::Run* current = known == runs_.end() ? nullptr : &known->second;
    auto start = engine::decide_start(current, job.command, decided.now());
    if (start.opens_run) {
      engine::Run run;
      run.id = start.run_id;
      if (!decided.commit(run, start.decision, &*job.along)) {
        return job.reply(Error{ErrorCode::conflict, std::string{dispatch::schedule_overtaken}});
      }
      runs_.insert_or_assign(job.command.instance_id.str(), std::move(run));
    }
    job.reply(dispatch::StartReply{start.run_id, job.command.instance_id, start.reply});
  }

  std::map<std::string, engine::Run> runs_;
};

}  // namespace dw::server
