// What people write down for a schedule. Whatever text it is, it is understood or refused with a
// place; what was understood has words, and its occurrences come one after the other.
#include "core/utf8.hpp"
#include "fuzz.hpp"
#include "schedule/words.hpp"

#include <chrono>

using dw::fuzz::must_hold;
using namespace dw::schedule;

namespace {

// Half an hour of daylight saving, and changes close to midnight.
const Zone& some_zone() {
  static const Zone zone =
      *make_zone("Test/Zone", {.footer = "<+1030>-10:30<+11>-11,M10.1.0/0,M4.1.0"});
  return zone;
}

const dw::Timestamp first_asked =
    std::chrono::sys_days{std::chrono::year{2026} / std::chrono::March / 30};

void expect_occurrences(const Cron& cron) {
  dw::Timestamp at = first_asked;
  CronWalk walk{cron, some_zone(), at};
  for (int i = 0; i < 5; ++i) {
    const auto next = walk.next();
    must_hold(next == next_occurrence(cron, some_zone(), at), "walking on is asking again");
    if (!next) return;
    must_hold(next->at > at, "the next occurrence is later");
    must_hold(dw::to_micros(next->at) % 60'000'000 == 0, "it is at a full minute");
    at = next->at;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto text = dw::fuzz::text_of(data, size);
  const auto parsed = parse_cron(text);
  if (const auto* error = std::get_if<CronError>(&parsed)) {
    must_hold(error->position <= text.size(), "a mistake has a place in the text");
    must_hold(!error->hint.empty() && dw::is_utf8(error->hint), "a mistake comes with a text");
    return 0;
  }
  const Cron& cron = std::get<Cron>(parsed);
  must_hold(!in_words(cron).empty(), "what was understood has words");
  expect_occurrences(cron);
  return 0;
}
