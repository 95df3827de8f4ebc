// A time zone as a value: the one thing that turns an instant into a civil time and back. Its bytes
// are read elsewhere; here they are understood, and daylight saving goes on for as long as anybody
// asks, beyond the last change a zone file lists.
#pragma once
#include "schedule/posix_rule.hpp"

#include <dw/result.hpp>

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dw::schedule {

// What a clock on the wall shows.
using LocalTime = chrono::local_seconds;

// A time within which the offset stays the same.
struct Period {
  chrono::sys_seconds begin;  // `always` when it never began
  chrono::sys_seconds end;    // the first instant behind it; `forever` when there is none
  chrono::seconds before;     // the offset just before it, its own when it never began
  chrono::seconds offset;
  chrono::seconds after;  // the offset from `end` on, its own when it never ends
};

// Far enough from everything that an offset may be added to them.
inline constexpr chrono::sys_seconds always{chrono::seconds{-(std::int64_t{1} << 62)}};
inline constexpr chrono::sys_seconds forever{chrono::seconds{std::int64_t{1} << 62}};

// The instants at which clocks on the wall show some time.
struct LocalMapping {
  enum class Kind {
    unique,
    gap,      // they never do: the clocks are put forward over it
    overlap,  // they do so twice: the clocks are put back over it
  };

  Kind kind = Kind::unique;
  chrono::sys_seconds first;        // of a gap, the first instant behind it
  chrono::sys_seconds second;       // of an overlap, the second pass; else the same as `first`
  chrono::seconds gap_length = {};  // how far the clocks are put forward
  friend bool operator==(const LocalMapping&, const LocalMapping&) = default;
};

// What a zone file says, and nothing of how it says it.
struct ZoneData {
  chrono::seconds first_offset{0};           // before any change
  std::vector<Transition> transitions = {};  // in order of time
  std::string footer = {};                   // what goes on after them; empty: nothing changes
  friend bool operator==(const ZoneData&, const ZoneData&) = default;
};

class Zone {
 public:
  static Zone utc();

  const std::string& name() const { return name_; }
  const ZoneData& data() const { return data_; }

  chrono::seconds offset_at(chrono::sys_seconds at) const { return period_at(at).offset; }
  LocalTime local_at(chrono::sys_seconds at) const {
    return LocalTime{(at + offset_at(at)).time_since_epoch()};
  }
  // Does not allocate.
  Period period_at(chrono::sys_seconds at) const;

  // The next change of the offset; none when it stays as it is.
  std::optional<Transition> next_transition(chrono::sys_seconds after) const;

  LocalMapping instants_of(LocalTime local) const;

  // The same rules, whatever the name.
  bool same_rules(const Zone& other) const { return data_ == other.data_; }

 private:
  friend Result<Zone> make_zone(std::string name, ZoneData data);
  Zone() = default;

  Period period_by_rule(chrono::sys_seconds at) const;

  std::string name_;
  ZoneData data_;
  PosixRule rule_;
};

// Fails when the data could not have come from a zone file: changes out of order, offsets longer
// than a day, a footer that is no rule.
Result<Zone> make_zone(std::string name, ZoneData data);

// The bytes of a TZif file, of any version.
Result<Zone> parse_zone(std::string name, std::string_view bytes);

}  // namespace dw::schedule
