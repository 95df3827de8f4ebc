#include <dw/short_text.hpp>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

namespace dw {
namespace {

// Around the length from which on it is kept elsewhere.
std::string text_of(std::size_t length) {
  std::string text;
  for (std::size_t i = 0; i < length; ++i) text += static_cast<char>('a' + i % 26);
  return text;
}

TEST(ShortText, HoldsWhatItWasGivenWhateverItsLength) {
  for (const std::size_t length : {0u, 1u, 26u, 37u, 39u, 40u, 41u, 254u, 255u, 256u, 5000u}) {
    const std::string text = text_of(length);
    EXPECT_EQ(ShortText{text}.view(), text);
    EXPECT_EQ(ShortText{text}.empty(), length == 0);
  }
  EXPECT_EQ(ShortText{std::string_view("a\0b", 3)}.view(), std::string_view("a\0b", 3));
  EXPECT_EQ(ShortText{std::string_view{}}, ShortText{});
}

TEST(ShortText, ACopyOutlivesWhatItWasCopiedFrom) {
  for (const std::size_t length : {26u, 100u}) {
    auto original = std::make_unique<ShortText>(text_of(length));
    ShortText copy{*original};
    ShortText assigned{text_of(60)};
    assigned = *original;
    original.reset();
    EXPECT_EQ(copy.view(), text_of(length));
    EXPECT_EQ(assigned.view(), text_of(length));
    const ShortText& itself = copy;
    copy = itself;
    EXPECT_EQ(copy.view(), text_of(length));
  }
}

RC_GTEST_PROP(ShortText, ComparesAsItsText, (std::string a, std::string b)) {
  const ShortText one{a}, other{b};
  RC_ASSERT((one == other) == (a == b));
  RC_ASSERT((one < other) == (a < b));
}

// Moved about in a vector, short and long ones among each other.
RC_GTEST_PROP(ShortText, SurvivesBeingMoved, (std::vector<std::uint8_t> lengths)) {
  std::vector<ShortText> kept;
  for (const auto length : lengths) kept.insert(kept.begin(), ShortText{text_of(length)});
  if (kept.size() > 1) std::swap(kept.front(), kept.back());
  if (kept.size() > 1) std::swap(kept.front(), kept.back());
  for (std::size_t i = 0; i < kept.size(); ++i) {
    RC_ASSERT(kept[i].view() == text_of(lengths[lengths.size() - 1 - i]));
  }
}

}  // namespace
}  // namespace dw
