#include "sim/clients.hpp"

namespace dw::sim {

using namespace std::chrono_literals;
using dispatch::StartReply;
using engine::DuplicateStartPolicy;

Duration Clients::up_to(Duration longest) {
  return Duration{
      static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(longest.count())))};
}

std::string_view Clients::word(const Request& request) {
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
    const auto kind = clients_.back().reserves ? Request::Kind::reserve : Request::Kind::start;
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

void Clients::connected(dispatch::Dispatch& dispatch) {
  dispatch_ = &dispatch;
  for (const Request& request : std::exchange(backlog_, {})) later(up_to(200ms), request);
}

void Clients::disconnected() {
  dispatch_ = nullptr;
  for (const auto& [id, request] : open_) backlog_.push_back(request);
  open_.clear();
}

engine::StartCommand Clients::start_command(const Client& client,
                                            DuplicateStartPolicy policy) const {
  engine::StartCommand command;
  command.ns = client.key.ns;
  command.instance_id = client.key.id;
  command.workflow_type = client.order.workflow_type;
  command.workflow_class = client.order.workflow_type;
  command.arguments = detail::arguments_of(client.order.numbers);
  command.duplicate_start_policy = policy;
  command.run_timeout = client.order.run_timeout;
  command.execution_timeout = client.order.execution_timeout;
  return command;
}

void Clients::ask(const Request& request) {
  if (!dispatch_) {
    backlog_.push_back(request);
    return;
  }
  const std::uint64_t id = ++ids_;
  open_[id] = request;
  Client& client = clients_[request.client];
  trace_("client {}: {}", client.key.id.str(), word(request));
  switch (request.kind) {
    case Request::Kind::reserve:
      dispatch_->reserve(client.key, client.order.workflow_type,
                         [this, id](Result<InstanceId> reply) {
                           const auto asked = take(id);
                           if (!asked) return;
                           if (!reply) return refused(*asked, reply.error());
                           const Client& c = clients_[asked->client];
                           trace_("client {}: reserved", c.key.id.str());
                           checker_.reserved(c.key, c.order.workflow_type);
                           Request start = *asked;
                           start.kind = Request::Kind::start;
                           later(up_to(2s), start);
                         });
      return;
    case Request::Kind::start:
    case Request::Kind::start_other_type: {
      auto command = start_command(client, request.policy);
      if (request.kind == Request::Kind::start_other_type) command.workflow_type = "sim.other";
      dispatch_->start(std::move(command), [this, id](Result<StartReply> reply) {
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
      dispatch_->close(client.key, std::move(command),
                       [this, id](Result<engine::CommandOutcome> reply) {
                         const auto asked = take(id);
                         if (!asked) return;
                         if (!reply) return refused(*asked, reply.error());
                         const Client& c = clients_[asked->client];
                         trace_("client {}: {}", c.key.id.str(), reply->outcome);
                         checker_.command_answered(c.key, *reply);
                         const Checker::Run* run = c.run.empty() ? nullptr : checker_.find(c.run);
                         if (reply->outcome != "rejected_not_started" && run && run->state.open()) {
                           checker_.break_off(
                               fmt::format("{}: a close was answered with {}, and the run is open",
                                           c.key.id.str(), reply->outcome));
                         }
                       });
      return;
    }
    case Request::Kind::watch:
      dispatch_->watch({client.key, client.run}, [this, id](Result<dispatch::ClosedRun> reply) {
        const auto asked = take(id);
        if (!asked) return;
        if (!reply) return refused(*asked, reply.error());
        Client& c = clients_[asked->client];
        trace_("client {}: told it is {}", c.key.id.str(), reply->closed_reason);
        checker_.told_closed(c.run, *reply);
        c.told = true;
      });
      return;
  }
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
  if (request.kind == Request::Kind::start_other_type) {
    return checker_.break_off(fmt::format("{} was started as another type", name));
  }
  const bool expected = reply.outcome.outcome == "started_new" ||
                        reply.outcome.outcome == "returned_existing_active" ||
                        reply.outcome.outcome == "rejected_duplicate";
  if (!expected || (reply.outcome.outcome == "started_new" && !client.run.empty()) ||
      (!client.run.empty() && client.run != reply.run_id)) {
    return checker_.break_off(
        fmt::format("{} runs already and was answered with {}", name, reply.outcome.outcome));
  }
  if (!client.run.empty()) return;
  client.run = reply.run_id;
  later(up_to(random_.below(2) == 0 ? 10ms : 10s),
        {.kind = Request::Kind::watch, .client = request.client});
  if (random_.below(6) == 0) {
    later(up_to(10s), {.kind = Request::Kind::start_other_type, .client = request.client});
  }
}

void Clients::refused(const Request& request, const Error& error) {
  const Client& client = clients_[request.client];
  trace_("client {}: {} refused: {}", client.key.id.str(), word(request), to_string(error.code));
  switch (error.code) {
    case ErrorCode::unavailable:
    case ErrorCode::store_full:
    case ErrorCode::overloaded:
    case ErrorCode::shutting_down:
      // Some change their minds: the run must go on as if they had never asked.
      if (request.kind == Request::Kind::close && random_.below(2) == 0) return;
      // A polite client waits; an impatient one makes overload worse.
      return later(10ms + up_to(2s), request);
    case ErrorCode::not_found:
      // Too early: nothing of that name was promised to anybody.
      if (request.kind == Request::Kind::close && client.run.empty()) return;
      break;
    case ErrorCode::conflict:
      if (request.kind == Request::Kind::start_other_type) return;
      break;
    default:
      break;
  }
  checker_.break_off(fmt::format("{}: {} was refused with {}: {}", client.key.id.str(),
                                 word(request), to_string(error.code), error.message));
}

bool Clients::done() const {
  if (planned_ > 0 || !open_.empty() || !backlog_.empty()) return false;
  return std::ranges::all_of(clients_, &Client::told);
}

std::string Clients::describe_open() const {
  std::string text;
  for (const auto& [id, request] : open_) {
    text += fmt::format("{}{} of {}", text.empty() ? "" : ", ", word(request),
                        clients_[request.client].key.id.str());
  }
  return text;
}

}  // namespace dw::sim
