// An immutable value behind one pointer: cheap to copy, compared by what it holds, possibly absent.
// For the large and rare parts of small and frequent things.
#pragma once
#include <memory>
#include <utility>

namespace dw {

template <typename T>
class Shared {
 public:
  Shared() = default;
  Shared(T value) : value_(std::make_shared<const T>(std::move(value))) {}
  Shared(std::shared_ptr<const T> value) : value_(std::move(value)) {}

  bool has_value() const { return value_ != nullptr; }
  explicit operator bool() const { return has_value(); }
  const T& operator*() const { return *value_; }
  const T* operator->() const { return value_.get(); }

  friend bool operator==(const Shared& a, const Shared& b) {
    if (a.value_ == b.value_) return true;
    return a.value_ && b.value_ && *a.value_ == *b.value_;
  }

 private:
  std::shared_ptr<const T> value_;
};

}  // namespace dw
