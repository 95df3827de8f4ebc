// What is there: read from the store, computed when asked for.
#include "core/base64.hpp"
#include "history/render.hpp"
#include "server/addressed.hpp"
#include "server/control_plane.hpp"
#include "server/run_detail.hpp"
#include "server/run_export.hpp"
#include "server/run_look.hpp"
#include "server/workflow_list.hpp"
#include "store/derived.hpp"

#include <fmt/format.h>

#include <charconv>

namespace dw::server {
namespace {

constexpr std::int64_t full_history = 10'000;

// A whole number between these; absent when the text is anything else.
std::optional<std::int64_t> whole(std::string_view text, std::int64_t least, std::int64_t most) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool all = error == std::errc{} && end == text.data() + text.size();
  return all && number >= least && number <= most ? std::optional{number} : std::nullopt;
}

Answer bad_token() {
  return refusal(400, "invalid_page_token", "next_page_token is not one of ours");
}

// Is it there, and of the workflow in the path?
bool is_named(const std::optional<store::LoadedRun>& run, const Call& call) {
  return run && run->row.ns == call.ns && run->row.instance_id.view() == call.match["workflow"];
}

// A run with the rows that stand beside it, at this moment.
struct Seen {
  views::Account account;
  views::Sight sight;
};

Result<Seen> look_at(store::Store& store, const store::LoadedRun& loaded, RunId current,
                     Timestamp now) {
  Seen seen{DW_TRY(account_of_run(loaded)), {}};
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
  if (!found->current) return no_such_instance(call);
  if (!is_named(found->loaded, call)) return no_such_run(call);
  const auto seen = look_at(parts_.store, *found->loaded, *found->current, parts_.clock.now());
  if (!seen) return failed(seen.error(), call);
  const auto last = parts_.store.find_run(*found->current);
  if (!last) return failed(last.error(), call);
  return {200, run_detail(seen->account, seen->sight, *last ? (*last)->run_number : 1)};
}

Answer ControlPlane::list_runs(const Call& call) {
  const auto instance = parts_.store.find_instance(instance_of(call));
  if (!instance) return failed(instance.error(), call);
  if (!*instance || !(*instance)->current_run) return no_such_instance(call);
  Value::Array runs;
  store::RunFilter filter{.ns = call.ns,
                          .instance_id = InstanceId{std::string{call.match["workflow"]}}};
  for (;;) {
    const auto rows = parts_.store.list_runs(filter);
    if (!rows) return failed(rows.error(), call);
    for (const store::RunRow& row : *rows) {
      filter.before = row.run_id;
      const auto loaded = parts_.store.load_run(row.run_id);
      if (!loaded) return failed(loaded.error(), call);
      if (!*loaded) continue;
      const auto seen =
          look_at(parts_.store, **loaded, *(*instance)->current_run, parts_.clock.now());
      if (!seen) return failed(seen.error(), call);
      runs.emplace_back(run_item(views::summarize(seen->account, seen->sight), seen->account));
    }
    if (rows->size() < filter.limit) break;
  }
  std::ranges::reverse(runs);  // oldest first
  const auto count = static_cast<std::int64_t>(runs.size());
  return {
      200,
      {{"workflow_id", call.match["workflow"]}, {"run_count", count}, {"runs", std::move(runs)}}};
}

Answer ControlPlane::export_history(const Call& call) {
  const auto loaded = parts_.store.load_run(*run_of(call));
  if (!loaded) return failed(loaded.error(), call);
  if (!is_named(*loaded, call)) return no_such_run(call);
  const auto inputs = export_inputs(parts_.store, **loaded, parts_.clock.now());
  if (!inputs) return failed(inputs.error(), call);
  auto text = bundle::export_bundle(*inputs, {.key = parts_.export_key});
  if (!text) return failed(text.error(), call);
  return {200, {}, {}, *std::move(text)};
}

Answer ControlPlane::history(const Call& call) {
  const auto loaded = parts_.store.load_run(*run_of(call));
  if (!loaded) return failed(loaded.error(), call);
  if (!is_named(*loaded, call)) return no_such_run(call);
  std::int64_t after = 0;
  if (const auto token = call.parameter("next_page_token"); token && !token->empty()) {
    const auto last = whole(decode_base64(*token).value_or(""), 0, INT64_MAX);
    if (!last) return bad_token();
    after = *last;
  }
  // Published clients look for the last event on the first page.
  std::int64_t size = full_history;
  if (const auto asked = call.parameter("page_size"); asked && !asked->empty()) {
    const auto given = whole(*asked, 1, 1000);
    if (!given) {
      return invalid({{"page_size", Value::Array{"must be a whole number from 1 to 1000"}}});
    }
    size = *given;
  }

  history::Renderer renderer{(*loaded)->row.run_id};
  Value::Array events;
  Value next;
  for (const store::StoredCommit& commit : (*loaded)->commits) {
    const auto facts = store::events_of({&commit, 1});
    if (!facts) return failed(facts.error(), call);
    const auto texts = renderer.render(commit.id, *facts);
    if (!texts) return failed(texts.error(), call);
    for (std::size_t i = 0; i < texts->size() && next.is_null(); ++i) {
      const std::int64_t sequence = (*facts)[i].sequence;
      if (sequence <= after) continue;
      auto event = parse_json((*texts)[i]);
      if (!event) return failed(event.error(), call);
      const Value* payload = event->find("payload");
      events.emplace_back(Value::Map{{"sequence", sequence},
                                     {"event_type", *event->find("type")},
                                     {"timestamp", *event->find("recorded_at")},
                                     {"payload", payload ? *payload : Value{Value::Map{}}}});
      if (static_cast<std::int64_t>(events.size()) == size &&
          sequence < (*loaded)->row.last_sequence) {
        next = encode_base64(std::to_string(sequence));
      }
    }
  }
  return {200,
          {{"workflow_id", call.match["workflow"]},
           {"run_id", call.match["run"]},
           {"events", std::move(events)},
           {"next_page_token", next}}};
}

}  // namespace dw::server
