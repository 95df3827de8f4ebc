#include "server/standalone_activities.hpp"

#include "engine/standalone.hpp"
#include "engine/visibility.hpp"
#include "server/activity_detail.hpp"
#include "server/addressed.hpp"
#include "server/retry_fields.hpp"
#include "server/run_look.hpp"
#include "server/workflow_list.hpp"

#include <fmt/format.h>

namespace dw::server {
namespace {

constexpr std::size_t longest_activity_word = 255;

engine::StartCommand read_hosted_start(Fields& fields, const Namespace& ns) {
  engine::HostedActivity activity;
  activity.activity_type = fields.required_text("activity_type", longest_activity_word);
  activity.arguments = fields.arguments(Named::in_order);
  activity.retry_policy = read_retry_policy(fields);
  read_activity_timeouts(fields, "_seconds", activity.retry_policy);

  engine::StartCommand command;
  command.ns = ns;
  command.source = "control_plane";
  command.workflow_type = engine::standalone_type;
  command.workflow_class = fields.text("activity_class", longest_activity_word);
  command.queue = fields.required_text("task_queue", longest_activity_word);
  command.arguments = encoded(Value::Array{});  // the activity has them
  command.hosted = std::move(activity);
  auto key = engine::business_key(fields.text("business_key", 191));
  if (key) {
    command.business_key = *std::move(key);
  } else {
    fields.wrong("business_key", key.error().message);
  }
  return command;
}

Answer not_started(const InstanceId& id, std::string_view reason, std::string message) {
  return refusal(status_of_rejection(reason), wire_reason(reason), std::move(message),
                 {{"activity_id", id.view()}});
}

Answer no_such_activity(const Call& call) {
  return refusal(404, "activity_not_found",
                 fmt::format("there is no activity '{}' of its own in namespace '{}'; those of "
                             "workflows are in their histories",
                             call.match["activity"], call.ns.view()),
                 {{"activity_id", call.match["activity"]}});
}

std::string percent_encoded(std::string_view text) {
  std::string safe;
  for (const char c : text) safe += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  return safe;
}

// The same list, asked for as one of workflows: those of the reserved type.
Call asking_for_hosts(const Call& call) {
  Call hosts = call;
  hosts.query = fmt::format("workflow_type={}", engine::standalone_type);
  for (const std::string_view name : {"status", "page_size", "next_page_token"}) {
    if (const auto value = call.parameter(name)) {
      hosts.query += fmt::format("&{}={}", name, percent_encoded(*value));
    }
  }
  return hosts;
}

Result<std::optional<views::Account>> look_at_host(store::Store& store, const RunId& run) {
  const auto loaded = DW_TRY(store.load_run(run));
  if (!loaded) return std::optional<views::Account>{};
  auto account = DW_TRY(account_of_run(*loaded));
  if (!hosts_activity(account)) return std::optional<views::Account>{};
  return std::optional{std::move(account)};
}

}  // namespace

StandaloneActivities::StandaloneActivities(StandaloneActivitiesParts parts)
    : parts_(std::move(parts)), ulids_(parts_.random) {}

void StandaloneActivities::serve(Call call, Reply reply) {
  if (call.operation() == Operation::start_activity) return start(call, std::move(reply));
  parts_.reader.post([this, call = std::move(call), reply = std::move(reply)] {
    reply(call.operation() == Operation::list_activities ? list(call) : describe(call));
  });
}

std::string StandaloneActivities::new_id() {
  const std::lock_guard lock{mutex_};
  return ulids_.next(parts_.clock.now());
}

void StandaloneActivities::start(const Call& call, Reply reply) {
  Fields fields{call};
  engine::StartCommand command = read_hosted_start(fields, call.ns);
  const std::string given = fields.text("activity_id", 191);
  auto id = parse_instance_id(given.empty() ? new_id() : given);
  if (!id) fields.wrong("activity_id", id.error().message);
  if (!fields.fine()) return reply(fields.errors());
  command.instance_id = *id;
  parts_.start(std::move(command), [this, call = call.without_body(), id = *id,
                                    reply](Result<dispatch::StartReply> started) {
    if (started) return answer_start(call, id, *started, reply);
    const Error& error = started.error();
    // A workflow has the id, and ids are for life.
    if (error.code == ErrorCode::conflict) {
      return reply(not_started(id, "instance_already_started", error.message));
    }
    reply(failed(error, call));
  });
}

// When it began, and what its execution is called, history knows.
void StandaloneActivities::answer_start(const Call& call, const InstanceId& id,
                                        const dispatch::StartReply& started, Reply reply) {
  const engine::CommandOutcome& outcome = started.outcome;
  if (outcome.rejection_reason == "instance_already_started") {
    return reply(not_started(
        id, outcome.rejection_reason,
        fmt::format("activity '{}' has been started before; pick another id", id.view())));
  }
  if (!outcome.accepted) {
    Answer no = not_started(id, outcome.rejection_reason,
                            fmt::format("activity '{}' was refused: {}", id.view(),
                                        words_of_rejection(outcome.rejection_reason)));
    std::ranges::move(limit_facts(outcome), std::back_inserter(no.body));
    return reply(std::move(no));
  }
  parts_.reader.post([this, call, run = started.run_id, reply = std::move(reply)] {
    const auto host = look_at_host(parts_.store, run);
    if (!host) return reply(failed(host.error(), call));
    if (!*host) return reply(refusal(500, "server_error", "the activity's run is not there"));
    reply({201, started_activity(**host)});
  });
}

Answer StandaloneActivities::list(const Call& call) const {
  const WorkflowListParts parts{parts_.store, parts_.clock, parts_.attributes};
  Answer hosts = list_workflows(parts, asking_for_hosts(call));
  if (hosts.status != 200) return hosts;
  const Value page{std::move(hosts.body)};
  Value::Array items;
  for (const Value& line : *page.find("workflows")->if_array()) {
    const auto host = look_at_host(parts_.store, RunId{*line.find("run_id")->if_string()});
    if (!host) return failed(host.error(), call);
    if (*host) items.emplace_back(activity_item(**host));
  }
  const auto count = static_cast<std::int64_t>(items.size());
  return {200,
          {{"activities", std::move(items)},
           {"activity_count", count},
           {"next_page_token", *page.find("next_page_token")}}};
}

Answer StandaloneActivities::describe(const Call& call) const {
  const InstanceId id{std::string{call.match["activity"]}};
  const auto instance = parts_.store.find_instance({call.ns, id});
  if (!instance) return failed(instance.error(), call);
  if (!*instance || (*instance)->workflow_type != engine::standalone_type ||
      !(*instance)->current_run) {
    return no_such_activity(call);
  }
  const auto host = look_at_host(parts_.store, *(*instance)->current_run);
  if (!host) return failed(host.error(), call);
  return *host ? Answer{200, activity_detail(**host)} : no_such_activity(call);
}

}  // namespace dw::server
