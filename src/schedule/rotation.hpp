// Inputs that take turns: each run that starts gets the next one, and after the last comes the
// first. Whoever starts a run picks and advances in one decision, so that a skip costs no turn.
#pragma once
#include "schedule/guard_problem.hpp"

#include <dw/value.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dw::schedule {

inline constexpr std::size_t most_rotation_inputs = 256;
inline constexpr std::size_t longest_rotation = 256 * 1024;  // bytes of JSON

struct Rotation {
  std::vector<Value> inputs;     // never empty
  std::uint64_t next_index = 0;  // counts turns, and goes on past the end of the inputs
  friend bool operator==(const Rotation&, const Rotation&) = default;
};

// What is started decides what an input may be.
enum class RotationFor { workflow, prompt };

// An array as operators set it, which starts over. The code is invalid_rotation.
Checked<Rotation> check_rotation(const Value& inputs, RotationFor used_for);

// {"inputs", "next_index"}, as it is stored and shown.
Value to_value(const Rotation& rotation);
Checked<Rotation> read_rotation(const Value& stored, RotationFor used_for);

// Whose turn it is.
struct RotationPick {
  std::size_t index = 0;  // rotation_index_used
  Value input;
};
RotationPick pick(const Rotation& rotation);

// After something was started, and only then.
void advance(Rotation& rotation);

// ---- what an input becomes

// Of a workflow: an array is its arguments, anything else its only one.
Value::Array arguments_of(const Value& input);

struct RotatedPrompt {
  std::string prompt;
  std::optional<Value> metadata = {};
  friend bool operator==(const RotatedPrompt&, const RotatedPrompt&) = default;
};
// Of a prompt: a text that is not empty, or {"prompt", "metadata"?}. Absent for anything else.
std::optional<RotatedPrompt> find_prompt(const Value& input);

}  // namespace dw::schedule
