#include "schedule/guard_problem.hpp"

#include "core/assert.hpp"

#include <fmt/format.h>

namespace dw::schedule {

Error to_error(std::span<const GuardProblem> problems) {
  DW_ASSERT(!problems.empty(), "an error without a problem");
  const auto& [code, field, message] = problems.front();
  auto text = field.empty() ? fmt::format("{}: {}", code, message)
                            : fmt::format("{} at {}: {}", code, field, message);
  if (problems.size() > 1) text += fmt::format(" (and {} more)", problems.size() - 1);
  return Error{ErrorCode::invalid_argument, std::move(text)};
}

void GuardProblems::add(std::string code, std::string field, std::string message) {
  if (found_.size() == most_guard_problems) return;
  found_.push_back({std::move(code), std::move(field), std::move(message)});
}

}  // namespace dw::schedule
