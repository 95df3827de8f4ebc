// What is wrong with a calendar, a condition or a rotation that somebody wants to store, and where.
// All of it at once: whoever typed forty dates wants to correct them once.
#pragma once
#include <dw/error.hpp>

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace dw::schedule {

struct GuardProblem {
  std::string code;     // stable, for programs: "invalid_date"
  std::string field;    // where: "rules[2].month", or the pointer of a condition
  std::string message;  // what stands there, and what could
  friend bool operator==(const GuardProblem&, const GuardProblem&) = default;
};

// What follows the first few is rarely more than an echo of them.
inline constexpr std::size_t most_guard_problems = 20;

// A value, or what keeps it from being one.
template <typename T>
struct [[nodiscard]] Checked {
  std::optional<T> value;
  std::vector<GuardProblem> problems;  // empty exactly when there is a value

  explicit operator bool() const { return value.has_value(); }
  const T& operator*() const& { return *value; }
  T&& operator*() && { return *std::move(value); }
  const T* operator->() const { return &*value; }
};

// For callers that hand errors up: the first problem, and how many there are besides.
Error to_error(std::span<const GuardProblem> problems);

// Collects problems while something is read.
class GuardProblems {
 public:
  void add(std::string code, std::string field, std::string message);
  bool empty() const { return found_.empty(); }

  // The value, if nothing was found.
  template <typename T>
  Checked<T> judge(T value) && {
    if (found_.empty()) return {std::move(value), {}};
    return {std::nullopt, std::move(found_)};
  }

 private:
  std::vector<GuardProblem> found_;
};

}  // namespace dw::schedule
