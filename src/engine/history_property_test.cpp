#include "engine/arbitrary_history.hpp"
#include "engine/parts.hpp"
#include "history/codec.hpp"
#include "history/fold.hpp"
#include "history/render.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace dw::story {
namespace {

using history::Event;
using history::EventBody;

std::vector<EventBody> bodies(const std::vector<Event>& events) {
  std::vector<EventBody> all;
  for (const Event& event : events) all.push_back(event.body);
  return all;
}

// proves: E-163
RC_GTEST_PROP(Fold, MayBeCutAnywhere, ()) {
  const auto events = *arbitrary_history();
  const auto cut = *rc::gen::inRange<std::size_t>(0, events.size() + 1);
  auto in_two = history::fold(std::span{events}.first(cut));
  RC_ASSERT(in_two.has_value());
  for (const Event& event : std::span{events}.subspan(cut)) {
    RC_ASSERT(history::apply(*in_two, event).has_value());
  }
  RC_ASSERT(*in_two == *history::fold(events));
}

RC_GTEST_PROP(Codec, ReadsWhatItWrote, ()) {
  const auto events = bodies(*arbitrary_history());
  std::string text;
  history::append_events(text, events);
  RC_ASSERT(*history::parse_events(text) == events);
}

RC_GTEST_PROP(Decide, KeepsOpenWorkAndOpenTasksTogether, ()) {
  // The story checks after every step; what it found became test failures.
  const auto story = arbitrary_story();
  RC_ASSERT(!::testing::Test::HasFailure());
  if (story.state().open()) return;
  // What a closed run may leave is a watch that an unrecorded heartbeat has moved.
  for (const auto& [key, task] : story.open_tasks()) {
    RC_ASSERT(task.subject.starts_with(engine::timeout_subject));
  }
}

RC_GTEST_PROP(Fold, RefusesAHistoryWithAnEventLost, ()) {
  auto events = *arbitrary_history();
  RC_PRE(events.size() > 1);
  const auto lost = *rc::gen::inRange<std::size_t>(0, events.size() - 1);
  events.erase(events.begin() + static_cast<std::ptrdiff_t>(lost));
  RC_ASSERT(!history::fold(events).has_value());
}

RC_GTEST_PROP(Render, ShowsEveryHistory, ()) {
  const auto story = arbitrary_story();
  history::Renderer renderer{story.run().id};
  const auto shown =
      renderer.render(CommitId{"01ARYZ6S41TSV4RRFFQ69G5FAV"}, std::span{story.events()});
  RC_ASSERT(shown.has_value());
  RC_ASSERT(shown->size() == story.events().size());
  for (const auto& text : *shown) RC_ASSERT(parse_json(text).has_value());
}

}  // namespace
}  // namespace dw::story
