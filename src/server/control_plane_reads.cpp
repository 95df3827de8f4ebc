// What is there: read from the store, computed when asked for.
#include "core/whole_number.hpp"
#include "server/addressed.hpp"
#include "server/control_plane.hpp"
#include "server/page_token.hpp"
#include "server/run_detail.hpp"
#include "server/run_export.hpp"
#include "server/run_look.hpp"
#include "server/workflow_list.hpp"
#include "store/derived.hpp"

#include <fmt/format.h>

namespace dw::server {
namespace {

// Each is read from its history. One that continued as new every minute has more than anybody reads
// at once; its newest come first, page by page.
constexpr std::int64_t most_runs = 500;

// A run with the rows that stand beside it, at this moment.
struct Seen {
  std::vector<history::Event> events;
  views::Account account;
  views::Sight sight;
};

Result<Seen> look_at(store::Store& store, const store::LoadedRun& loaded, RunId current,
                     Timestamp now) {
  Seen seen;
  seen.events = DW_TRY(store::events_of(loaded.commits));
  seen.account = DW_TRY(views::account_of(loaded.row.run_id, seen.events));
  seen.sight = DW_TRY(sight_of_run(store, loaded.row, seen.account, std::move(current), now));
  return seen;
}

}  // namespace

// Whoever probes learns whether the store answers, not only whether the socket does.
Answer ControlPlane::health(const Call& call) {
  const bool answers = parts_.store.find_run(RunId{"health"}).has_value();
  const bool lives = call.operation() == Operation::health;
  const auto word = answers ? (lives ? "serving" : "ready") : (lives ? "degraded" : "not_ready");
  return {answers ? 200 : 503,
          {{"status", word},
           {"timestamp", format_timestamp(parts_.clock.now())},
           {"checks", Value::Map{{"database", answers ? "ok" : "unavailable"}}}}};
}

Answer ControlPlane::list(const Call& call) {
  return list_workflows({parts_.store, parts_.clock, parts_.attributes}, call);
}

Answer ControlPlane::describe(const Call& call) {
  const auto found = find_run_of(parts_.store, instance_of(call), run_of(call));
  if (!found) return failed(found.error(), call);
  if (auto no = absent(*found, call)) return *std::move(no);
  auto seen = look_at(parts_.store, *found->loaded, *found->current, parts_.clock.now());
  if (!seen) return failed(seen.error(), call);
  const auto last = parts_.store.find_run(*found->current);
  if (!last) return failed(last.error(), call);
  seen->sight.updates_queue_behind_signals = parts_.updates_queue_behind_signals;
  seen->sight.code_elsewhere =
      !parts_.registry.find_workflow(seen->account.state.start.workflow_type);
  return {200,
          run_detail(seen->account, seen->events, seen->sight, *last ? (*last)->run_number : 1)};
}

Answer ControlPlane::list_runs(const Call& call) {
  const auto instance = parts_.store.find_instance(instance_of(call));
  if (!instance) return failed(instance.error(), call);
  if (!*instance || !(*instance)->current_run) return no_such_instance(call);
  const std::string of_this = fingerprint_of({call.ns.view(), call.match["workflow"]});
  store::RunFilter filter{.ns = call.ns,
                          .instance_id = InstanceId{std::string{call.match["workflow"]}},
                          .limit = static_cast<std::size_t>(most_runs)};
  if (const auto size = call.parameter("page_size"); size && !size->empty()) {
    const auto number = whole_number(Value{*size});
    if (!number || *number < 1 || *number > most_runs) {
      return invalid({{"page_size", Value::Array{fmt::format("must be a whole number from 1 to {}",
                                                             most_runs)}}});
    }
    filter.limit = static_cast<std::size_t>(*number);
  }
  if (const auto token = call.parameter("next_page_token"); token && !token->empty()) {
    filter.before = parse_run_token(*token, of_this);
    if (!filter.before) {
      return refusal(400, "invalid_page_token", "next_page_token is not of this workflow's runs");
    }
  }
  const auto rows = parts_.store.list_runs(filter);
  if (!rows) return failed(rows.error(), call);
  Value::Array runs;
  for (const store::RunRow& row : *rows) {
    const auto loaded = parts_.store.load_run(row.run_id);
    if (!loaded) return failed(loaded.error(), call);
    if (!*loaded) continue;
    const auto seen =
        look_at(parts_.store, **loaded, *(*instance)->current_run, parts_.clock.now());
    if (!seen) return failed(seen.error(), call);
    runs.emplace_back(run_item(views::summarize(seen->account, seen->sight), seen->account));
  }
  std::ranges::reverse(runs);  // oldest first
  const auto last = parts_.store.find_run(*(*instance)->current_run);
  if (!last) return failed(last.error(), call);
  const bool more = rows->size() == filter.limit && rows->back().run_number > 1;
  return {200,
          {{"workflow_id", call.match["workflow"]},
           {"run_count", *last ? (*last)->run_number : 1},
           {"runs", std::move(runs)},
           {"next_page_token", more ? Value{run_token(rows->back().run_id, of_this)} : Value{}}}};
}

Answer ControlPlane::export_history(const Call& call) {
  const auto found = find_run_of(parts_.store, instance_of(call), run_of(call));
  if (!found) return failed(found.error(), call);
  if (auto no = absent(*found, call)) return *std::move(no);
  const auto inputs = export_inputs(parts_.store, *found->loaded, parts_.clock.now());
  if (!inputs) return failed(inputs.error(), call);
  auto text = bundle::export_bundle(*inputs, {.key = parts_.export_key});
  if (!text) return failed(text.error(), call);
  return {200, {}, {}, *std::move(text)};
}

}  // namespace dw::server
