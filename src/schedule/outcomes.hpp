// What becomes of an occurrence once it was judged: what each result leaves behind, field by
// field. Inside of decide.
#pragma once
#include "schedule/decide.hpp"
#include "schedule/guards.hpp"

namespace dw::schedule {

// Nothing is to be written.
Decision leave_alone(const Schedule& schedule, Outcome outcome, std::string_view reason = {});

// An occurrence on its way to a decision, which already holds what was dropped before it.
struct Judging {
  Decision decision;
  Attempt attempt;
  std::optional<Value> input = {};  // given for this once
};

Decision start_it(Judging judging);
Decision skip_it(Judging judging, const Denial& denial);
Decision buffer_it(Judging judging, const Denial& denial);
Decision pause_instead(Judging judging, const Denial& denial);
Decision fail_it(Judging judging, std::string_view error);

// ---- parts of the above that a life shares

// Its buffer goes with it: what waited there never starts.
void put_to_rest(Decision& decision, const Facts& facts, std::string_view reason);
void put_on_hold(Decision& decision, const Facts& facts, const std::optional<std::string>& reason);
void drop_stretch(Decision& decision, const Facts& facts, Timestamp after, Timestamp until,
                  std::string_view reason = "missed_fire");

}  // namespace dw::schedule
