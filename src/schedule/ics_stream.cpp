#include "schedule/ics_stream.hpp"

#include "core/utf8.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dw::schedule {
namespace {

class StreamReader {
 public:
  explicit StreamReader(std::vector<IcsFinding>& findings) : findings_(findings) {}

  IcsStream read(std::string_view text) {
    if (text.size() > longest_ics) {
      unsound(1, fmt::format("{} bytes are too many: {} are read", text.size(), longest_ics));
    } else {
      read_lines(unfolded_lines(text));
    }
    return std::move(stream_);
  }

 private:
  void read_lines(const std::vector<IcsLine>& lines) {
    bool any = false;
    for (const auto& line : lines) {
      // Only now: a fold may cut a character in two.
      if (!is_utf8(line.text)) return unsound(line.number, "this is not UTF-8 text");
      if (open_.empty() && line.text != "BEGIN:VCALENDAR") {
        return unsound(line.number, "an iCalendar file begins with BEGIN:VCALENDAR");
      }
      any = true;
      auto property = parse_ics_property(line);
      if (!property) return unsound(line.number, std::move(property).error().message);
      take(*std::move(property));
      if (!stream_.is_sound) return;
    }
    const auto last = lines.empty() ? 1 : lines.back().number;
    if (!any) unsound(last, "this is empty: an iCalendar file begins with BEGIN:VCALENDAR");
    if (!open_.empty()) unsound(last, fmt::format("END:{} is missing", open_.back()));
  }

  void take(IcsProperty property) {
    if (property.name == "BEGIN") {
      begin(property);
    } else if (property.name == "END") {
      end(property);
    } else if (open_.size() == 1) {
      take_of_the_calendar(property);
    } else if (open_.size() == 2 && open_.back() == "VEVENT") {
      stream_.events.back().properties.push_back(std::move(property));
    }
  }

  void begin(const IcsProperty& property) {
    constexpr std::size_t deepest = 8;
    if (open_.size() == deepest) return unsound(property.line, "too much within one another");
    open_.push_back(property.value);
    if (open_.size() != 2) return;
    if (property.value == "VEVENT") {
      if (stream_.events.size() == most_ics_events) {
        return unsound(property.line, fmt::format("more than {} events", most_ics_events));
      }
      stream_.events.push_back({property.line});
    } else if (property.value != "VTIMEZONE") {  // zones are known by their names
      findings_.push_back({property.line, IcsFinding::Kind::left_out,
                           fmt::format("{} is no event", property.value)});
    }
  }

  void end(const IcsProperty& property) {
    if (open_.back() != property.value) {
      return unsound(property.line, fmt::format("END:{} stands where END:{} belongs",
                                                property.value, open_.back()));
    }
    open_.pop_back();
  }

  void take_of_the_calendar(const IcsProperty& property) {
    if (property.name == "X-WR-CALNAME") stream_.name = unescaped_ics_text(property.value);
    if (property.name == "X-WR-TIMEZONE") stream_.timezone = property.value;
    if (property.name == "CALSCALE" && property.value != "GREGORIAN") {
      unsound(property.line, "only Gregorian calendars are understood");
    }
  }

  void unsound(std::size_t line, std::string message) {
    stream_.is_sound = false;
    findings_.push_back({line, IcsFinding::Kind::refused, std::move(message)});
  }

  std::vector<IcsFinding>& findings_;
  std::vector<std::string> open_;  // components within one another
  IcsStream stream_;
};

}  // namespace

const IcsProperty* IcsEvent::find(std::string_view name) const {
  const auto found = std::ranges::find(properties, name, &IcsProperty::name);
  return found == properties.end() ? nullptr : &*found;
}

IcsStream read_ics_stream(std::string_view text, std::vector<IcsFinding>& findings) {
  return StreamReader{findings}.read(text);
}

}  // namespace dw::schedule
