// Page tokens are opaque to their holders, and some holders are curious. Whatever they hand in is
// taken for a place that has a token, or for none at all; what we give out comes back as it was.
#include "core/base64.hpp"
#include "core/sha256.hpp"
#include "fuzz.hpp"
#include "server/page_token.hpp"
#include "server/schedule_page_token.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

using dw::fuzz::must_hold;
using namespace dw::server;

namespace {

constexpr std::string_view filters = "0123456789abcdef";
constexpr std::string_view other_filters = "0123456789abcdee";
constexpr std::string_view key = "a key that nobody else has";
constexpr std::string_view other_key = "a key that somebody else has";

// ---- the histories of workers and of operators

void hand_in_for_history(std::string_view token) {
  if (const auto page = parse_page_token(token)) {
    must_hold(page->after >= 0 && page->until >= page->after, "pages go forward");
    const auto again = parse_page_token(page_token(*page));
    must_hold(again && again->after == page->after && again->until == page->until,
              "a page is the same by its token");
  }
  if (const auto after = parse_event_token(token)) {
    must_hold(*after >= 0, "no event comes before the first");
    must_hold(parse_event_token(event_token(*after)) == after, "an event is the same by its token");
    must_hold(!parse_page_token(token), "a token is good for one kind of history");
  }
}

// ---- lists of workflows

void hand_in_for_workflows(std::string_view token) {
  const auto run = parse_run_token(token, filters);
  if (!run) return;
  must_hold(!run->empty(), "a page ends with some run");
  must_hold(run_token(*run, filters) == token, "a run has one token");
  must_hold(!parse_run_token(token, other_filters), "a token is good for its own list alone");
}

// ---- lists of schedules

void hand_in_for_schedules(std::string_view token) {
  const auto page = read_schedule_page_token(token, key);
  if (!page) return;
  const std::string ours = schedule_page_token(*page, key);
  must_hold(ours.find_first_of("+/=") == std::string::npos, "a token is safe in a URL");
  must_hold(read_schedule_page_token(ours, key) == page, "a page is the same by its token");
  must_hold(!read_schedule_page_token(token, other_key), "nobody else's signature counts");
  std::string changed = ours;
  changed.back() = changed.back() == 'A' ? 'B' : 'A';
  must_hold(!read_schedule_page_token(changed, key), "what was changed is not ours any more");
}

// As only this server can: past the signature, for those who know the key.
std::string signed_token(std::string_view said) {
  std::string token = dw::encode_base64(dw::hmac_sha256_hex(key, said).append(said));
  std::ranges::replace(token, '+', '-');
  std::ranges::replace(token, '/', '_');
  while (token.ends_with('=')) token.pop_back();
  return token;
}

// ---- every list and every history

void hand_in(std::string_view token) {
  hand_in_for_history(token);
  hand_in_for_workflows(token);
  hand_in_for_schedules(token);
}

std::string printable(std::string_view text) {
  std::string kept;
  std::ranges::copy_if(text, std::back_inserter(kept), [](char c) { return c >= ' ' && c < 0x7f; });
  return kept;
}

void give_out(std::string_view text) {
  std::int64_t number = 0;
  std::memcpy(&number, text.data(), std::min(text.size(), sizeof number));
  const std::int64_t event = number & INT64_MAX;
  must_hold(parse_event_token(event_token(event)) == event, "an event comes back");
  const auto page = parse_page_token(page_token({event / 2, event}));
  must_hold(page && page->after == event / 2 && page->until == event, "a page comes back");
  const dw::RunId run{"01" + printable(text)};
  must_hold(parse_run_token(run_token(run, filters), filters) == run, "a run comes back");
  const SchedulePage place{
      dw::Namespace{"default"}, std::string{filters}, {dw::from_micros(number), printable(text)}};
  must_hold(read_schedule_page_token(schedule_page_token(place, key), key) == place,
            "a schedule comes back");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto text = dw::fuzz::text_of(data, size);
  hand_in(text);
  hand_in(dw::encode_base64(text));  // past the first check, for those who know what is inside
  hand_in(dw::encode_base64(std::string{text}.append(filters)));
  hand_in(signed_token(text));
  give_out(text);
  return 0;
}
