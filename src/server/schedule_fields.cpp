#include "server/schedule_fields.hpp"

#include "core/external_payload.hpp"
#include "engine/standalone.hpp"
#include "engine/visibility.hpp"

#include <fmt/format.h>

#include <charconv>

namespace dw::server {
namespace {

constexpr std::size_t longest_policy_name = 64;
constexpr std::size_t longest_instant = 64;

Value* find_in(Value::Map& map, std::string_view key) {
  for (auto& [name, value] : map) {
    if (name == key && !value.is_null()) return &value;
  }
  return nullptr;
}

// The arguments in the envelope, instead of it.
std::optional<Value> out_of_envelope(const Value& envelope, const std::string& path,
                                     Value::Map& errors) {
  const Payload payload = read_envelope(envelope, path, errors);
  if (!errors.empty()) return std::nullopt;
  const auto no = [&](std::string text) {
    errors.emplace_back(path, Value::Array{std::move(text)});
    return std::nullopt;
  };
  if (find_external_reference(payload)) {
    return no("is stored elsewhere; a schedule keeps its arguments itself, so send them in full");
  }
  auto value = decode(payload);
  if (!value) return no(value.error().message);
  if (!value->if_array()) return no(no_list_inside);
  return *std::move(value);
}

void take_over(std::vector<schedule::ChangeProblem>& problems, const Value::Map& errors) {
  for (const auto& [path, texts] : errors) {
    for (const Value& text : *texts.if_array()) {
      problems.push_back({.path = path,
                          .code = "invalid_value",
                          .message = *text.if_string(),
                          .hint = "send a list of arguments, or an envelope of codec avro"});
    }
  }
}

void open_input(Value::Map& body, std::vector<schedule::ChangeProblem>& problems) {
  Value* action = find_in(body, "action");
  Value* input = action && action->if_map() ? find_in(*action->if_map(), "input") : nullptr;
  if (!input || !is_envelope(*input)) return;
  Value::Map errors;
  auto value = out_of_envelope(*input, "action.input", errors);
  take_over(problems, errors);
  *input = value ? *std::move(value) : Value{Value::Array{}};
}

// What runs carry is checked when one starts; better now than at three in the night.
template <typename Checked>
void check_carried(const std::optional<Value>& value, std::string_view path, Checked check,
                   std::vector<schedule::ChangeProblem>& problems) {
  if (!value) return;
  if (const auto fits = check(*value); !fits) {
    problems.push_back({.path = std::string{path},
                        .code = "invalid_value",
                        .message = fits.error().message,
                        .hint = "see the limits of memos, labels and search attributes"});
  }
}

void check_action(const schedule::ScheduleChange& change,
                  std::vector<schedule::ChangeProblem>& problems) {
  if (!change.action) return;
  const Value* type = change.action->find("workflow_type");
  if (type && type->if_string() && *type->if_string() == engine::standalone_type) {
    problems.push_back({.path = "action.workflow_type",
                        .code = "invalid_value",
                        .message = "is reserved for activities that stand alone",
                        .hint = "name a workflow type of yours"});
  }
  const Value* kind = change.action->find("kind");
  if (kind && kind->if_string() && *kind->if_string() == "send_prompt") {
    problems.push_back({.path = "action.kind",
                        .code = "invalid_value",
                        .message = "prompts go to workspaces, and this route has none",
                        .hint = "use start_workflow"});
  }
}

}  // namespace

std::optional<std::int64_t> whole_number_in(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = !text.empty() && error == std::errc{} && end == text.data() + text.size();
  return whole ? std::optional{number} : std::nullopt;
}

std::optional<schedule::Overlap> overlap_in(Fields& fields) {
  const std::string given = fields.text("overlap_policy", longest_policy_name);
  if (given.empty()) return std::nullopt;
  const auto policy = schedule::find_overlap(given);
  if (!policy) {
    fields.wrong("overlap_policy",
                 "must be one of skip, buffer_one, buffer_all, allow_all, cancel_other, "
                 "terminate_other");
  }
  return policy;
}

std::optional<Value> input_in(Fields& fields, std::string_view name) {
  const Value* given = fields.field(name);
  if (!given) return std::nullopt;
  if (is_envelope(*given)) {
    Value::Map errors;
    auto value = out_of_envelope(*given, fields.path_of(name), errors);
    fields.also_wrong(std::move(errors));
    return value;
  }
  if (given->if_array() || given->if_map()) return *given;
  fields.wrong(name, "must be a list, an object or an envelope");
  return std::nullopt;
}

std::optional<Timestamp> instant_in(Fields& fields, std::string_view name) {
  const std::string text = fields.required_text(name, longest_instant);
  if (text.empty()) return std::nullopt;
  const auto at = parse_timestamp(text);
  if (at) return *at;
  fields.wrong(name, "must be a time such as 2026-04-20T00:00:00Z");
  return std::nullopt;
}

ReadWish read_wish(const Call& call) {
  ReadWish wish;
  Value::Map body = call.body;
  open_input(body, wish.problems);
  auto read = schedule::read_change(Value{std::move(body)});
  wish.change = std::move(read.change);
  std::ranges::move(read.problems, std::back_inserter(wish.problems));
  wish.warnings = std::move(read.warnings);
  check_action(wish.change, wish.problems);
  // One that is too large has a reason of its own, which comes with the change.
  if (wish.change.memo && to_json(*wish.change.memo).size() <= schedule::longest_memo) {
    check_carried(
        wish.change.memo, "memo", [](const Value& map) { return engine::memo(map); },
        wish.problems);
  }
  check_carried(
      wish.change.search_attributes, "search_attributes",
      [](const Value& map) { return engine::search_attributes(map); }, wish.problems);
  check_carried(
      wish.change.labels, "labels", [](const Value& map) { return engine::visibility_labels(map); },
      wish.problems);
  return wish;
}

}  // namespace dw::server
