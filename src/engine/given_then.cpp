// What a story expects of the last decision.
#include "engine/given.hpp"
#include "history/codec.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace dw::story {

Story& Story::then(std::vector<history::EventBody> expected, const char* file, int line) {
  const ::testing::ScopedTrace trace{file, line, "then"};
  std::int64_t steps = last_.steps_before;
  for (auto& body : expected) number_step(body, steps);
  if (last_.error) ADD_FAILURE() << "refused: " << last_.error->message;
  EXPECT_TRUE(last_.decision.events == expected) << "expected:\n"
                                                 << text_of(expected) << "decided:\n"
                                                 << text_of(last_.decision.events);
  return *this;
}

Story& Story::then_nothing(const char* file, int line) {
  const ::testing::ScopedTrace trace{file, line, "then_nothing"};
  EXPECT_FALSE(last_.error) << last_.error->message;
  EXPECT_TRUE(last_.decision.empty()) << text_of(last_.decision.events);
  EXPECT_TRUE(last_.decision.tasks.empty());
  return *this;
}

Story& Story::then_tasks(const std::vector<std::string>& expected, const char* file, int line) {
  const ::testing::ScopedTrace trace{file, line, "then_tasks"};
  std::vector<std::string> decided;
  for (const auto& change : last_.decision.tasks) decided.push_back(describe(change));
  EXPECT_EQ(decided, expected);
  return *this;
}

Story& Story::then_accepted(std::string_view outcome, std::int64_t command_sequence,
                            const char* file, int line) {
  const ::testing::ScopedTrace trace{file, line, "then_accepted"};
  EXPECT_TRUE(last_.reply.accepted);
  EXPECT_EQ(last_.reply.outcome, outcome);
  EXPECT_EQ(last_.reply.rejection_reason, "");
  EXPECT_EQ(last_.reply.sequence, command_sequence);
  EXPECT_FALSE(last_.reply.command_id.empty());
  return *this;
}

Story& Story::then_rejected(std::string_view reason, std::string_view outcome,
                            std::int64_t command_sequence, const char* file, int line) {
  const ::testing::ScopedTrace trace{file, line, "then_rejected"};
  EXPECT_FALSE(last_.reply.accepted);
  EXPECT_EQ(last_.reply.rejection_reason, reason);
  EXPECT_EQ(last_.reply.outcome, outcome);
  EXPECT_EQ(last_.reply.sequence, command_sequence);
  EXPECT_FALSE(last_.reply.command_id.empty());
  return *this;
}

Story& Story::then_ignored(std::string_view reason, const char* file, int line) {
  const ::testing::ScopedTrace trace{file, line, "then_ignored"};
  EXPECT_FALSE(last_.recorded);
  EXPECT_EQ(last_.reason, reason);
  EXPECT_TRUE(last_.decision.empty()) << text_of(last_.decision.events);
  return *this;
}

Story& Story::then_refused(ErrorCode code, const char* file, int line) {
  const ::testing::ScopedTrace trace{file, line, "then_refused"};
  EXPECT_TRUE(last_.error.has_value());
  if (last_.error) {
    EXPECT_EQ(to_string(last_.error->code), to_string(code));
  }
  EXPECT_TRUE(last_.decision.empty()) << text_of(last_.decision.events);
  return *this;
}

Story& Story::then_refusal(std::string_view command_type, const char* file, int line) {
  const ::testing::ScopedTrace trace{file, line, "then_refusal"};
  const auto text = [&](std::string_view key) -> std::string {
    const auto* found = last_.refusal.find(key);
    return found && found->if_string() ? *found->if_string() : "";
  };
  EXPECT_EQ(text("type"), "CommandRecorded");
  EXPECT_EQ(text("status"), "rejected");
  EXPECT_EQ(text("command_type"), command_type);
  EXPECT_EQ(text("id"), last_.reply.command_id.str());
  EXPECT_EQ(text("outcome"), last_.reply.outcome);
  EXPECT_EQ(text("rejection_reason"), last_.reply.rejection_reason);
  const auto* sequence = last_.refusal.find("command_sequence");
  EXPECT_TRUE(sequence && *sequence == Value{last_.reply.sequence});
  EXPECT_TRUE(last_.decision.events.empty()) << text_of(last_.decision.events);
  return *this;
}

Story& Story::then_opens(std::string_view run, std::vector<history::EventBody> expected,
                         const std::vector<std::string>& tasks, const char* file, int line) {
  const ::testing::ScopedTrace trace{file, line, "then_opens"};
  const engine::NewRun* opened = find_opened(run);
  if (!opened) {
    ADD_FAILURE() << "no run '" << run << "' was opened";
    return *this;
  }
  EXPECT_TRUE(opened->events == expected) << "expected:\n"
                                          << text_of(expected) << "opened with:\n"
                                          << text_of(opened->events);
  std::vector<std::string> held;
  for (const auto& change : opened->tasks) held.push_back(describe(change, opened->run.id));
  EXPECT_EQ(held, tasks);
  return *this;
}

Story& Story::then_opens_nothing(const char* file, int line) {
  const ::testing::ScopedTrace trace{file, line, "then_opens_nothing"};
  EXPECT_TRUE(last_.decision.opens.empty());
  return *this;
}

Story& Story::then_says(const std::vector<Word>& expected, const char* file, int line) {
  const ::testing::ScopedTrace trace{file, line, "then_says"};
  std::vector<Word> words;
  for (const auto& note : last_.says) {
    const auto says = history::parse_events(note.note);
    if (!says || says->size() != 1) {
      ADD_FAILURE() << "cannot be read: " << note.note;
      continue;
    }
    EXPECT_EQ(note.subject, type_name(says->front()));
    words.emplace_back(note.run_id.str(), says->front());
  }
  const auto text = [](const std::vector<Word>& list) {
    std::string all;
    for (const auto& [run, says] : list) all += run + ": " + text_of(std::span{&says, 1});
    return all.empty() ? "nothing" : all;
  };
  EXPECT_TRUE(words == expected) << "expected:\n" << text(expected) << "\nsaid:\n" << text(words);
  return *this;
}

Story& Story::then_wakes(const char* file, int line) {
  const ::testing::ScopedTrace trace{file, line, "then_wakes"};
  EXPECT_TRUE(last_.decision.wake);
  return *this;
}

Story& Story::then_stays_parked(const char* file, int line) {
  const ::testing::ScopedTrace trace{file, line, "then_stays_parked"};
  EXPECT_FALSE(last_.decision.wake);
  return *this;
}

Story& Story::then_open_tasks(const std::vector<std::string>& expected, const char* file,
                              int line) {
  const ::testing::ScopedTrace trace{file, line, "then_open_tasks"};
  std::vector<std::string> open;
  for (const auto& [key, task] : tasks_) open.push_back(describe(task));
  EXPECT_EQ(open, expected);
  return *this;
}

Story& Story::then_status(history::RunStatus status, std::string_view closed_reason,
                          const char* file, int line) {
  const ::testing::ScopedTrace trace{file, line, "then_status"};
  EXPECT_EQ(to_string(run_.state.status), to_string(status));
  EXPECT_EQ(run_.state.closed_reason, closed_reason);
  return *this;
}

std::string Story::name(const engine::TaskKey& key, const RunId& of) {
  std::string_view id = key.id.view();
  const std::string prefix = of.str() + ".";
  if (id.starts_with(prefix)) id.remove_prefix(prefix.size());
  return fmt::format("{} {}", id, clock_text(key.available_at));
}

std::string Story::describe(const engine::Task& task, const RunId& of) {
  std::string text = fmt::format("{} {}", name(task.key, of), to_string(task.type));
  if (!task.subject.empty()) text += " " + task.subject;
  if (!task.queue.empty()) text += " queue " + task.queue;
  if (task.status == engine::TaskStatus::blocked) text += " blocked";
  if (task.status == engine::TaskStatus::leased) {
    text +=
        fmt::format(" leased by {} until {}", task.lease_owner, clock_text(task.lease_expires_at));
  }
  return text;
}

std::string Story::describe(const engine::TaskChange& change, const RunId& of) {
  return change.kind == engine::TaskChange::Kind::put ? "+ " + describe(change.task, of)
                                                      : "- " + name(change.task.key, of);
}

}  // namespace dw::story
