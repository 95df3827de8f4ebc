// Answers questions about time, one a line, for scripts that know the answers from elsewhere:
//   names                        every zone there is
//   transitions ZONE FROM TO     the changes between, as unix:offset
//   offset ZONE UNIX             seconds east of UTC
//   next UNIX ZONE EXPRESSION    the next occurrence, and what daylight saving did to it
//   interval UNIX EVERY [OFFSET] the next point of its grid
//   words EXPRESSION             what it means in English
#include "machine/zone_files.hpp"
#include "schedule/cron.hpp"
#include "schedule/words.hpp"

#include <cstdio>
#include <iostream>
#include <sstream>
#include <string>

namespace {

using namespace dw::schedule;
using std::chrono::seconds;
using std::chrono::sys_seconds;

std::string answer_transitions(const Zone& zone, std::istringstream& question) {
  std::int64_t from = 0;
  std::int64_t to = 0;
  question >> from >> to;
  std::string answer;
  auto change = zone.next_transition(sys_seconds{seconds{from}});
  for (; change && change->at < sys_seconds{seconds{to}};
       change = zone.next_transition(change->at)) {
    answer += std::to_string(change->at.time_since_epoch().count()) + ":" +
              std::to_string(change->offset.count()) + " ";
  }
  return answer;
}

std::string answer_next(const Zone& zone, std::int64_t after, const std::string& expression) {
  const auto parsed = parse_cron(expression);
  if (const auto* error = std::get_if<CronError>(&parsed)) {
    return "error " + std::string{to_string(error->code)};
  }
  const auto next = next_occurrence(std::get<Cron>(parsed), zone, sys_seconds{seconds{after}});
  if (!next) return "none";
  const char* dst[] = {"", " gap", " fold"};
  return std::to_string(dw::to_micros(next->at) / 1'000'000) + dst[static_cast<int>(next->dst)];
}

std::string rest_of(std::istringstream& question) {
  std::string rest;
  std::getline(question >> std::ws, rest);
  return rest;
}

std::string answer_words(const std::string& expression) {
  const auto parsed = parse_cron(expression);
  const auto* cron = std::get_if<Cron>(&parsed);
  return cron ? in_words(*cron)
              : "error " + std::string{to_string(std::get<CronError>(parsed).code)};
}

std::string answer_interval(std::istringstream& question) {
  std::int64_t after = 0;
  IntervalText text{""};
  std::string offset;
  question >> after >> *text.every;
  if (question >> offset) text.offset = offset;
  const auto parsed = parse_interval(text);
  if (const auto* error = std::get_if<IntervalError>(&parsed)) {
    return "error " + std::string{to_string(error->code)};
  }
  const auto next = next_occurrence(std::get<Interval>(parsed), sys_seconds{seconds{after}});
  return next ? std::to_string(dw::to_micros(*next) / 1'000'000) : "none";
}

std::string answer(dw::machine::ZoneFiles& zones, const std::string& line) {
  std::istringstream question{line};
  std::string verb;
  std::string name;
  std::int64_t after = 0;
  question >> verb;
  if (verb == "words") return answer_words(rest_of(question));
  if (verb == "interval") return answer_interval(question);
  if (verb == "names") {
    std::string names;
    for (const auto& known : zones.names()) names += known + " ";
    return names;
  }
  if (verb == "next") question >> after;
  question >> name;
  const auto zone = zones.find(name);
  if (zone == nullptr) return "error no zone " + name;
  if (verb == "transitions") return answer_transitions(*zone, question);
  if (verb == "next") return answer_next(*zone, after, rest_of(question));
  question >> after;
  return std::to_string(zone->offset_at(sys_seconds{seconds{after}}).count());
}

}  // namespace

int main() {
  dw::machine::ZoneFiles zones;
  std::ios::sync_with_stdio(false);
  for (std::string line; std::getline(std::cin, line);) std::cout << answer(zones, line) << '\n';
}
