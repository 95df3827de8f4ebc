#include <dw/error.hpp>

#include <gtest/gtest.h>

#include <set>

namespace dw {
namespace {

TEST(ErrorCode, HasASpellingOfItsOwnForEachCode) {
  std::set<std::string_view> spellings;
  for (int code = 0; code <= static_cast<int>(ErrorCode::internal); ++code) {
    spellings.insert(to_string(static_cast<ErrorCode>(code)));
  }
  EXPECT_EQ(spellings.size(), static_cast<std::size_t>(ErrorCode::internal) + 1);
}

TEST(ErrorCode, IsSpelledAsTheOtherSdksSpellIt) {
  EXPECT_EQ(to_string(ErrorCode::invalid_payload_framing), "invalid_payload_framing");
  EXPECT_EQ(to_string(ErrorCode::unsupported_payload_schema), "unsupported_payload_schema");
  EXPECT_EQ(to_string(ErrorCode::unsupported_payload_codec), "unsupported_payload_codec");
  EXPECT_EQ(to_string(ErrorCode::integer_overflow), "integer_overflow");
  EXPECT_EQ(to_string(ErrorCode::non_finite_float), "non_finite_float");
  EXPECT_EQ(to_string(ErrorCode::store_locked), "store_locked");
}

}  // namespace
}  // namespace dw
