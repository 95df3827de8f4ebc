#include "remote/client_impl.hpp"

#include "handles/start_command.hpp"
#include "handles/waiter.hpp"
#include "remote/client_words.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dw::remote {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t largest_page = 200;   // of a list
constexpr std::size_t history_page = 1000;  // events
constexpr std::chrono::seconds longest_update_wait = 3600s;

// Which run that is, for messages.
std::string named(const detail::RunRef& run) {
  return fmt::format("'{}'", run.instance_id);
}

}  // namespace

ClientImpl::ClientImpl(Registry registry, ClientOptions options)
    : registry_(std::move(registry)),
      options_(std::move(options)),
      namespace_(unwrap(parse_namespace(options_.ns))),
      random_(system_seed()),
      ulids_(random_),
      line_(options_),
      watches_(line_, options_.max_waits) {}

void ClientImpl::stop() {
  watches_.stop();
  line_.stop();
}

std::string ClientImpl::new_id() {
  const std::lock_guard lock{ids_};
  return ulids_.next(clock_.now());
}

Said ClientImpl::asked(Question question) {
  detail::Waiter<Said> waiter;
  line_.ask(std::move(question), waiter.reply());
  return waiter.get();
}

// ---- starts

engine::StartCommand ClientImpl::start_command(std::string type, const StartOptions& options,
                                               Payload arguments) {
  const auto* definition = registry_.find_workflow(type);
  return detail::start_command(
      definition, namespace_, [this] { return new_id(); }, std::move(type), options,
      std::move(arguments));
}

void ClientImpl::start(std::string type, const StartOptions& options, Payload arguments,
                       Reply<WorkflowHandle> reply) {
  auto start = std::make_shared<Start>();
  start->command = start_command(std::move(type), options, std::move(arguments));
  start->attaches = options.on_duplicate == DuplicateStart::attach;
  start->own_id = options.id.empty();
  start->reply = std::move(reply);
  start->attaches && !start->own_id ? find_or_start(start) : this->start(start);
}

// Looking first keeps the history of a closed run as it is.
void ClientImpl::find_or_start(const StartPtr& start) {
  const auto& command = start->command;
  const auto about = fmt::format("start '{}'", command.instance_id.view());
  line_.ask({.about = about,
             .path = "/workflows/" + escaped(command.instance_id.view()),
             .ns = command.ns.str(),
             .repeatable = true},
            [self = shared_from_this(), start, about](Result<Said> said) {
              if (!said) return start->reply(std::move(said).error());
              if (said->text("reason") == "instance_not_found") return self->start(start);
              if (!said->fine()) return start->reply(refusal(*said, about));
              if (said->text("workflow_type") != start->command.workflow_type) {
                return self->start(start);  // for the server to refuse
              }
              auto run = run_in(*said, about);
              if (!run) return start->reply(std::move(run).error());
              start->reply(WorkflowHandle{self, *std::move(run), false});
            });
}

void ClientImpl::start(const StartPtr& start) {
  line_.ask(
      {.about = fmt::format("start '{}'", start->command.instance_id.view()),
       .method = "POST",
       .path = "/workflows",
       .ns = start->command.ns.str(),
       .body = start_body(start->command),
       .repeatable = true},
      [self = shared_from_this(), start](const Result<Said>& said) {
        start->reply(said ? self->started(*start, *said) : Result<WorkflowHandle>{said.error()});
      });
}

Result<WorkflowHandle> ClientImpl::started(const Start& start, const Said& said) {
  const auto& id = start.command.instance_id.str();
  // It is ours when nobody else knows the id: the answer to an earlier attempt was lost.
  const bool ours = start.own_id && said.repeated;
  const bool found = said.text("reason") == "duplicate_not_allowed" &&
                     said.text("rejection_reason") != "workflow_type_mismatch" &&
                     (start.attaches || ours);
  if (!said.fine() && !found) return start_refusal(said, id);
  auto run = DW_TRY(run_in(said, fmt::format("start '{}'", id)));
  return WorkflowHandle{shared_from_this(), std::move(run),
                        ours || said.text("outcome") == "started_new"};
}

WorkflowHandle ClientImpl::start_with(SignalCall signal, std::string type,
                                      const StartOptions& options, Payload arguments) {
  auto command = start_command(std::move(type), options, std::move(arguments));
  command.duplicate_start_policy = engine::DuplicateStartPolicy::return_existing_active;
  const auto& id = command.instance_id.str();
  const auto about = fmt::format("start '{}' with signal '{}'", id, signal.name);
  const auto said = asked({.about = about,
                           .method = "POST",
                           .path = "/workflows",
                           .ns = command.ns.str(),
                           .body = start_body(command, signal)});
  if (!said.fine()) throw EngineError{start_with_refusal(said, id, signal.name)};
  if (said.text("signal_outcome").empty()) {
    throw EngineError{{ErrorCode::unavailable,
                       fmt::format("the server has started '{}' and knows nothing of the signal "
                                   "'{}' that was to come with it: it is too old for start_with. "
                                   "Send the signal to the handle, or update the server",
                                   id, signal.name)}};
  }
  return {shared_from_this(), unwrap(run_in(said, about)), said.text("outcome") == "started_new"};
}

WorkflowHandle ClientImpl::attach(std::string_view id, const std::optional<std::string>& ns) {
  const auto instance = unwrap(parse_instance_id(id));
  const auto about = fmt::format("find '{}'", id);
  const auto said = asked({.about = about,
                           .path = "/workflows/" + escaped(instance.view()),
                           .ns = ns ? unwrap(parse_namespace(*ns)).str() : namespace_.str(),
                           .repeatable = true});
  if (!said.fine()) throw EngineError{refusal(said, about)};
  return {shared_from_this(), unwrap(run_in(said, about)), false};
}

// ---- what is there

RunInfo ClientImpl::info(const RunRef& run) {
  const auto about = fmt::format("describe {}", named(run));
  const auto said = asked({.about = about,
                           .path = fmt::format("{}/runs/{}", path_of(run), escaped(run.run_id)),
                           .ns = run.ns,
                           .repeatable = true});
  if (!said.fine()) throw EngineError{refusal(said, about)};
  return unwrap(run_info(said.body));
}

std::vector<RunInfo> ClientImpl::runs(std::size_t limit) {
  std::vector<RunInfo> list;
  std::string token;
  while (list.size() < limit) {
    const auto said =
        asked({.about = "list runs",
               .path = fmt::format("/workflows?page_size={}&next_page_token={}",
                                   std::min(limit - list.size(), largest_page), escaped(token)),
               .ns = namespace_.str(),
               .repeatable = true});
    if (!said.fine()) throw EngineError{refusal(said, "list runs")};
    const Value* workflows = said.body.find("workflows");
    if (!workflows || !workflows->if_array()) break;
    for (const Value& item : *workflows->if_array()) list.push_back(unwrap(run_info(item)));
    token = said.text("next_page_token");
    if (token.empty()) break;
  }
  return list;
}

std::string ClientImpl::current_run(const RunRef& run) {
  const auto about = fmt::format("find {}", named(run));
  const auto said = asked({.about = about, .path = path_of(run), .ns = run.ns, .repeatable = true});
  if (said.text("reason") == "instance_not_found") return {};
  if (!said.fine()) throw EngineError{refusal(said, about)};
  return unwrap(run_in(said, about)).run_id;
}

bool ClientImpl::read_history(const RunRef& run, UpdateStory& story) {
  const auto about = fmt::format("read the history of {}", named(run));
  std::string token;
  do {
    const auto said =
        asked({.about = about,
               .path = fmt::format("{}/runs/{}/history?page_size={}&next_page_token={}",
                                   path_of(run), escaped(run.run_id), history_page, escaped(token)),
               .ns = run.ns,
               .repeatable = true});
    if (said.text("reason") == "run_not_found") return false;
    if (!said.fine()) throw EngineError{refusal(said, about)};
    const Value* events = said.body.find("events");
    if (events && events->if_array()) {
      for (const Value& event : *events->if_array()) story.hear(event);
    }
    token = said.text("next_page_token");
  } while (!token.empty());
  return true;
}

// An update that was carried along is told by the last run that has it.
UpdateInfo ClientImpl::update_info(const RunRef& run, std::string_view update_id) {
  for (std::string next = current_run(run); !next.empty();) {
    UpdateStory story{update_id};
    if (!read_history({run.ns, run.instance_id, next}, story)) break;
    if (story.info()) return *story.info();
    next = story.continued_from();
  }
  throw EngineError{{ErrorCode::not_found, fmt::format("instance '{}' knows no update '{}'",
                                                       run.instance_id, update_id)}};
}

void ClientImpl::watch(const RunRef& run, std::optional<std::chrono::milliseconds> patience,
                       Reply<detail::Closed> reply) {
  watches_.add(run, patience, std::move(reply));
}

// ---- commands

CommandReply ClientImpl::command(const RunRef& run, std::string_view verb,
                                 std::string_view reason) {
  const auto about = fmt::format("{} {}", verb, named(run));
  const auto said = asked({.about = about,
                           .method = "POST",
                           .path = fmt::format("{}/{}", path_of(run), verb),
                           .ns = run.ns,
                           .body = command_body(reason, new_id()),
                           .repeatable = true});
  return unwrap(command_reply(said, about));
}

CommandReply ClientImpl::close(const RunRef& run, detail::CloseKind kind, std::string reason) {
  return command(run, kind == detail::CloseKind::cancel ? "cancel" : "terminate", reason);
}

CommandReply ClientImpl::repair(const RunRef& run) {
  return command(run, "repair", {});
}

CommandReply ClientImpl::archive(const RunRef& run, std::string reason) {
  return command(run, "archive", reason);
}

void ClientImpl::signal(const RunRef& run, SignalCall signal, Reply<CommandReply> reply) {
  const auto about = fmt::format("send signal '{}' to {}", signal.name, named(run));
  line_.ask({.about = about,
             .method = "POST",
             .path = fmt::format("{}/signal/{}", path_of(run), escaped(signal.name)),
             .ns = run.ns,
             .body = signal_body(signal.arguments, new_id()),
             .repeatable = true},
            [about, reply = std::move(reply)](const Result<Said>& said) {
              reply(said ? command_reply(*said, about) : Result<CommandReply>{said.error()});
            });
}

Payload ClientImpl::query(const RunRef& run, std::string_view name, Payload arguments) {
  const auto about = fmt::format("query '{}' of {}", name, named(run));
  const auto said = asked({.about = about,
                           .method = "POST",
                           .path = fmt::format("{}/query/{}", path_of(run), escaped(name)),
                           .ns = run.ns,
                           .body = query_body(arguments),
                           .repeatable = true,
                           .long_poll = 30s});  // a worker elsewhere may have to be found
  return unwrap(query_result(said, about));
}

UpdateInfo ClientImpl::update(const RunRef& run, const UpdateOptions& options,
                              std::string_view name, Payload arguments) {
  const auto patience =
      detail::update_patience(options, options_.update_timeout, name, run.instance_id);
  std::optional<std::chrono::seconds> wait;
  if (options.wait_for == UpdateStage::completed) {
    wait = std::min(std::chrono::ceil<std::chrono::seconds>(patience), longest_update_wait);
  }
  const auto about = fmt::format("update {} with '{}'", named(run), name);
  const auto said = asked({.about = about,
                           .method = "POST",
                           .path = fmt::format("{}/update/{}", path_of(run), escaped(name)),
                           .ns = run.ns,
                           .body = update_body(arguments, new_id(), wait),
                           .repeatable = true,
                           .long_poll = wait});
  return unwrap(update_reply(said, name, about));
}

}  // namespace dw::remote
