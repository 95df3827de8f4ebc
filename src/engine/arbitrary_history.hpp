// For tests: histories that could have happened, made by asking decide() random things. Whatever
// comes out is a history by definition; the story behind it checks its own invariants on the way.
// A run that continues is followed into the next one.
#pragma once
#include "engine/given.hpp"

#include <rapidcheck.h>

namespace dw::story {

// One random thing asked of the run, sensible more often than not, and some time passing.
void ask_something(Story& story, Timestamp& now);

Story arbitrary_story();

rc::Gen<std::vector<history::Event>> arbitrary_history();

}  // namespace dw::story
