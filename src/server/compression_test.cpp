// Clients get what they can read: asked for by q-values, never unasked.
#include "server/compression.hpp"

#include <gmock/gmock.h>
#include <zlib.h>

namespace dw::server {
namespace {

using ::testing::IsEmpty;

// What a client would make of a body; `bits` as zlib has it.
std::string inflated(std::string_view body, int bits) {
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, bits), Z_OK);
  std::string text(1 << 22, '\0');
  std::string input{body};
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = reinterpret_cast<Bytef*>(text.data());
  stream.avail_out = static_cast<uInt>(text.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  text.resize(stream.total_out);
  inflateEnd(&stream);
  return text;
}
constexpr int as_gzip = 15 + 16;
constexpr int as_raw_deflate = -15;

std::string header_of(const Response& response, std::string_view name) {
  for (const auto& [key, value] : response.headers) {
    if (key == name) return value;
  }
  return {};
}

Response json_answer(std::string body) {
  return {200, {{"Content-Type", "application/json"}}, std::move(body)};
}

std::string long_list() {
  std::string text = "[";
  for (int i = 0; i < 400; ++i) text += R"({"workflow_id":"order-)" + std::to_string(i) + "\"},";
  return text + "{}]";
}

TEST(ChooseCoding, NothingUnasked) {
  EXPECT_EQ(choose_coding(""), Coding::identity);
  EXPECT_EQ(choose_coding("identity"), Coding::identity);
  EXPECT_EQ(choose_coding("br, zstd"), Coding::identity);
  EXPECT_EQ(choose_coding("gzip;q=0, deflate;q=0.000"), Coding::identity);
  EXPECT_EQ(choose_coding("*;q=0"), Coding::identity);
}

TEST(ChooseCoding, TheHighestWeightWinsAndGzipOnTies) {
  EXPECT_EQ(choose_coding("gzip"), Coding::gzip);
  EXPECT_EQ(choose_coding("deflate, gzip"), Coding::gzip);
  EXPECT_EQ(choose_coding("deflate;q=0.5, gzip;q=0.5, br"), Coding::gzip);
  EXPECT_EQ(choose_coding("gzip;q=0.499, deflate;q=0.5"), Coding::deflate);
  EXPECT_EQ(choose_coding("deflate"), Coding::deflate);
  EXPECT_EQ(choose_coding("identity;q=0.5, gzip;q=0.4"), Coding::identity);
  EXPECT_EQ(choose_coding("identity;q=0.5, gzip;q=0.5"), Coding::gzip);
}

TEST(ChooseCoding, AStarSpeaksForWhatIsNotNamed) {
  EXPECT_EQ(choose_coding("*"), Coding::gzip);
  EXPECT_EQ(choose_coding("gzip;q=0, *"), Coding::deflate);
  EXPECT_EQ(choose_coding("deflate;q=0.9, *;q=0.1"), Coding::deflate);
}

TEST(ChooseCoding, SpellingIsFree) {
  EXPECT_EQ(choose_coding("  GZip ; Q=0.8 ,, deflate ;q=0.7"), Coding::gzip);
  EXPECT_EQ(choose_coding("x-gzip"), Coding::gzip);
}

TEST(ChooseCoding, WhatCannotBeReadAsksForNothing) {
  for (const char* weight : {"2", "-1", "0.1234", "1.001", "a", "0,5x", "", ".5", "1.", "01"}) {
    const std::string text = std::string{"gzip;q="} + weight;
    const auto expected = std::string_view{weight} == "1." ? Coding::gzip : Coding::identity;
    EXPECT_EQ(choose_coding(text), expected) << text;
  }
}

TEST(Compression, IsForLongJson) {
  EXPECT_TRUE(worth_compressing(json_answer(std::string(1024, ' ')), 1024));
  EXPECT_FALSE(worth_compressing(json_answer(std::string(1023, ' ')), 1024));
  Response other = json_answer(long_list());
  other.headers[0].value = "text/event-stream";
  EXPECT_FALSE(worth_compressing(other, 1024));
  other.headers[0] = {"content-type", "application/vnd.dw+JSON; charset=utf-8"};
  EXPECT_TRUE(worth_compressing(other, 1024));
  other.headers.push_back({"Content-Encoding", "br"});
  EXPECT_FALSE(worth_compressing(other, 1024));
}

TEST(Compression, GzipIsReadAsGzip) {
  Response response = json_answer(long_list());
  shrink(response, Coding::gzip);
  EXPECT_EQ(header_of(response, "Content-Encoding"), "gzip");
  EXPECT_LT(response.body.size(), long_list().size() / 4);
  EXPECT_EQ(inflated(response.body, as_gzip), long_list());
}

TEST(Compression, DeflateIsARawStream) {
  Response response = json_answer(long_list());
  shrink(response, Coding::deflate);
  EXPECT_EQ(header_of(response, "Content-Encoding"), "deflate");
  EXPECT_EQ(inflated(response.body, as_raw_deflate), long_list());
}

TEST(Compression, OneAnswerLeavesNothingInTheNext) {
  const std::string first = compressed_text(long_list(), Coding::gzip);
  EXPECT_EQ(inflated(compressed_text("{}", Coding::gzip), as_gzip), "{}");
  EXPECT_EQ(inflated(compressed_text("", Coding::gzip), as_gzip), "");
  EXPECT_EQ(compressed_text(long_list(), Coding::gzip), first);
}

TEST(Compression, WhatDoesNotShrinkIsSentAsItIs) {
  std::string noise;
  std::uint32_t state = 1;
  for (int i = 0; i < 4096; ++i) {
    state = state * 1664525 + 1013904223;
    noise += static_cast<char>(state >> 24);
  }
  Response response = json_answer(noise);
  shrink(response, Coding::gzip);
  EXPECT_EQ(response.body, noise);
  EXPECT_THAT(header_of(response, "Content-Encoding"), IsEmpty());
}

TEST(Compression, IdentityIsUntouched) {
  Response response = json_answer(long_list());
  shrink(response, Coding::identity);
  EXPECT_EQ(response.body, long_list());
  EXPECT_EQ(response.headers.size(), 1U);
}

TEST(Compression, CachesAreToldWhatTheAnswerDependsOn) {
  Response response = json_answer(long_list());
  vary_by_encoding(response);
  EXPECT_EQ(header_of(response, "Vary"), "Accept-Encoding");
  response.headers = {{"Vary", "Origin"}};
  vary_by_encoding(response);
  EXPECT_EQ(header_of(response, "Vary"), "Origin, Accept-Encoding");
  response.headers = {{"Vary", "*"}};
  vary_by_encoding(response);
  EXPECT_EQ(header_of(response, "Vary"), "*");
}

}  // namespace
}  // namespace dw::server
