// Text that is usually short, for ids: up to 39 bytes stand in the object itself. Ids travel
// through every room and are copied at each door; a ULID has 26 bytes and a task's id 37, too many
// for std::string to keep without asking for memory.
#pragma once
#include <array>
#include <compare>
#include <cstring>
#include <string_view>
#include <utility>

namespace dw {

class ShortText {
 public:
  ShortText() = default;
  explicit ShortText(std::string_view text) {
    char* place = bytes_.data();
    if (text.size() <= most_here) {
      set_length(static_cast<unsigned char>(text.size()));
    } else {
      place = new char[text.size()];
      const Elsewhere there{place, text.size()};
      std::memcpy(bytes_.data(), &there, sizeof there);
      set_length(is_elsewhere);
    }
    if (!text.empty()) std::memcpy(place, text.data(), text.size());
  }
  ShortText(const ShortText& other) : bytes_(other.bytes_) {
    if (length() != is_elsewhere) return;
    set_length(0);
    *this = ShortText{other.view()};
  }
  ShortText(ShortText&& other) noexcept : bytes_(other.bytes_) { other.set_length(0); }
  ShortText& operator=(const ShortText& other) {
    if (this != &other) *this = ShortText{other};
    return *this;
  }
  ShortText& operator=(ShortText&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~ShortText() {
    if (length() == is_elsewhere) delete[] elsewhere().place;
  }

  std::string_view view() const {
    if (length() != is_elsewhere) return {bytes_.data(), length()};
    return {elsewhere().place, elsewhere().size};
  }
  bool empty() const { return length() == 0; }

  friend bool operator==(const ShortText& a, const ShortText& b) { return a.view() == b.view(); }
  friend std::strong_ordering operator<=>(const ShortText& a, const ShortText& b) {
    return a.view() <=> b.view();
  }

 private:
  static constexpr std::size_t most_here = 39;
  static constexpr unsigned char is_elsewhere = 255;
  // What the bytes hold of a text that is too long for them.
  struct Elsewhere {
    char* place;
    std::size_t size;
  };

  unsigned char length() const { return static_cast<unsigned char>(bytes_[most_here]); }
  void set_length(unsigned char length) { bytes_[most_here] = static_cast<char>(length); }
  Elsewhere elsewhere() const {
    Elsewhere there{};
    std::memcpy(&there, bytes_.data(), sizeof there);
    return there;
  }

  std::array<char, most_here + 1> bytes_{};  // the last one is the length
};

}  // namespace dw
