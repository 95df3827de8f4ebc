// When a schedule fires: cron expressions and intervals together, the earliest of them all. What
// somebody wrote down is judged here as a whole, every mistake at once, and becomes a Spec that
// only needs to be asked. Pure: the zone comes in as a value, and so do time and randomness.
#pragma once
#include "core/random.hpp"
#include "schedule/cron.hpp"
#include "schedule/interval.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dw::schedule {

inline constexpr std::size_t most_spec_entries = 32;  // of expressions, and of intervals
inline constexpr chrono::seconds longest_jitter{3600};

// As somebody wrote it down.
struct SpecText {
  std::vector<std::string> cron_expressions = {};
  std::vector<IntervalText> intervals = {};
  std::string timezone = "UTC";  // applies to the expressions alone
  std::int64_t jitter_seconds = 0;
  friend bool operator==(const SpecText&, const SpecText&) = default;
};

// Nothing fires before the one or after the other; absent, nothing holds it back.
struct Bounds {
  std::optional<Timestamp> start_at = {};
  std::optional<Timestamp> end_at = {};
  friend bool operator==(const Bounds&, const Bounds&) = default;
};

class Spec {
 public:
  Spec(std::vector<Cron> crons, std::vector<Interval> intervals, std::shared_ptr<const Zone> zone,
       Bounds bounds);

  // Strictly after that instant; several entries naming one instant are one occurrence. None: there
  // is none any more.
  std::optional<Occurrence> next(Timestamp after) const;

  const std::vector<Cron>& crons() const { return crons_; }
  const std::vector<Interval>& intervals() const { return intervals_; }
  const Zone& zone() const { return *zone_; }
  const Bounds& bounds() const { return bounds_; }

 private:
  std::vector<Cron> crons_;
  std::vector<Interval> intervals_;
  std::shared_ptr<const Zone> zone_;
  Bounds bounds_;
};

// Occurrence after occurrence, faster than asking for each. Borrows the spec.
class SpecWalk {
 public:
  SpecWalk(const Spec& spec, Timestamp after);
  std::optional<Occurrence> next();

 private:
  struct Entry {
    std::optional<CronWalk> cron;  // else an interval
    const Interval* interval = nullptr;
    std::optional<Occurrence> upcoming;

    void advance();
  };

  std::vector<Entry> entries_;
  std::optional<Timestamp> end_at_;
};

// Those after `after`, up to and including `until`, and no more than `most` of them.
std::vector<Occurrence> occurrences(const Spec& spec, Timestamp after, Timestamp until,
                                    std::size_t most);

// ---- judging what was written

struct SpecMistake {
  std::string path;          // "cron_expressions.2", "intervals.0.every", "timezone"
  std::string_view code;     // "invalid_cron_expression"
  std::string_view problem;  // of an expression: "step_out_of_range"
  std::string_view field;    // of an expression: "minute"; empty when it is about all of it
  std::size_t position = 0;  // a byte of the text at that path
  std::string hint;
  friend bool operator==(const SpecMistake&, const SpecMistake&) = default;
};

// Something that is understood and may still not be what was meant.
struct SpecWarning {
  std::string path;
  std::string_view code;  // "dst_gap"
  std::string hint;
  friend bool operator==(const SpecWarning&, const SpecWarning&) = default;
};

struct CheckedSpec {
  std::optional<Spec> spec;  // present when there is no mistake
  std::vector<SpecMistake> mistakes = {};
  std::vector<SpecWarning> warnings = {};
};

// `zone` is the one that `text.timezone` names, null when there is none. What daylight saving does
// within the year after `now` is worth a warning.
CheckedSpec check_spec(const SpecText& text, std::shared_ptr<const Zone> zone, const Bounds& bounds,
                       Timestamp now);

// ---- jitter

// 0 to `most` seconds, both included, each as likely as any other.
chrono::seconds roll_jitter(chrono::seconds most, Random& random);

}  // namespace dw::schedule
