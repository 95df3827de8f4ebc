// What somebody publishes as a list of holidays. Whatever text it is, it becomes a calendar that
// could be stored, or is refused at a line; who takes what is understood never gets less than who
// does not.
#include "core/utf8.hpp"
#include "fuzz.hpp"
#include "schedule/calendar_ics.hpp"
#include "schedule/calendar_value.hpp"

using dw::fuzz::must_hold;
using namespace dw::schedule;

namespace {

// Two zones, three hours apart.
std::optional<std::chrono::local_seconds> between_two_zones(std::chrono::local_seconds wall,
                                                            std::string_view from,
                                                            std::string_view to) {
  const auto offset = [](std::string_view zone) -> std::optional<int> {
    if (zone == "UTC") return 0;
    return zone == "Europe/Istanbul" ? std::optional{3} : std::nullopt;
  };
  if (!offset(from) || !offset(to)) return std::nullopt;
  return wall + std::chrono::hours{*offset(to) - *offset(from)};
}

IcsImport imported(std::string_view text, bool take_what_is_understood) {
  auto import = import_ics(
      text, {.timezone = "Europe/Istanbul", .take_what_is_understood = take_what_is_understood},
      between_two_zones);
  must_hold(import.calendar.has_value() || !import.findings.empty(), "a refusal says why");
  std::size_t line = 1;
  for (const auto& finding : import.findings) {
    must_hold(finding.line >= line, "findings have lines, and are in their order");
    must_hold(!finding.message.empty(), "a finding comes with a text");
    must_hold(dw::is_utf8(finding.message), "the text can be sent as JSON");
    line = finding.line;
  }
  return import;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto text = dw::fuzz::text_of(data, size);
  const auto all = imported(text, false);
  const auto understood = imported(text, true);
  must_hold(all.findings == understood.findings, "both are told the same");
  if (all.calendar) must_hold(understood.calendar == all.calendar, "and get the same");
  if (!understood.calendar) return 0;
  const auto again =
      check_calendar(to_value(*understood.calendar), [](std::string_view) { return true; });
  must_hold(again && *again == *understood.calendar, "what was taken can be stored");
  return 0;
}
