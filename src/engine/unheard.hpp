// What runs have said to each other and the other has not taken in, from their histories alone. One
// kind cannot be told: a signal for a child is on its way without a trace in the sender's history.
#pragma once
#include "engine/decide.hpp"

namespace dw::engine {

// The end of a child, or the run it goes on as, if its parent has yet to hear of it. `parent` is
// the run in which the parent's instance goes on, `news` are the child's runs from the one on that
// the parent knows.
std::optional<Task> unheard_by_parent(const Run& child, std::span<const history::Event> events,
                                      const Run& parent, std::span<const RunId> news,
                                      const Context& context);

// The end of a parent, if that child has yet to hear of it. `child` is the run in which the child's
// instance goes on.
std::optional<Task> unheard_by_child(const Run& parent, const history::OpenChild& entry,
                                     const Run& child, const Context& context);

// Do two intents say the same? What they are called does not matter, nor which run of an instance
// they have reached.
bool say_the_same(const Task& left, const Task& right);

}  // namespace dw::engine
