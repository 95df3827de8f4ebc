// For tests: calendars on a store in memory, asked as operators ask, at noon of 10 April 2026.
#pragma once
#include "core/random.hpp"
#include "machine/scheduler.hpp"
#include "server/calendars.hpp"
#include "store/memory_store.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <deque>

namespace dw::server {

class CalendarStory : public ::testing::Test {
 protected:
  // Gets to its work when it is told to.
  class Queue final : public Executor {
   public:
    void post(Work work) override { waiting_.push_back(std::move(work)); }
    void post_at(Timestamp, Work work) override { post(std::move(work)); }
    bool work_off() {
      const bool some = !waiting_.empty();
      for (; !waiting_.empty(); waiting_.pop_front()) waiting_.front()();
      return some;
    }

   private:
    std::deque<Work> waiting_;
  };

  CalendarsParts parts() {
    return {.store = store,
            .writer = writer,
            .reader = reader,
            .clock = clock,
            .random = random,
            .zones = zones,
            .attached_to =
                [this](const Namespace& ns, const schedule::CalendarRecord& calendar) {
                  const auto found = attached.find({ns.str(), calendar.id});
                  return found == attached.end() ? std::vector<std::string>{} : found->second;
                },
            .detach =
                [this](const Call& call, const schedule::CalendarRecord& calendar, const auto&,
                       const auto& done) {
                  if (detach_fails) return done(refusal(503, "unavailable", "the store is away"));
                  attached.erase({call.ns.str(), calendar.id});
                  done({});
                }};
  }

  static Call call_of(std::string_view method, std::string_view target, std::string_view json,
                      const std::string& ns) {
    const auto whole = fmt::format("/api/{}", target);
    const auto path = parse_path(whole);
    Call call;
    call.match = match(method, *path);
    call.query = path->query;
    call.ns = Namespace{ns};
    call.body = *parse_json(json)->if_map();
    return call;
  }
  void work_off() {
    while (reader.work_off() || writer.work_off()) continue;
  }
  Answer ask(std::string_view method, std::string_view target, std::string_view json = "{}",
             const std::string& ns = "default") {
    std::optional<Answer> answer;
    calendars.serve(call_of(method, target, json, ns),
                    [&](Answer given) { answer = std::move(given); });
    work_off();
    return answer.value();
  }
  // Makes one and gives its id.
  std::string make(std::string_view name, std::string_view dates = R"(["2026-12-24"])",
                   const std::string& ns = "default") {
    const auto answer =
        ask("POST", "calendars",
            fmt::format(R"({{"name":"{}","kind":"skip_dates","timezone":"Europe/Istanbul",)"
                        R"("dates":{}}})",
                        name, dates),
            ns);
    EXPECT_EQ(answer.status, 201) << text_of(answer);
    return text_at(answer, "id");
  }

  static const Value* find_in(const Answer& answer, std::string_view key) {
    for (const auto& [name, value] : answer.body) {
      if (name == key) return &value;
    }
    return nullptr;
  }
  static std::string json_at(const Answer& answer, std::string_view key) {
    const Value* found = find_in(answer, key);
    return found ? to_json(*found) : "(absent)";
  }
  static std::string text_at(const Answer& answer, std::string_view key) {
    const Value* found = find_in(answer, key);
    return found && found->if_string() ? *found->if_string() : "(no text)";
  }
  static std::string text_of(const Answer& answer) {
    return fmt::format("{} {}", answer.status, to_json(Value{answer.body}));
  }
  static void expect_refused(const Answer& answer, int status, std::string_view reason) {
    EXPECT_EQ(answer.status, status) << text_of(answer);
    EXPECT_EQ(text_at(answer, "reason"), reason) << text_of(answer);
    EXPECT_NE(text_at(answer, "message"), "");
  }
  // "invalid_date dates[1]", …
  static std::vector<std::string> problems_in(const Answer& answer) {
    expect_refused(answer, 422, "validation_failed");
    std::vector<std::string> problems;
    EXPECT_EQ(json_at(answer, "errors"), json_at(answer, "validation_errors"));
    const Value by_field = *find_in(answer, "errors");
    for (const Value& error : *find_in(answer, "problems")->if_array()) {
      const Value* messages = by_field.find(*error.find("path")->if_string());
      EXPECT_TRUE(messages && messages->if_array()) << text_of(answer);
      problems.push_back(
          fmt::format("{} {}", *error.find("code")->if_string(), *error.find("path")->if_string()));
      EXPECT_NE(*error.find("message"), Value{""});
    }
    return problems;
  }
  std::vector<std::string> listed(std::string_view query = "?mine_only=true",
                                  const std::string& ns = "default") {
    std::vector<std::string> names;
    const auto answer = ask("GET", fmt::format("calendars{}", query), "{}", ns);
    for (const Value& row : *find_in(answer, "calendars")->if_array()) {
      names.push_back(*row.find("name")->if_string());
    }
    return names;
  }
  std::vector<store::Document> kept() { return *store.documents(calendar_kind); }

  machine::SimClock clock{*parse_timestamp("2026-04-10T12:00:00Z")};
  store::MemoryStore store;
  Queue writer;
  Queue reader;
  SeededRandom random{7};
  machine::ZoneFiles zones;
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> attached;
  bool detach_fails = false;
  Calendars calendars{parts()};
};

}  // namespace dw::server
