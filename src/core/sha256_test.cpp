#include "core/sha256.hpp"

#include <gtest/gtest.h>

namespace dw {
namespace {

// FIPS 180-4, as published with its examples: nothing, one block, two blocks, and many.
TEST(Sha256, SpeaksTheExamplesOfTheStandard) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_hex(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, GivesTheBytesThatItsHexSpells) {
  const auto digest = sha256("abc");
  ASSERT_EQ(digest.size(), 32u);
  EXPECT_EQ(digest.substr(0, 4), "\xba\x78\x16\xbf");
  EXPECT_EQ(digest.substr(28), std::string("\xf2\x00\x15\xad", 4));
}

TEST(Sha256, ReadsPastAZeroByte) {
  EXPECT_NE(sha256(std::string_view("a\0b", 3)), sha256(std::string_view("a\0c", 3)));
}

TEST(Sha256, TakesAViewOfNothingAtAll) {
  EXPECT_EQ(sha256(std::string_view{}), sha256(""));
}

// RFC 4231, cases 1 to 4, 6 and 7; case 5 is about truncation, which nobody here does.
TEST(HmacSha256, SpeaksTheExamplesOfTheStandard) {
  EXPECT_EQ(hmac_sha256_hex(std::string(20, '\x0b'), "Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hmac_sha256_hex("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hmac_sha256_hex(std::string(20, '\xaa'), std::string(50, '\xdd')),
            "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
  std::string counting;
  for (char byte = 1; byte <= 25; ++byte) counting += byte;
  EXPECT_EQ(hmac_sha256_hex(counting, std::string(50, '\xcd')),
            "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b");
  const std::string longer_than_a_block(131, '\xaa');
  EXPECT_EQ(hmac_sha256_hex(longer_than_a_block,
                            "Test Using Larger Than Block-Size Key - Hash Key First"),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
  EXPECT_EQ(hmac_sha256_hex(longer_than_a_block,
                            "This is a test using a larger than block-size key and a larger than "
                            "block-size data. The key needs to be hashed before being used by the "
                            "HMAC algorithm."),
            "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2");
}

TEST(HmacSha256, HasAnAnswerForAnEmptyKeyHoweverItIsEmpty) {
  constexpr auto of_nothing = "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad";
  EXPECT_EQ(hmac_sha256_hex("", ""), of_nothing);
  EXPECT_EQ(hmac_sha256_hex({}, {}), of_nothing);
}

}  // namespace
}  // namespace dw
