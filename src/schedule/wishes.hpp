// A change applied to a schedule, field by field, with everything that is wrong with it. Inside of
// change.
#pragma once
#include "schedule/change.hpp"

namespace dw::schedule {

struct Wish {
  Schedule schedule;  // as it is wanted
  std::vector<ChangeProblem> problems = {};
  std::vector<ChangeWarning> warnings = {};

  void refuse(std::string path, std::string code, std::string message, std::string hint) {
    problems.push_back({std::move(path), std::move(code), std::move(message), std::move(hint)});
  }
};

// All but identity, spec and bounds.
void apply_fields(Wish& wish, const ScheduleChange& change, const ChangeFacts& facts);
void apply_action(Wish& wish, const ScheduleChange& change);
void clear_fields(Wish& wish, const ScheduleChange& change);

}  // namespace dw::schedule
