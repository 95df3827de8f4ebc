#include "server/request_parser.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace dw::server {
namespace {

const std::string chunked_head =
    "POST /a HTTP/1.1\r\nHost: dw\r\nX-Key: 1\r\nTransfer-Encoding: chunked\r\n\r\n";

// What is found in these pieces, in a word: "200 body", or the refusal.
std::string found_in(std::initializer_list<std::string> pieces) {
  RequestParser parser;
  for (const std::string& piece : pieces) {
    const auto found = parser.receive(piece, {}, [] { return true; });
    if (const auto* no = std::get_if<RequestParser::Refusal>(&found)) {
      return fmt::format("{} {}", no->status, no->reason);
    }
    if (const auto* whole = std::get_if<RequestParser::Whole>(&found)) {
      std::string text = "200 " + whole->request.body;
      for (const auto& header : whole->request.headers) text += " " + header.name;
      return text;
    }
  }
  return "more";
}

TEST(RequestParser, TakesTheEndOfAnEmptyBodyByteByByte) {
  EXPECT_EQ(found_in({chunked_head, "0\r\n", "\r"}), "more");
  EXPECT_EQ(found_in({chunked_head, "0\r\n", "\r", "\n"}), "200  Host X-Key Transfer-Encoding");
  EXPECT_EQ(found_in({chunked_head, "0", "\r", "\n", "\r", "\n"}), "200  Host X-Key Transfer-Encoding");
  EXPECT_EQ(found_in({chunked_head + "0\r\n\r", "\n"}), "200  Host X-Key Transfer-Encoding");
}

TEST(RequestParser, WhatComesBehindABodyIsNoHeader) {
  EXPECT_EQ(found_in({chunked_head, "2\r\n{}\r\n", "0\r\nX-Key: 2\r\nX-More: 3\r\n\r\n"}),
            "200 {} Host X-Key Transfer-Encoding");
}

TEST(RequestParser, ATargetMayNameTheServer) {
  const auto target_of = [](const std::string& target) {
    RequestParser parser;
    const auto found =
        parser.receive("GET " + target + " HTTP/1.1\r\nHost: dw\r\n\r\n", {}, [] { return true; });
    const auto* whole = std::get_if<RequestParser::Whole>(&found);
    return whole ? whole->request.target : "refused";
  };
  EXPECT_EQ(target_of("http://127.0.0.1:8080/metrics?x=1"), "/metrics?x=1");
  EXPECT_EQ(target_of("http://127.0.0.1:8080"), "http://127.0.0.1:8080");
  EXPECT_EQ(target_of("http://dw?then=/metrics"), "http://dw?then=/metrics");
  EXPECT_EQ(target_of("/x://metrics"), "/x://metrics");
}

TEST(RequestParser, TakesNoOtherTransferEncodingThanChunkedAlone) {
  for (const char* encoding : {"gzip, chunked", "gzip", "chunked, chunked"}) {
    EXPECT_EQ(found_in({fmt::format("POST /a HTTP/1.1\r\nHost: dw\r\nTransfer-Encoding: {}\r\n\r\n",
                                    encoding)}),
              "400 bad_request")
        << encoding;
  }
  EXPECT_EQ(
      found_in({"POST /a HTTP/1.1\r\nHost: dw\r\nTransfer-Encoding: gzip\r\nTransfer-Encoding: "
                "chunked\r\n\r\n"}),
      "400 bad_request");
}

}  // namespace
}  // namespace dw::server
