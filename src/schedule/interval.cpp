#include "schedule/interval.hpp"

#include <fmt/format.h>

namespace dw::schedule {
namespace {

constexpr chrono::sys_seconds end_of_grids = chrono::sys_days{chrono::year{10'000} / 1 / 1};

struct DurationPart {
  char letter;
  bool of_the_time;  // behind the T
  chrono::seconds length;
  bool approximated = false;
};
constexpr DurationPart duration_parts[] = {
    {'Y', false, chrono::days{365}, true}, {'M', false, chrono::days{30}, true},
    {'W', false, chrono::days{7}},         {'D', false, chrono::days{1}},
    {'H', true, chrono::hours{1}},         {'M', true, chrono::minutes{1}},
    {'S', true, chrono::seconds{1}},
};

IntervalError bad_duration(std::size_t position, std::string_view hint) {
  return {IntervalProblem::invalid_duration, IntervalField::every, position,
          fmt::format("{}; a duration is written as PT30M or P1DT12H", hint)};
}

bool is_duration_digit(char c) {
  return c >= '0' && c <= '9';
}

// Reads the parts behind the P, each further down the table than the one before.
class DurationReader {
 public:
  explicit DurationReader(std::string_view text) : text_(text) {}

  std::variant<WrittenDuration, IntervalError> read() {
    while (at_ < text_.size()) {
      if (text_[at_] == 'T' && !in_time_) {
        in_time_ = true;
        part_read_ = false;
        ++at_;
        continue;
      }
      if (auto error = read_part()) return *std::move(error);
    }
    if (!part_read_) return bad_duration(at_, "a number with its unit is missing");
    return duration_;
  }

 private:
  std::optional<IntervalError> read_part() {
    std::int64_t number = 0;
    const auto begin = at_;
    while (at_ < text_.size() && is_duration_digit(text_[at_]) && at_ - begin < 10) {
      number = number * 10 + (text_[at_++] - '0');
    }
    if (at_ == begin) return bad_duration(at_, "a whole number is expected here");
    if (at_ - begin > 9) return bad_duration(begin, "a number has nine digits at most");
    const DurationPart* part = at_ < text_.size() ? find_part(text_[at_]) : nullptr;
    if (part == nullptr) {
      return bad_duration(at_, in_time_ ? "behind T the units are H, M and S, each once, in order"
                                        : "the units are Y, M, W and D, each once, in order");
    }
    next_ = part + 1;
    duration_.length += number * part->length;
    duration_.approximated |= part->approximated;
    part_read_ = true;
    ++at_;
    return std::nullopt;
  }

  const DurationPart* find_part(char letter) const {
    for (const auto* part = next_; part != std::end(duration_parts); ++part) {
      if (part->letter == letter && part->of_the_time == in_time_) return part;
    }
    return nullptr;
  }

  std::string_view text_;
  std::size_t at_ = 1;
  bool in_time_ = false;
  bool part_read_ = false;  // since the P or the T
  const DurationPart* next_ = std::begin(duration_parts);
  WrittenDuration duration_;
};

}  // namespace

std::string_view to_string(IntervalProblem problem) {
  constexpr std::string_view names[] = {"invalid_duration", "interval_not_positive",
                                        "interval_too_long", "offset_too_long"};
  return names[static_cast<std::size_t>(problem)];
}

std::string_view to_string(IntervalField field) {
  return field == IntervalField::every ? "every" : "offset";
}

std::variant<WrittenDuration, IntervalError> parse_duration(std::string_view text) {
  if (!text.starts_with('P')) return bad_duration(0, "it begins with a P");
  return DurationReader{text}.read();
}

std::variant<Interval, IntervalError> parse_interval(const IntervalText& text) {
  if (!text.every) return bad_duration(0, "the length is missing");
  const auto every = parse_duration(*text.every);
  if (const auto* error = std::get_if<IntervalError>(&every)) return *error;
  const auto& length = std::get<WrittenDuration>(every);
  if (length.length < chrono::seconds{1}) {
    return IntervalError{IntervalProblem::interval_not_positive, IntervalField::every, 0,
                         "an interval is one second at least"};
  }
  if (length.length > longest_interval) {
    return IntervalError{IntervalProblem::interval_too_long, IntervalField::every, 0,
                         "an interval is 3650 days at most"};
  }
  Interval interval{length.length, chrono::seconds{0}, length.approximated};
  if (!text.offset) return interval;

  auto offset = parse_duration(*text.offset);
  if (auto* error = std::get_if<IntervalError>(&offset)) {
    error->field = IntervalField::offset;
    return *std::move(error);
  }
  const auto& shift = std::get<WrittenDuration>(offset);
  if (shift.length > longest_interval) {
    return IntervalError{IntervalProblem::offset_too_long, IntervalField::offset, 0,
                         "an offset is 3650 days at most"};
  }
  interval.offset = shift.length % interval.every;
  interval.approximated |= shift.approximated;
  return interval;
}

std::optional<Timestamp> next_occurrence(const Interval& interval, Timestamp after) {
  const auto since = chrono::floor<chrono::seconds>(after).time_since_epoch() - interval.offset;
  auto passed = since / interval.every;
  if (since % interval.every < chrono::seconds{0}) --passed;  // toward the past, not toward 1970
  const chrono::sys_seconds next{interval.offset + (passed + 1) * interval.every};
  if (next >= end_of_grids) return std::nullopt;
  return next;
}

}  // namespace dw::schedule
