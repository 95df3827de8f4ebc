#include "schedule/calendar_ics.hpp"

#include "schedule/calendar_text.hpp"
#include "schedule/calendar_value.hpp"
#include "schedule/ics_event_days.hpp"
#include "schedule/ics_stream.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dw::schedule {
namespace {

using std::chrono::local_days;

class IcsImporter {
 public:
  IcsImporter(const IcsOptions& options, const BetweenZones& between_zones)
      : options_(options), between_zones_(between_zones) {}

  IcsImport import(std::string_view text) {
    auto stream = read_ics_stream(text, findings_);
    if (stream.is_sound) read_events(stream);
    std::ranges::stable_sort(findings_, {}, &IcsFinding::line);
    const bool good =
        stream.is_sound && !failed_ && (!was_refused() || options_.take_what_is_understood);
    return {good ? std::optional{std::move(calendar_)} : std::nullopt, std::move(findings_)};
  }

 private:
  static constexpr std::size_t most_findings = 200;

  struct Taken {
    std::size_t line;
    EventDays days;
  };

  void read_events(const IcsStream& stream) {
    calendar_.name = options_.name.empty() ? stream.name : options_.name;
    calendar_.kind = options_.kind;
    calendar_.timezone = options_.timezone.empty() ? stream.timezone : options_.timezone;
    if (calendar_.name.size() > longest_calendar_name) {
      return fail(1, fmt::format("its name is too long: give it one of at most {} bytes",
                                 longest_calendar_name));
    }
    if (calendar_.timezone.empty()) {
      return fail(1, "it does not say in which zone its days are: name one");
    }
    for (const auto& event : stream.events) {
      auto days = read_event_days(event, calendar_.timezone, between_zones_, findings_);
      if (days) {
        events_.push_back({event.line, *std::move(days)});
        add(events_.back());
      }
      if (findings_.size() > most_findings) fail(event.line, "too much is wrong with it to go on");
      if (failed_) return;
    }
    if (events_.empty() && !was_refused()) fail(1, "there is no event in it");
    failed_ = events_.empty();
    check_exceptions();
  }

  bool was_refused() const {
    return std::ranges::any_of(findings_, [](const IcsFinding& finding) {
      return finding.kind == IcsFinding::Kind::refused;
    });
  }

  void add(const Taken& event) {
    const auto& days = event.days;
    const auto append = [](auto& to, const auto& from) {
      to.insert(to.end(), from.begin(), from.end());
    };
    append(calendar_.dates, days.dates);
    append(calendar_.partial_dates, days.partial_dates);
    append(calendar_.rules, days.rules);
    append(calendar_.except, days.exceptions());
    for (const auto date : days.dates) add_label(date, days.label);
    for (const auto& partial : days.partial_dates) add_label(partial.date, days.label);
    if (calendar_.dates.size() > most_calendar_dates ||
        calendar_.partial_dates.size() > most_calendar_dates) {
      fail(event.line, fmt::format("more than {} days are too many", most_calendar_dates));
    } else if (calendar_.rules.size() > most_calendar_rules) {
      fail(event.line, fmt::format("more than {} rules are too many", most_calendar_rules));
    } else if (calendar_.except.size() > most_ics_exceptions) {
      fail(event.line, fmt::format("more than {} days are left out", most_ics_exceptions));
    }
  }

  void add_label(local_days date, const std::string& label) {
    if (label.empty()) return;
    auto& labels = calendar_.labels[date];
    const auto joined = labels.empty() ? label : fmt::format("{}; {}", labels, label);
    if (joined.size() <= longest_calendar_label) labels = joined;
  }

  // In a calendar an exception is one for all, in a file for its own event only.
  void check_exceptions() {
    for (const auto& event : events_) {
      for (const auto date : event.days.exceptions()) {
        const auto other =
            std::ranges::find_if(events_, [&](const Taken& taken) { return taken.days.has(date); });
        if (other == events_.end()) continue;
        return fail(event.line,
                    fmt::format("{} is left out by this event and taken by the one on line {}: a "
                                "calendar cannot say both, so import them into two",
                                date_text(date), other->line));
      }
    }
  }

  // Whatever else was understood: this is not the calendar that was meant.
  void fail(std::size_t line, std::string message) {
    if (!failed_) findings_.push_back({line, IcsFinding::Kind::refused, std::move(message)});
    failed_ = true;
  }

  const IcsOptions& options_;
  const BetweenZones& between_zones_;
  std::vector<IcsFinding> findings_;
  std::vector<Taken> events_;
  Calendar calendar_;
  bool failed_ = false;
};

}  // namespace

std::string_view to_string(IcsFinding::Kind kind) {
  switch (kind) {
    case IcsFinding::Kind::refused:
      return "refused";
    case IcsFinding::Kind::left_out:
      return "left_out";
    case IcsFinding::Kind::changed:
      return "changed";
  }
  return "refused";
}

IcsImport import_ics(std::string_view text, const IcsOptions& options,
                     const BetweenZones& between_zones) {
  return IcsImporter{options, between_zones}.import(text);
}

}  // namespace dw::schedule
