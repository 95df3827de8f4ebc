#include "core/utf8.hpp"

#include "core/arbitrary_value.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace dw {
namespace {

TEST(Utf8, AcceptsTheFirstAndLastCharacterOfEachLength) {
  for (const char32_t c : {U'\0', U'\x7f', U'\x80', U'\x7ff', U'\x800', U'\xd7ff', U'\xe000',
                           U'\xffff', U'\x10000', U'\x10ffff'}) {
    std::string text;
    append_utf8(text, c);
    EXPECT_EQ(utf8_length_at_front(text), text.size()) << static_cast<std::uint32_t>(c);
  }
}

TEST(Utf8, RefusesWhatOnlyLooksLikeIt) {
  for (const auto* text : {"\x80", "\xc0\xaf", "\xc1\xbf", "\xc3", "\xe0\x9f\xbf", "\xe2\x82",
                           "\xed\xa0\x80", "\xed\xbf\xbf", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80",
                           "\xf5\x80\x80\x80", "\xff", "\xc3\x41", "\xe2\x82\x41"}) {
    EXPECT_FALSE(is_utf8(text));
    EXPECT_FALSE(is_utf8(std::string(16, 'a') + text + std::string(16, 'a')));
  }
}

TEST(Utf8, FindsNothingAtTheFrontOfNothing) {
  EXPECT_EQ(utf8_length_at_front(""), 0u);
  EXPECT_TRUE(is_utf8(""));
}

TEST(Utf8, IsCutBetweenCharacters) {
  EXPECT_EQ(utf8_beginning("aä", 3), "aä");
  EXPECT_EQ(utf8_beginning("aä", 2), "a");
  EXPECT_EQ(utf8_beginning("ä", 1), "");
}

RC_GTEST_PROP(Utf8Property, AcceptsAnyText, ()) {
  RC_ASSERT(is_utf8(*arbitrary_text()));
}

}  // namespace
}  // namespace dw
