// Blobs in a bucket: signed, found again, and refused in words that help and give nothing away.
#include "server/pretend_bucket.hpp"
#include "server/storage_drivers.hpp"

#include <gmock/gmock.h>

namespace dw::server {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class BlobsInABucket : public ::testing::Test {
 protected:
  static void expect_discreet(const Error& error) {
    EXPECT_THAT(error.message, AllOf(Not(HasSubstr(PretendBucket::secret)),
                                     Not(HasSubstr("the-token")), Not(HasSubstr("Signature="))));
  }

  PretendBucket bucket;
  const std::string key = blob_key("abc");
  const std::string path = "/payloads/billing/" + key;
};

TEST_F(BlobsInABucket, AreWrittenReadAndRemoved) {
  const auto blobs = s3_blobs(bucket.place());
  EXPECT_EQ(blobs->put("abc").value(), key);
  EXPECT_THAT(bucket.objects(), ElementsAre(std::pair{path, std::string{"abc"}}));
  EXPECT_EQ(blobs->get(key).value(), "abc");
  EXPECT_TRUE(blobs->remove(key));
  EXPECT_THAT(bucket.objects(), IsEmpty());
  EXPECT_TRUE(blobs->remove(key)) << "what is gone is gone";
  EXPECT_EQ(blobs->get(key).error().code, ErrorCode::not_found);
}

TEST_F(BlobsInABucket, MayBeAnyBytesOfAnySize) {
  const auto blobs = s3_blobs(bucket.place());
  std::string all_bytes(3 * 1024 * 1024, '\0');
  for (std::size_t i = 0; i < all_bytes.size(); ++i) all_bytes[i] = static_cast<char>(i * 7);
  for (const auto& bytes : {std::string{}, std::string{"\0\xff", 2}, all_bytes}) {
    const auto put = blobs->put(bytes);
    ASSERT_TRUE(put) << bytes.size() << " bytes: " << put.error().message;
    EXPECT_EQ(blobs->get(*put).value(), bytes);
  }
}

TEST_F(BlobsInABucket, AreNamedAsSdksNameThem) {
  auto place = bucket.place();
  EXPECT_EQ(s3_blobs(place)->uri_of(key), "s3://payloads/billing/" + key);
  place.prefix = "";
  place.endpoint += "/";
  const auto blobs = s3_blobs(place);
  EXPECT_EQ(blobs->uri_of(key), "s3://payloads/" + key);
  EXPECT_EQ(blobs->put("abc").value(), key);
  EXPECT_THAT(bucket.objects(), ElementsAre(::testing::Key("/payloads/" + key)));
}

TEST_F(BlobsInABucket, ASessionsTokenIsSentAndSigned) {
  auto place = bucket.place();
  place.credentials.session_token = "the-token";
  EXPECT_TRUE(s3_blobs(place)->put("abc"));
  const auto heard = bucket.heard().front();
  EXPECT_EQ(heard.header("x-amz-security-token"), "the-token");
  EXPECT_THAT(std::string{heard.header("Authorization")}, HasSubstr("x-amz-security-token"));
}

TEST_F(BlobsInABucket, AWrongSecretIsToldFromAWrongBucket) {
  auto place = bucket.place();
  place.credentials = {"AKIDEXAMPLE", "not the secret", "the-token"};
  const auto refused = s3_blobs(place)->put("abc").error();
  EXPECT_EQ(refused.code, ErrorCode::unavailable);
  EXPECT_THAT(refused.message, HasSubstr("403 SignatureDoesNotMatch"));
  EXPECT_THAT(refused.message, Not(HasSubstr("not the secret")));
  expect_discreet(refused);
  bucket.refuse_with(404, "<Error><Code>NoSuchBucket</Code></Error>");
  const auto blobs = s3_blobs(bucket.place());
  for (const auto& error :
       {blobs->put("abc").error(), blobs->get(key).error(), blobs->remove(key).error()}) {
    EXPECT_EQ(error.code, ErrorCode::unavailable);
    EXPECT_THAT(error.message, HasSubstr("404 NoSuchBucket"));
  }
}

TEST_F(BlobsInABucket, WhatTheServiceSaysIsNotRepeatedWhateverItIs) {
  bucket.refuse_with(500, "<Code>" + std::string{PretendBucket::secret} + "</Code>");
  const auto error = s3_blobs(bucket.place())->put("abc").error();
  EXPECT_THAT(error.message, HasSubstr("answered with 500;"));
  expect_discreet(error);
}

TEST_F(BlobsInABucket, ADamagedOneIsNoticed) {
  const auto blobs = s3_blobs(bucket.place());
  ASSERT_TRUE(blobs->put("abc"));
  bucket.change(path, "ab");
  EXPECT_EQ(blobs->get(key).error().code, ErrorCode::store_corrupt);
  ASSERT_TRUE(blobs->put("abc"));
  EXPECT_EQ(blobs->get(key).value(), "abc");
}

TEST_F(BlobsInABucket, ARedirectIsNotFollowed) {
  bucket.refuse_with(307, "");
  EXPECT_THAT(s3_blobs(bucket.place())->get(key).error().message, HasSubstr("with 307"));
  EXPECT_EQ(bucket.heard().size(), 1u);
}

TEST_F(BlobsInABucket, KeysThatAreNoneNeverReachTheNetwork) {
  const auto blobs = s3_blobs(bucket.place());
  EXPECT_EQ(blobs->get("../other-bucket/secret").error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(blobs->remove("").error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(bucket.heard(), IsEmpty());
}

TEST_F(BlobsInABucket, NobodyWaitsForASilentServiceForever) {
  bucket.fall_silent();
  auto place = bucket.place();
  place.answer_within = std::chrono::milliseconds{50};
  EXPECT_EQ(s3_blobs(place)->get(key).error().code, ErrorCode::timed_out);
}

TEST_F(BlobsInABucket, NobodyWaitsOnBehalfOfACallerWhoHasGone) {
  bucket.fall_silent();
  auto place = bucket.place();
  place.given_up = [] { return true; };
  EXPECT_EQ(s3_blobs(place)->get(key).error().code, ErrorCode::shutting_down);
}

TEST(BlobsNowhere, AnEndpointThatCannotBeReachedIsNamed) {
  S3Place place{.bucket = "payloads",
                .region = "eu-central-1",
                .endpoint = "http://127.0.0.1:1",
                .credentials = {"id", "hush"}};
  const auto error = s3_blobs(place)->put("abc").error();
  EXPECT_EQ(error.code, ErrorCode::unavailable);
  EXPECT_THAT(error.message, AllOf(HasSubstr("http://127.0.0.1:1"), Not(HasSubstr("hush"))));
}

}  // namespace
}  // namespace dw::server
