// Runs that come into being, and ids that are kept for them.
#include "core/json_writer.hpp"
#include "dispatch/cell.hpp"

namespace dw::dispatch {

void Shard::start(StartJob job) {
  if (stopped_) return answer(job, {ErrorCode::shutting_down, "the engine is stopping"});
  const InstanceKey key{job.command.ns, job.command.instance_id};
  const auto known = current_.find(instance_text(key));
  // A new id is the common case: claim it without looking, and let the commit find out.
  if (known == current_.end()) return do_start(std::move(job), std::nullopt, nullptr);
  start_on({key, known->second}, std::move(job));
}

// A start that finds a run there: on that run, or on the one it went on as.
void Shard::start_on(const RunAddress& address, StartJob job) {
  Cell* cell = &cell_for(address);
  if (!cell->loading && !cell->run.state.followed_by.empty()) {
    if (cell->in_flight > 0) return cell->starts.push_back(std::move(job));
    current_.erase(instance_text(address.instance));
    return do_start(std::move(job), std::nullopt, nullptr);
  }
  // The instance may have gone on elsewhere.
  if (parts_.shared && !job.looked && !cell->loading && !cell->run.state.open()) {
    return start_looking(std::move(job));
  }
  // A signal that comes along runs the code, and that is replayed from the first event.
  if (cell->lost_its_code() && runs_code_of(*cell)) {
    if (!cell->idle()) return cell->starts.push_back(std::move(job));
    drop(address.run_id);
    cell = &cell_for(address);
    current_[instance_text(address.instance)] = address.run_id;
  }
  if (cell->loading) {
    cell->starts.push_back(std::move(job));
  } else {
    do_start(std::move(job), std::nullopt, cell);
  }
}

namespace {

std::optional<ExistingRun> met(const engine::Run* before, const RunId& answered_with) {
  if (!before || before->id != answered_with) return std::nullopt;
  const history::WorkflowStarted& start = before->state.start;
  return ExistingRun{start.queue, start.business_key, before->state.status};
}

}  // namespace

void Shard::do_start(StartJob job, const std::optional<store::InstanceRow>& instance,
                     Cell* current) {
  const InstanceKey key{job.command.ns, job.command.instance_id};
  const auto& taken_by = current    ? current->run.state.start.workflow_type
                         : instance ? instance->workflow_type
                                    : job.command.workflow_type;
  if (taken_by != job.command.workflow_type) {
    // Nobody is refused for the sake of a start that may yet lose its race.
    if (current && current->in_flight > 0) return current->starts.push_back(std::move(job));
    return answer(
        job, {ErrorCode::conflict,
              fmt::format("cannot start '{}' as '{}': the id is reserved for durable type '{}'; "
                          "pick another id",
                          key.id.str(), job.command.workflow_type, taken_by)});
  }

  Build build{parts_.clock.now()};
  const auto ctx = context(build.now);
  const engine::Run* before = current ? &current->run : nullptr;
  engine::StartDecision decided;
  engine::CommandOutcome refused;
  std::string refusal;
  InFlight record;
  if (job.signal) {
    // Nothing is opened on top of a run whose end is not durable yet.
    if (current && !before->state.open() && current->in_flight > 0) {
      return current->starts.push_back(std::move(job));
    }
    auto both = engine::decide_signal_with_start(before, job.command, *job.signal, ctx);
    decided = std::move(both.start);
    record.answer = SignalWithStartReply{decided.reply, both.signal, decided.run_id,
                                         met(before, decided.run_id)};
    refused = std::move(both.signal);
    refusal = std::move(both.refusal);
  } else {
    decided = engine::decide_start(before, job.command, ctx);
    record.answer = StartReply{decided.run_id, key.id, decided.reply, met(before, decided.run_id)};
    refused = decided.reply;
    refusal = std::move(decided.refusal);
  }
  if (!refusal.empty()) {
    if (!current) {
      record.job = std::move(job);
      return post_refusal(key, std::move(refusal), build.now, std::move(record));
    }
    record_refusal(*current, build, refused, std::move(refusal));
  }
  if (decided.opens_run) {
    if (instance) build.instance_version = instance->version;
    if (current) build.instance_version = current->opened_by;
    current = &add_cell({key, decided.run_id});
    current_[instance_text(key)] = decided.run_id;
    current->from_first = true;
    build.opens_run = true;
  }
  add(*current, build, std::move(decided.decision));
  drive(*current, build);
  record.job = std::move(job);
  post(*current, build, record);
  evict();
}

void Shard::reserve(ReserveJob job) {
  if (stopped_) return job.reply(Error{ErrorCode::shutting_down, "the engine is stopping"});
  load_instance(job.instance, [this, job](FoundInstance found) mutable {
    if (!found) return job.reply(found.error());
    if (const auto& row = *found) {
      if (row->workflow_type == job.workflow_type) return job.reply(job.instance.id);
      return job.reply(
          Error{ErrorCode::conflict,
                fmt::format("cannot reserve '{}' for '{}': it is reserved for durable type '{}'",
                            job.instance.id.str(), job.workflow_type, row->workflow_type)});
    }
    const Timestamp now = parts_.clock.now();
    store::Transition transition;
    transition.id = CommitId{ulids_.next(now)};
    transition.recorded_at = now;
    transition.reads.push_back({job.instance, {}});
    transition.instances.push_back({job.instance, job.workflow_type, std::nullopt, transition.id});
    std::string record;
    JsonWriter{record}
        .begin_object()
        .field("type", "InstanceReserved")
        .field("workflow_type", std::string_view{job.workflow_type})
        .end_object();
    transition.intake.push_back({job.instance, std::nullopt, now, std::move(record)});
    InFlight flight;
    flight.run.instance = job.instance;
    flight.job = std::move(job);
    in_flight_.emplace(transition.id, std::move(flight));
    parts_.committer.post(std::move(transition), *this);
  });
}

}  // namespace dw::dispatch
