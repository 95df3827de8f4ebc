#include "sim/clients.hpp"

namespace dw::sim {

using namespace std::chrono_literals;
using dispatch::StartReply;
using engine::DuplicateStartPolicy;

Duration Clients::up_to(Duration longest) {
  return Duration{
      static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(longest.count())))};
}

std::string_view Clients::kind_of(const Request& request) {
  switch (request.kind) {
    case Request::Kind::reserve:
      return "reserve";
    case Request::Kind::start:
      return request.duplicate ? "duplicate start" : "start";
    case Request::Kind::start_other_type:
      return "start as another type";
    case Request::Kind::close:
      return request.close == engine::CloseCommand::Kind::cancel ? "cancel" : "terminate";
    case Request::Kind::watch:
      return "watch";
    case Request::Kind::signal:
      return "signal";
    case Request::Kind::update:
      return "update";
    case Request::Kind::query:
      return "query";
    case Request::Kind::signal_with_start:
      return "signal with start";
    case Request::Kind::repair:
      return "repair";
  }
  return "";
}

void Clients::arrive(std::size_t count, Duration within) {
  for (std::size_t i = 0; i < count; ++i) {
    Client client;
    client.key = {Namespace{i % 5 == 4 ? "other" : ""}, InstanceId{fmt::format("w{}", i)}};
    client.order = draw_order(random_);
    client.reserves = random_.below(5) == 0;
    clients_.push_back(std::move(client));
    const auto policy = [&] {
      return random_.below(2) == 0 ? DuplicateStartPolicy::reject_duplicate
                                   : DuplicateStartPolicy::return_existing_active;
    };
    const Duration at = up_to(within);
    const bool says_hello = clients_.back().order.hears && random_.below(4) == 0;
    const auto kind = clients_.back().reserves ? Request::Kind::reserve
                      : says_hello             ? Request::Kind::signal_with_start
                                               : Request::Kind::start;
    later(at, {.kind = kind, .client = i, .policy = policy()});
    // Around the same time and much later: before the first is durable, while it runs, after it.
    for (auto more = random_.below(3); more > 0; --more) {
      later(at + up_to(random_.below(2) == 0 ? 20ms : 30s),
            {.kind = Request::Kind::start, .client = i, .policy = policy(), .duplicate = true});
    }
    if (random_.below(5) == 0) {
      const auto how = random_.below(2) == 0 ? engine::CloseCommand::Kind::cancel
                                             : engine::CloseCommand::Kind::terminate;
      const Duration delay = random_.below(2) == 0 ? up_to(50ms) : up_to(60s);
      for (auto times = 1 + random_.below(2); times > 0; --times) {
        later(at + delay, {.kind = Request::Kind::close, .client = i, .close = how});
      }
    }
  }
}

void Clients::later(Duration delay, Request request) {
  ++planned_;
  outside_.post_at(clock_.now() + delay, [this, request] {
    --planned_;
    ask(request);
  });
}

void Clients::watch(std::size_t client, const RunId& run) {
  if (run.empty() || !clients_[client].watched.insert(run).second) return;
  clients_[client].open += 1;
  if (clients_[client].order.hears) talk(client);
  later(up_to(random_.below(2) == 0 ? 10ms : 10s),
        {.kind = Request::Kind::watch, .client = client, .run = run});
}

// One after the other until it has ended: some workflows wait for nothing else.
void Clients::talk(std::size_t client) {
  if (std::exchange(clients_[client].talking, true)) return;
  const Order& order = clients_[client].order;
  Request request{.kind = Request::Kind::signal, .client = client, .talks_on = true};
  if (order.takes_updates) {
    const auto roll = random_.below(8);
    if (roll < 4) request.kind = Request::Kind::update;
    if (roll == 4) request.kind = Request::Kind::query;
  }
  if (random_.below(10) == 0) request.kind = Request::Kind::signal_with_start;
  // Whoever sleeps for days is not shouted at all the while.
  const bool patient = ++clients_[client].said > 40;
  later(up_to(patient                 ? Duration{20min}
              : random_.below(3) == 0 ? Duration{20ms}
                                      : Duration{5s}),
        request);
  if (order.takes_updates && random_.below(4) == 0) {
    later(up_to(1s), {.kind = Request::Kind::query, .client = client});
  }
}

void Clients::talk_on(const Request& request) {
  if (!request.talks_on) return;
  clients_[request.client].talking = false;
  if (clients_[request.client].open > 0) talk(request.client);
}

void Clients::stuck(const store::InstanceKey& instance) {
  later(up_to(30s), {.kind = Request::Kind::repair, .instance = instance});
}

void Clients::connected(std::size_t node, dispatch::Dispatch& dispatch) {
  nodes_[node] = &dispatch;
  for (const Request& request : std::exchange(backlog_, {})) later(up_to(200ms), request);
}

void Clients::disconnected(std::size_t node) {
  nodes_.erase(node);
  std::vector<Request> cut_off;
  std::erase_if(open_, [&](const auto& entry) {
    if (entry.second.node != node) return false;
    cut_off.push_back(entry.second);
    return true;
  });
  // Another node may answer.
  for (const Request& request : cut_off) later(up_to(200ms), request);
}

engine::StartCommand Clients::start_command(const Client& client,
                                            DuplicateStartPolicy policy) const {
  engine::StartCommand command;
  command.ns = client.key.ns;
  command.instance_id = client.key.id;
  command.workflow_type = client.order.workflow_type;
  if (const auto* definition = registry_.find_workflow(client.order.workflow_type)) {
    command.workflow_class = definition->implementation;
    command.fingerprint = definition->fingerprint;
    command.declared = definition->snapshot;
  }
  command.arguments = detail::arguments_of(client.order.numbers);
  command.duplicate_start_policy = policy;
  command.run_timeout = client.order.run_timeout;
  command.execution_timeout = client.order.execution_timeout;
  return command;
}

void Clients::ask(const Request& request) {
  if (nodes_.empty()) {
    backlog_.push_back(request);
    return;
  }
  const auto chosen =
      std::next(nodes_.begin(), static_cast<std::ptrdiff_t>(random_.below(nodes_.size())));
  dispatch::Dispatch& node = *chosen->second;
  const std::uint64_t id = ++ids_;
  open_[id] = request;
  open_[id].node = chosen->first;
  Client& client = clients_[request.client];
  const bool repairs = request.kind == Request::Kind::repair;
  open_[id].presence = checker_.presence(repairs ? request.instance : client.key);
  trace_("client {}: {}", (repairs ? request.instance : client.key).id.str(), kind_of(request));
  switch (request.kind) {
    case Request::Kind::reserve:
      node.reserve(client.key, client.order.workflow_type, [this, id](Result<InstanceId> reply) {
        const auto asked = take(id);
        if (!asked) return;
        if (!reply) return refused(*asked, reply.error());
        const Client& c = clients_[asked->client];
        trace_("client {}: reserved", c.key.id.str());
        checker_.reserved(c.key, c.order.workflow_type);
        Request start = *asked;
        start.kind = c.order.hears && random_.below(2) == 0 ? Request::Kind::signal_with_start
                                                            : Request::Kind::start;
        later(up_to(2s), start);
      });
      return;
    case Request::Kind::start:
    case Request::Kind::start_other_type: {
      auto command = start_command(client, request.policy);
      if (request.kind == Request::Kind::start_other_type) command.workflow_type = "sim.other";
      node.start(std::move(command), [this, id](Result<StartReply> reply) {
        const auto asked = take(id);
        if (!asked) return;
        if (!reply) return refused(*asked, reply.error());
        started(*asked, *reply);
      });
      return;
    }
    case Request::Kind::close: {
      checker_.may_be_closed(client.key.id);
      engine::CloseCommand command{request.close, "asked", {}, "native"};
      if (!client.run.empty() && random_.below(2) == 0) command.requested_run = client.run;
      node.close(client.key, std::move(command), [this, id](Result<engine::CommandOutcome> reply) {
        const auto asked = take(id);
        if (!asked) return;
        if (!reply) return refused(*asked, reply.error());
        const Client& c = clients_[asked->client];
        trace_("client {}: {}", c.key.id.str(), reply->outcome);
        checker_.command_answered(c.key, *reply);
        judge(*asked, *reply);
        if (!reply->accepted) return;
        // The command may have met a run that has been followed since.
        for (const auto& [run_id, run] : checker_.runs()) {
          if (run.commands.contains(reply->command_id) && run.state.open()) {
            checker_.break_off(fmt::format("{}: a close was answered with {}, and the run is open",
                                           c.key.id.str(), reply->outcome));
          }
        }
      });
      return;
    }
    case Request::Kind::watch:
      node.watch({client.key, request.run}, [this, id](Result<dispatch::ClosedRun> reply) {
        const auto asked = take(id);
        if (!asked) return;
        if (!reply) return refused(*asked, reply.error());
        Client& c = clients_[asked->client];
        trace_("client {}: told it is {}", c.key.id.str(), reply->closed_reason);
        checker_.told_closed(asked->run, *reply);
        // A workflow that continues as new is followed to its end.
        const Checker::Run* run = checker_.find(asked->run);
        if (run && !run->state.followed_by.empty()) watch(asked->client, run->state.followed_by);
        c.open -= 1;
      });
      return;
    case Request::Kind::repair:
      node.repair(request.instance, {}, [this, id](Result<engine::CommandOutcome> reply) {
        const auto asked = take(id);
        if (!asked) return;
        if (!reply) return refused(*asked, reply.error());
        trace_("client {}: {}", asked->instance.id.str(), reply->outcome);
        checker_.command_answered(asked->instance, *reply);
        judge(*asked, *reply);
      });
      return;
    case Request::Kind::query:
      open_[id].asked_at = checker_.standing(client.key);
      node.query(client.key, {}, "look", detail::arguments_of(),
                 [this, id](Result<dispatch::QueryReply> reply) {
                   const auto asked = take(id);
                   if (!asked) return;
                   if (!reply) return refused(*asked, reply.error());
                   const Client& c = clients_[asked->client];
                   trace_("client {}: answered", c.key.id.str());
                   checker_.query_answered(c.key, asked->asked_at, reply->result);
                   talk_on(*asked);
                 });
      return;
    case Request::Kind::signal:
    case Request::Kind::update:
    case Request::Kind::signal_with_start:
      return say(node, id, open_[id]);
  }
}

void Clients::say(dispatch::Dispatch& node, std::uint64_t id, Request& request) {
  Client& client = clients_[request.client];
  // A new word each time: whether the last one arrived nobody may know.
  request.text = fmt::format("{}#{}", client.key.id.str(), ++texts_);
  std::optional<RunId> on_run;
  if (!client.run.empty() && random_.below(8) == 0) on_run = client.run;

  if (request.kind == Request::Kind::update) {
    const auto amount = static_cast<std::int64_t>(random_.below(12)) - 2;
    engine::UpdateCommand command{"add", detail::arguments_of(amount, request.text), on_run};
    const bool until_completed = random_.below(3) > 0;
    node.update(
        client.key, std::move(command), until_completed,
        [this, id, amount, until_completed](Result<dispatch::UpdateReply> reply) {
          const auto asked = take(id);
          if (!asked) return;
          if (!reply) return refused(*asked, reply.error());
          const Client& c = clients_[asked->client];
          trace_("client {}: update {} {}", c.key.id.str(), reply->outcome.outcome,
                 reply->outcome.rejection_reason);
          checker_.update_answered(c.key, *reply, asked->text);
          judge(*asked, reply->outcome);
          if (reply->outcome.accepted && reply->completed != until_completed) {
            checker_.break_off(fmt::format("{}: an update was answered too {}", c.key.id.str(),
                                           until_completed ? "early" : "late"));
          }
          if (reply->result && amount < 0) {
            checker_.break_off(fmt::format("{}: a debt was accepted", c.key.id.str()));
          }
          talk_on(*asked);
        });
    return;
  }
  engine::SignalCommand command{word.name, detail::arguments_of(request.text), on_run};
  if (request.kind == Request::Kind::signal) {
    if (plant_ == Plant::signal_doubled) {
      node.signal(client.key, command, [](const Result<engine::CommandOutcome>&) {});
    }
    node.signal(client.key, std::move(command), [this, id](Result<engine::CommandOutcome> reply) {
      const auto asked = take(id);
      if (!asked) return;
      if (!reply) return refused(*asked, reply.error());
      const Client& c = clients_[asked->client];
      trace_("client {}: signal {}", c.key.id.str(), reply->outcome);
      checker_.command_answered(c.key, *reply);
      checker_.signal_answered(c.key, *reply, asked->text);
      judge(*asked, *reply);
      talk_on(*asked);
    });
    return;
  }
  command.requested_run.reset();
  node.signal_with_start(
      start_command(client, request.policy), std::move(command),
      [this, id](Result<dispatch::SignalWithStartReply> reply) {
        const auto asked = take(id);
        if (!asked) return;
        if (!reply) return refused(*asked, reply.error());
        Client& c = clients_[asked->client];
        trace_("client {}: {}, {}", c.key.id.str(), reply->start.outcome, reply->signal.outcome);
        if (!reply->start.accepted || !reply->signal.accepted) {
          return checker_.break_off(fmt::format("{}: signal with start was refused with {} and {}",
                                                c.key.id.str(), reply->start.rejection_reason,
                                                reply->signal.rejection_reason));
        }
        checker_.started(c.key, {reply->run_id, c.key.id, reply->start});
        checker_.command_answered(c.key, reply->signal);
        checker_.signal_answered(c.key, reply->signal, asked->text);
        c.run = reply->run_id;
        watch(asked->client, reply->run_id);
        talk_on(*asked);
      });
}

std::optional<Clients::Request> Clients::take(std::uint64_t id) {
  const auto found = open_.find(id);
  if (found == open_.end()) {
    checker_.break_off(fmt::format("request {} was answered twice", id));
    return std::nullopt;
  }
  const Request request = found->second;
  open_.erase(found);
  return request;
}

void Clients::started(const Request& request, const StartReply& reply) {
  Client& client = clients_[request.client];
  const std::string& name = client.key.id.str();
  trace_("client {}: {}", name, reply.outcome.outcome);
  checker_.started(client.key, reply);
  judge(request, reply.outcome);
  if (request.kind == Request::Kind::start_other_type) {
    return checker_.break_off(fmt::format("{} was started as another type", name));
  }
  const std::string& outcome = reply.outcome.outcome;
  const bool expected = outcome == "started_new" || outcome == "returned_existing_active" ||
                        outcome == "rejected_duplicate";
  if (!expected || (outcome == "started_new" && std::exchange(client.started, true))) {
    return checker_.break_off(
        fmt::format("{} runs already and was answered with {}", name, outcome));
  }
  const bool first = client.run.empty();
  if (first) client.run = reply.run_id;
  watch(request.client, reply.run_id);
  if (first && random_.below(6) == 0) {
    later(up_to(10s), {.kind = Request::Kind::start_other_type, .client = request.client});
  }
}

// Whoever is told that nothing runs there was told the truth.
void Clients::judge(const Request& asked, const engine::CommandOutcome& outcome) {
  const bool inactive = outcome.rejection_reason == "run_not_active" ||
                        (outcome.outcome == "rejected_duplicate" &&
                         asked.policy == DuplicateStartPolicy::return_existing_active);
  if (!inactive) return;
  const bool repairs = asked.kind == Request::Kind::repair;
  checker_.called_inactive(repairs ? asked.instance : clients_[asked.client].key, asked.presence);
}

void Clients::refused(const Request& request, const Error& error) {
  const Client& client = clients_[request.client];
  trace_("client {}: {} refused: {}", client.key.id.str(), kind_of(request), to_string(error.code));
  switch (error.code) {
    case ErrorCode::unavailable:
    case ErrorCode::store_full:
    case ErrorCode::overloaded:
      checker_.unsaid(request.text);
      [[fallthrough]];
    case ErrorCode::shutting_down:
      // Some change their minds: the run must go on as if they had never asked.
      if (request.kind == Request::Kind::close && random_.below(2) == 0) return;
      // A polite client waits; an impatient one makes overload worse.
      return later(10ms + up_to(2s), request);
    case ErrorCode::not_found:
      // Too early: nothing of that name was promised to anybody.
      if (request.kind == Request::Kind::close && !request.presence.active &&
          request.presence.ends == 0) {
        return;
      }
      break;
    case ErrorCode::code_unavailable:  // a query runs it
    case ErrorCode::replay_blocked:
      if (request.kind == Request::Kind::query) return talk_on(request);
      break;
    case ErrorCode::conflict:
      if (request.kind == Request::Kind::start_other_type) return;
      break;
    default:
      break;
  }
  checker_.break_off(fmt::format("{}: {} was refused with {}: {}", client.key.id.str(),
                                 kind_of(request), to_string(error.code), error.message));
}

bool Clients::done() const {
  return planned_ == 0 && open_.empty() && backlog_.empty();
}

std::string Clients::describe_open() const {
  std::string text;
  for (const auto& [id, request] : open_) {
    text += fmt::format("{}{} of {}", text.empty() ? "" : ", ", kind_of(request),
                        clients_[request.client].key.id.str());
  }
  return text;
}

}  // namespace dw::sim
