#include "testing/replay_answer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>

namespace dw::testing {
namespace {

std::string workflow_type(const History& history) {
  const auto started = std::ranges::find(history.events, "WorkflowStarted", &HistoryEvent::type);
  if (started == history.events.end()) return {};
  const Value* type = started->facts.find("workflow_type");
  const auto* text = type ? type->if_string() : nullptr;
  return text ? *text : std::string{};
}

Value answer(std::string_view status, std::string reason, Value divergence = {}) {
  return Value::Map{
      {"status", status}, {"reason", std::move(reason)}, {"divergence", std::move(divergence)}};
}

}  // namespace

Value replay_answer(const Registry& registry, std::string_view text) {
  try {
    const auto history = parse_history(text);
    const auto type = workflow_type(history);
    if (!registry.find_workflow(type)) {
      return answer("skipped",
                    fmt::format("workflow type '{}' is not linked into this build", type));
    }
    const auto found = replay(registry, history).divergence;
    if (!found) return answer("ok", {});
    return answer("drifted", {},
                  Value::Map{{"workflow_sequence", found->step},
                             {"expected", found->asked},
                             {"recorded", found->recorded},
                             {"message", found->message}});
  } catch (const EngineError& error) {  // what is redacted cannot be replayed
    return answer("skipped", error.what());
  }
}

std::optional<int> answer_replay(int argc, const char* const* argv, Registry& registry) {
  if (argc != 3 || std::string_view{argv[1]} != "dw:replay") return std::nullopt;
  std::ifstream file{argv[2], std::ios::binary};
  if (!file) {
    fmt::print(stderr, "cannot read the history '{}'\n", argv[2]);
    return 1;
  }
  const std::string text{std::istreambuf_iterator<char>{file}, std::istreambuf_iterator<char>{}};
  registry.freeze();
  fmt::print("{}\n", to_json(replay_answer(registry, text)));
  return 0;
}

}  // namespace dw::testing
