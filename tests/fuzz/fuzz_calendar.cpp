// What operators write down as a calendar. Whatever JSON it is, it is one or is told what is wrong
// with it; what was understood reads the same when it is written out, and says the same however it
// is asked.
#include "core/utf8.hpp"
#include "fuzz.hpp"
#include "schedule/calendar.hpp"
#include "schedule/calendar_value.hpp"

#include <algorithm>

using dw::fuzz::must_hold;
using namespace dw::schedule;

namespace {

bool any_zone(std::string_view) {
  return true;
}

void expect_one_story(const Calendar& calendar) {
  constexpr int year = 2027;
  const CompiledCalendar laid_out{calendar, year};
  const CompiledCalendar worked_out{calendar, 1000};
  const auto expansion = expand(calendar, year);
  const std::chrono::local_days first{std::chrono::year{year} / 1 / 1};
  for (int day = 0; day < 365; day += 13) {
    const auto date = first + std::chrono::days{day};
    const auto noon = date + std::chrono::hours{12};
    const bool member = laid_out.is_member(noon);
    must_hold(member == worked_out.is_member(noon), "years that are laid out make no difference");
    const bool listed = std::ranges::binary_search(expansion.dates, date);
    const auto at_noon = [&](const PartialDate& partial) {
      return partial.date == date && partial.window.from <= std::chrono::hours{12} &&
             std::chrono::hours{12} < partial.window.until;
    };
    must_hold(member == (listed || std::ranges::any_of(expansion.partial_dates, at_noon)),
              "what is expanded is what is a member");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto definition = dw::parse_json(dw::fuzz::text_of(data, size));
  if (!definition) return 0;
  const auto calendar = check_calendar(*definition, any_zone);
  must_hold(calendar.value.has_value() == calendar.problems.empty(), "a value, or problems");
  for (const auto& problem : calendar.problems) {
    must_hold(!problem.code.empty() && !problem.message.empty(), "a problem has a code and a text");
    must_hold(dw::is_utf8(problem.message), "the text can be sent as JSON");
  }
  if (!calendar) return 0;
  const auto again = check_calendar(to_value(*calendar), any_zone);
  must_hold(again && *again == *calendar, "what was understood is written and read again");
  expect_one_story(*calendar);
  return 0;
}
