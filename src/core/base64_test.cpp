#include "core/base64.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace dw {
namespace {

TEST(Base64, SpeaksTheExamplesOfTheStandard) {
  const std::pair<const char*, const char*> examples[] = {{"", ""},
                                                          {"f", "Zg=="},
                                                          {"fo", "Zm8="},
                                                          {"foo", "Zm9v"},
                                                          {"foob", "Zm9vYg=="},
                                                          {"fooba", "Zm9vYmE="},
                                                          {"foobar", "Zm9vYmFy"}};
  for (const auto& [plain, encoded] : examples) {
    EXPECT_EQ(encode_base64(plain), encoded);
    EXPECT_EQ(decode_base64(encoded), plain);
  }
}

TEST(Base64, AppendsBehindWhatIsThere) {
  std::string out = "blob:";
  append_base64(out, "\xfb\xff");
  EXPECT_EQ(out, "blob:+/8=");
}

TEST(Base64, RefusesWhatTheStandardDoesNotSay) {
  for (const auto* text : {"Zg", "Zg=", "Z===", "====", "Zg==Zg==", "Zm=v", "Zm9v\n", " Zm9v",
                           "Zm-_", "Zm9v=", "=m9v", "Zm9\xff"}) {
    EXPECT_EQ(decode_base64(text), std::nullopt) << text;
  }
}

TEST(Base64, RefusesBitsThatBelongToNoByte) {
  EXPECT_EQ(decode_base64("Zh=="), std::nullopt);
  EXPECT_EQ(decode_base64("Zm9="), std::nullopt);
}

RC_GTEST_PROP(Base64Property, BytesComeBackAsTheyWere, (const std::string& bytes)) {
  RC_ASSERT(decode_base64(encode_base64(bytes)) == bytes);
}

}  // namespace
}  // namespace dw
