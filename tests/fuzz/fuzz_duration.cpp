// The length of an interval, as strangers write it: understood or refused with a place, and the
// next point of its grid is later and no further than one step away.
#include "core/utf8.hpp"
#include "fuzz.hpp"
#include "schedule/words.hpp"

#include <string>

using dw::fuzz::must_hold;
using namespace dw::schedule;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto text = dw::fuzz::text_of(data, size);
  const auto slash = text.find('/');
  IntervalText written{std::string{text.substr(0, slash)}};
  if (slash != std::string_view::npos) written.offset = std::string{text.substr(slash + 1)};
  const auto parsed = parse_interval(written);
  if (const auto* error = std::get_if<IntervalError>(&parsed)) {
    must_hold(error->position <= text.size(), "a mistake has a place in the text");
    must_hold(!error->hint.empty() && dw::is_utf8(error->hint), "a mistake comes with a text");
    return 0;
  }
  const Interval& interval = std::get<Interval>(parsed);
  must_hold(interval.every >= std::chrono::seconds{1} && interval.every <= longest_interval,
            "an interval has a length");
  must_hold(interval.offset < interval.every, "an offset is within its interval");
  must_hold(!in_words(interval).empty(), "what was understood has words");
  const auto asked = dw::from_micros(1'800'000'000'000'001);
  const auto next = next_occurrence(interval, asked);
  must_hold(next && *next > asked && *next - asked <= interval.every, "the next point is next");
  return 0;
}
