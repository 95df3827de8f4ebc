// For tests: a story as readers outside see it.
#pragma once
#include "history/fold.hpp"
#include "history/one_of_each.hpp"
#include "history/render.hpp"

#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace dw::story {

inline const CommitId story_commit{"01ARYZ6S41TSV4RRFFQ69G5FAV"};

inline std::vector<boost::json::object> shown(std::vector<Told> list,
                                              history::Reader to = history::Reader::anybody) {
  const auto events = told(std::move(list));
  const auto state = history::fold(events);
  EXPECT_TRUE(state) << state.error().message;
  history::Renderer renderer{RunId{"run1"}, to};
  const auto texts = renderer.render(story_commit, events);
  EXPECT_TRUE(texts) << texts.error().message;
  std::vector<boost::json::object> objects;
  if (texts) {
    for (const auto& text : *texts) objects.push_back(boost::json::parse(text).as_object());
  }
  return objects;
}
inline std::vector<boost::json::object> payloads(std::vector<Told> list) {
  std::vector<boost::json::object> payloads;
  for (auto& object : shown(std::move(list))) payloads.push_back(object.at("payload").as_object());
  return payloads;
}
inline std::vector<boost::json::object> worker_payloads(std::vector<Told> list) {
  std::vector<boost::json::object> payloads;
  for (auto& object : shown(std::move(list), history::Reader::worker)) {
    payloads.push_back(object.at("payload").as_object());
  }
  return payloads;
}
inline boost::json::object last_payload(std::vector<Told> list) {
  return payloads(std::move(list)).back();
}
inline std::string text_at(const boost::json::object& object, std::string_view key) {
  const auto* found = object.if_contains(key);
  return found && found->is_string() ? std::string{found->get_string()} : "(absent)";
}
// As compact JSON; "(absent)" when it is not there.
inline std::string json_at(const boost::json::object& object, std::string_view key) {
  const auto* found = object.if_contains(key);
  return found ? boost::json::serialize(*found) : "(absent)";
}

}  // namespace dw::story
