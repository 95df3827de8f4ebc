// The events of an iCalendar stream, before anybody knows what they mean. Private to the import of
// calendars.
#pragma once
#include "schedule/calendar_ics.hpp"
#include "schedule/ics_text.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace dw::schedule {

struct IcsEvent {
  std::size_t line = 0;  // of its BEGIN
  std::vector<IcsProperty> properties = {};

  // The first of that name; null when there is none.
  const IcsProperty* find(std::string_view name) const;
};

struct IcsStream {
  std::string name = {};      // X-WR-CALNAME
  std::string timezone = {};  // X-WR-TIMEZONE
  std::vector<IcsEvent> events = {};
  bool is_sound = true;  // nothing was found that makes all of it doubtful
};

// Adds to the findings what is wrong with it, and what it holds besides events.
IcsStream read_ics_stream(std::string_view text, std::vector<IcsFinding>& findings);

}  // namespace dw::schedule
