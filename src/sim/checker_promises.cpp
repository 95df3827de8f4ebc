// What clients were told, and what workers did, against what is durable.
#include "sim/checker.hpp"
#include "sim/workload.hpp"

#include <algorithm>

namespace dw::sim {

using namespace dw::history;

// ---- what was promised

void Checker::started(const store::InstanceKey& instance, const dispatch::StartReply& reply) {
  const Run* run = find(reply.run_id);
  expect(run && run->row.instance_id == instance.id,
         "{}: a start was acknowledged with run {}, which is not durable", instance.id.str(),
         reply.run_id.str());
  if (!run) return;
  expect(run->commands.contains(reply.outcome.command_id),
         "{}: the start was answered with {} and left no trace", instance.id.str(),
         reply.outcome.outcome);
  answered_.push_back({instance, reply.run_id, reply.outcome.command_id});
}

void Checker::reserved(const store::InstanceKey& instance, const std::string& workflow_type) {
  const auto row = disk_.find_instance(instance);
  expect(row && *row && (*row)->workflow_type == workflow_type,
         "{}: a reservation was acknowledged and is not durable", instance.id.str());
  reservations_[instance] = workflow_type;
}

void Checker::command_answered(const store::InstanceKey& instance,
                               const engine::CommandOutcome& outcome) {
  if (outcome.accepted) {
    // By now the instance may have gone on: some run of it has taken the command.
    const auto known = instances_.find(instance);
    const std::vector<RunId> none;
    const auto& runs = known == instances_.end() ? none : known->second;
    const auto taken = std::ranges::find_if(
        runs, [&](const RunId& id) { return runs_[id].commands.contains(outcome.command_id); });
    expect(taken != runs.end(), "{}: a command was answered with {} and is not durable",
           instance.id.str(), outcome.outcome);
    if (taken != runs.end()) answered_.push_back({instance, *taken, outcome.command_id});
  } else {
    expect(in_intake(instance, outcome.command_id),
           "{}: a command was answered with {} and is not durable", instance.id.str(),
           outcome.outcome);
    answered_.push_back({instance, {}, outcome.command_id});
  }
}

Checker::Presence Checker::presence(const store::InstanceKey& instance) const {
  Presence presence;
  const auto runs = instances_.find(instance);
  if (runs == instances_.end()) return presence;
  for (const RunId& id : runs->second) {
    const RunState& state = runs_.at(id).state;
    presence.active = state.open() || !state.followed_by.empty();
    presence.ends += !presence.active;
  }
  return presence;
}

void Checker::called_inactive(const store::InstanceKey& instance, const Presence& asked_at) {
  expect(!asked_at.active || presence(instance).ends > asked_at.ends,
         "{} has been active all the time and was called inactive", instance.id.str());
}

void Checker::signal_answered(const store::InstanceKey& instance,
                              const engine::CommandOutcome& outcome, const std::string& text) {
  if (!outcome.accepted) {
    expect(!said_.contains(text), "{}: '{}' was refused and received", instance.id.str(), text);
    return;
  }
  const auto said = said_.find(text);
  expect(said != said_.end() && said->second.signals.contains(SignalId{outcome.subject}),
         "{}: signal '{}' was acknowledged and is not durable", instance.id.str(), text);
  acknowledged_.insert(text);
}

void Checker::update_answered(const store::InstanceKey& instance,
                              const dispatch::UpdateReply& reply, const std::string& text) {
  const UpdateId id{reply.outcome.subject};
  if (!reply.outcome.accepted) {
    expect(!said_.contains(text), "{}: update '{}' was refused and accepted", instance.id.str(),
           text);
    return;
  }
  const auto said = said_.find(text);
  expect(said != said_.end() && said->second.updates.contains(id),
         "{}: update '{}' was acknowledged and is not durable", instance.id.str(), text);
  acknowledged_.insert(text);
  if (!reply.completed) return;
  const auto completed = completed_updates_.find(id);
  expect(completed != completed_updates_.end() && completed->second == reply.result,
         "{}: update '{}' was answered, and the disk holds another answer", instance.id.str(),
         text);
  expect(!reply.result || applied_updates_.contains(id),
         "{}: update '{}' was answered and not applied", instance.id.str(), text);
}

Checker::Standing Checker::standing(const store::InstanceKey& instance) const {
  Standing standing;
  if (const auto runs = instances_.find(instance); runs != instances_.end()) {
    for (const RunId& id : runs->second) standing[id] = runs_.at(id).commits.size();
  }
  return standing;
}

// The answer is the state after some commit between question and answer, of a run that was current
// meanwhile.
void Checker::query_answered(const store::InstanceKey& instance, const Standing& asked_at,
                             const Payload& answer) {
  const auto find_start = [this](const RunId& id) -> const WorkflowStarted* {
    const Run* other = find(id);
    return other ? &other->state.start : nullptr;
  };
  std::vector<std::string> possible;
  for (const RunId& id : instances_[instance]) {
    const Run& run = runs_.at(id);
    const auto before = asked_at.find(id);
    for (std::size_t i = before == asked_at.end() ? 1 : before->second; i <= run.commits.size();
         ++i) {
      const auto events = static_cast<std::size_t>(run.commits[i - 1].last_sequence);
      possible.push_back(look_at_model(std::span{run.events}.first(events), find_start));
      if (answer == detail::encode_or_throw(to_value(possible.back()))) return;
    }
  }
  break_off(fmt::format("{}: a query answered '{}', which was never so; '{}' was",
                        instance.id.str(), detail::result_as<std::string>(answer, "a query"),
                        possible.empty() ? "" : possible.back()));
}

bool Checker::in_intake(const store::InstanceKey& instance, const CommandId& command) {
  const auto rows = disk_.load_intake(instance);
  return rows && std::ranges::any_of(*rows, [&](const store::IntakeRow& row) {
           return row.record.find(command.str()) != std::string::npos;
         });
}

void Checker::told_closed(const RunId& id, const dispatch::ClosedRun& closed) {
  const Run* run = find(id);
  expect(run && !run->state.open() && run->state.status == closed.status &&
             run->state.closed_reason == closed.closed_reason &&
             run->state.output == closed.output && run->state.failure == closed.failure,
         "{}: somebody was told that it is {}, and the disk says otherwise",
         run ? name_of(*run) : id.view(), closed.closed_reason);
  closed_[id] = closed;
}

// ---- what workers do

void Checker::launched(const dispatch::ActivityWork& work) {
  expect(++launched_[work.attempt_id] == 1, "attempt {} was launched twice", work.attempt_id.str());
  const Run* run = find(work.run_id);
  const auto found =
      run ? run->activities.find(work.activity_id) : decltype(run->activities.end()){};
  if (!run || found == run->activities.end()) {
    return break_off(
        fmt::format("an activity of {} runs before it is durable", work.instance_id.str()));
  }
  const Run::Activity& activity = found->second;
  // Its lease may have gone to another by now, but there must have been one.
  expect(activity.holder == work.attempt_id || activity.starts >= work.attempt_number,
         "{}: attempt {} runs before it is durable", name_of(*run), work.attempt_id.str());
  expect(activity.type == work.type && activity.arguments == work.arguments,
         "{}: attempt {} got other work than was scheduled", name_of(*run), work.attempt_id.str());
}

void Checker::produced(const engine::ActivityOutcome& outcome) {
  expect(launched_.contains(outcome.attempt_id), "attempt {} reports and never ran",
         outcome.attempt_id.str());
  produced_.try_emplace(outcome.attempt_id, outcome.outcome);
}

}  // namespace dw::sim
