#include "schedule/rotation.hpp"

#include "core/assert.hpp"

#include <fmt/format.h>

namespace dw::schedule {

Checked<Rotation> check_rotation(const Value& inputs, RotationFor used_for) {
  GuardProblems problems;
  Rotation rotation;
  const auto* entries = inputs.if_array();
  if (entries == nullptr || entries->empty() || entries->size() > most_rotation_inputs) {
    problems.add("invalid_rotation", "inputs",
                 fmt::format("must be an array of 1 to {} inputs", most_rotation_inputs));
    return std::move(problems).judge(std::move(rotation));
  }
  if (const auto size = to_json(inputs).size(); size > longest_rotation) {
    problems.add(
        "invalid_rotation", "inputs",
        fmt::format("{} bytes are too many: the inputs may have {}", size, longest_rotation));
  }
  for (std::size_t index = 0; index < entries->size(); ++index) {
    if (used_for == RotationFor::workflow || find_prompt((*entries)[index])) continue;
    problems.add("invalid_rotation", fmt::format("inputs[{}]", index),
                 R"(must be a text, or an object such as {"prompt": "…", "metadata": {}})");
  }
  rotation.inputs = *entries;
  return std::move(problems).judge(std::move(rotation));
}

Value to_value(const Rotation& rotation) {
  return Value::Map{{"inputs", Value::Array(rotation.inputs)},
                    {"next_index", static_cast<std::int64_t>(rotation.next_index)}};
}

Checked<Rotation> read_rotation(const Value& stored, RotationFor used_for) {
  const auto* inputs = stored.find("inputs");
  auto rotation = check_rotation(inputs != nullptr ? *inputs : Value{}, used_for);
  if (!rotation) return rotation;
  const auto* next = stored.find("next_index");
  const auto* index = next != nullptr ? next->if_integer() : nullptr;
  if (index == nullptr || *index < 0) {
    return {std::nullopt,
            {{"invalid_rotation", "next_index", "must be a whole number that is not negative"}}};
  }
  rotation.value->next_index = static_cast<std::uint64_t>(*index);
  return rotation;
}

RotationPick pick(const Rotation& rotation) {
  DW_ASSERT(!rotation.inputs.empty(), "a rotation without inputs");
  const auto index = static_cast<std::size_t>(rotation.next_index % rotation.inputs.size());
  return {index, rotation.inputs[index]};
}

void advance(Rotation& rotation) {
  ++rotation.next_index;
}

Value::Array arguments_of(const Value& input) {
  if (const auto* arguments = input.if_array()) return *arguments;
  return {input};
}

std::optional<RotatedPrompt> find_prompt(const Value& input) {
  const auto* entry = input.if_map() != nullptr ? input.find("prompt") : &input;
  const auto* text = entry != nullptr ? entry->if_string() : nullptr;
  if (text == nullptr || text->empty()) return std::nullopt;
  const auto* metadata = input.find("metadata");
  if (metadata == nullptr || metadata->is_null()) return RotatedPrompt{*text};
  if (metadata->if_map() == nullptr) return std::nullopt;
  return RotatedPrompt{*text, *metadata};
}

}  // namespace dw::schedule
