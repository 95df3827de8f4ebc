// Where code and history disagree about a step, and what whoever deploys can do about it.
#include "runtime/execution.hpp"

#include <fmt/format.h>

namespace dw::runtime {

using namespace dw::history;

void Execution::guard(std::int64_t number, const Step& recorded, Shape shape,
                      std::string_view detail) {
  const bool same_detail = shape == Shape::condition || recorded.detail == detail;
  if (recorded.shape == shape && same_detail) return;
  static constexpr std::string_view words[] = {
      "activity",       "local activity", "timer",
      "side effect",    "condition wait", "signal wait",
      "version marker", "memo upsert",    "search attributes upsert",
      "child workflow", "continue as new"};
  const auto spell = [](Shape s, std::string_view d) {
    const auto word = words[static_cast<std::size_t>(s)];
    return d.empty() ? std::string{word} : fmt::format("{}:{}", word, d);
  };
  const auto asked = spell(shape, detail);
  const auto found = spell(recorded.shape, recorded.detail);
  block({"history_shape_mismatch",
         number,
         asked,
         {std::string{recorded.opened_by}},
         fmt::format(
             "step {} of workflow '{}' (instance '{}') was recorded as {}, the code now asks for "
             "{}; deploy code that still takes the recorded step, or guard the change: "
             "if (dw::patched(\"{}-step-{}\")) {{ new code }} else {{ old code }}; then repair the "
             "run",
             number, workflow_type_, instance_id_, found, asked, workflow_type_, number)});
}

void Execution::guard_condition(std::int64_t number, const Step& recorded,
                                const AwaitOptions& options, const std::string& fingerprint) {
  guard(number, recorded, Shape::condition, {});
  const bool same_definition =
      recorded.fingerprint.empty() || fingerprint.empty() || recorded.fingerprint == fingerprint;
  if (recorded.detail == options.key && same_definition) return;
  const auto named = [](std::string_view key) {
    return key.empty() ? std::string{"no key"} : fmt::format("key '{}'", key);
  };
  block({"condition_wait_definition_mismatch",
         number,
         options.key,
         {std::string{recorded.opened_by}},
         fmt::format("step {} of workflow '{}' (instance '{}') waits for a condition recorded with "
                     "{}, the code now waits with {}{}; deploy code that waits as recorded, then "
                     "repair the run",
                     number, workflow_type_, instance_id_, named(recorded.detail),
                     named(options.key), same_definition ? "" : " and another definition")});
}

void Execution::guard_group(std::int64_t number, const Step& recorded, const GroupPath& group) {
  if (recorded.group == group) return;
  const auto spell = [](const GroupPath& path) {
    std::string text;
    for (const Group& barrier : path) {
      text += fmt::format("{}{}[{}]", text.empty() ? "" : " > ", group_id(barrier), barrier.index);
    }
    return text.empty() ? std::string{"no barrier"} : text;
  };
  block(
      {"history_shape_mismatch",
       number,
       "parallel all barrier matching current topology",
       {std::string{recorded.opened_by}},
       fmt::format("step {} of workflow '{}' (instance '{}') was recorded in {}, the code now has "
                   "it in {}; deploy code with the recorded barrier, then repair the run",
                   number, workflow_type_, instance_id_, spell(recorded.group), spell(group))});
}

}  // namespace dw::runtime
