// For tests: a story's state, or why it is no story.
#pragma once
#include "history/event_builders.hpp"
#include "history/run_state.hpp"

namespace dw::story {

history::RunState state_after(std::vector<Told> list);

void expect_corrupt(std::vector<Told> list, std::string_view why);

}  // namespace dw::story
