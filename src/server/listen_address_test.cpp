#include "server/listen_address.hpp"

#include <gmock/gmock.h>

namespace dw::server {
namespace {

TEST(ListenAddress, IsAHostAndAPort) {
  EXPECT_EQ(parse_listen_address("127.0.0.1:8080")->host, "127.0.0.1");
  EXPECT_EQ(parse_listen_address("127.0.0.1:8080")->port, 8080);
  EXPECT_EQ(parse_listen_address("[::1]:0")->host, "::1");
  EXPECT_EQ(parse_listen_address(":65535")->host, "");
  for (const char* text :
       {"", "nowhere", "host:", "host:65536", "host:-1", "host:80x", "host: 80"}) {
    EXPECT_FALSE(parse_listen_address(text)) << text;
  }
}

TEST(ListenAddress, IsLoopbackByWhereItLeads) {
  const Resolve nobody = [](const std::string&) { return std::vector<std::string>{}; };
  for (const char* host : {"localhost", "127.0.0.1", "127.8.9.10", "::1", "::ffff:127.0.0.1"}) {
    EXPECT_TRUE(is_loopback(host, nobody)) << host;
  }
  for (const char* host : {"", "0.0.0.0", "::", "10.0.0.7", "::ffff:10.0.0.7", "127.example.com"}) {
    EXPECT_FALSE(is_loopback(host, nobody)) << host;
  }
}

TEST(ListenAddress, ANameIsLoopbackWhenAllItsAddressesAre) {
  const auto at = [](std::vector<std::string> addresses) {
    return [addresses = std::move(addresses)](const std::string&) { return addresses; };
  };
  EXPECT_TRUE(is_loopback("here", at({"127.0.1.1", "::1"})));
  EXPECT_FALSE(is_loopback("127.example.com", at({"192.0.2.1"})));
  EXPECT_FALSE(is_loopback("both", at({"127.0.0.1", "192.0.2.1"})));
}

}  // namespace
}  // namespace dw::server
