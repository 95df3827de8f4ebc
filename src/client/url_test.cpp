#include "client/url.hpp"

#include <gmock/gmock.h>

namespace dw::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Url, HasPortsAndBasesOfItsOwn) {
  struct Case {
    const char *text, *host, *port, *authority, *base;
    bool secure;
  };
  for (const Case& expected : {
           Case{"http://localhost", "localhost", "80", "localhost", "", false},
           Case{"HTTPS://Example.com/", "Example.com", "443", "Example.com", "", true},
           Case{"http://127.0.0.1:8080", "127.0.0.1", "8080", "127.0.0.1:8080", "", false},
           Case{"https://[::1]:8443/a/b//", "::1", "8443", "[::1]:8443", "/a/b", true},
           Case{"http://[2001:db8::7]", "2001:db8::7", "80", "[2001:db8::7]", "", false},
       }) {
    const auto url = parse_url(expected.text);
    ASSERT_TRUE(url) << url.error().message;
    EXPECT_EQ(url->host, expected.host) << expected.text;
    EXPECT_EQ(url->port, expected.port) << expected.text;
    EXPECT_EQ(url->authority, expected.authority) << expected.text;
    EXPECT_EQ(url->base, expected.base) << expected.text;
    EXPECT_EQ(url->secure, expected.secure) << expected.text;
  }
  EXPECT_EQ(parse_url("https://[::1]:8443/a/")->text(), "https://[::1]:8443/a");
}

TEST(Url, SaysWhatIsWrongWithIt) {
  struct Case {
    const char *text, *problem;
  };
  for (const Case& expected : {
           Case{"", "begin with http://"},
           Case{"localhost:8080", "begin with http://"},
           Case{"http://", "names no host"},
           Case{"http://:80", "names no host"},
           Case{"http://host:", "'' is no port"},
           Case{"http://host:0", "'0' is no port"},
           Case{"http://host:65536", "'65536' is no port"},
           Case{"http://host:80x", "'80x' is no port"},
           Case{"http://[::1", "not closed"},
           Case{"http://[::1]80", "only a port"},
           Case{"http://me:secret@host", "use a token"},
           Case{"http://host/?a=b", "query or a fragment"},
           Case{"http://host#top", "query or a fragment"},
           Case{"http://host\r\nX: y", "visible ASCII"},
       }) {
    const auto url = parse_url(expected.text);
    ASSERT_FALSE(url) << expected.text;
    EXPECT_EQ(url.error().code, ErrorCode::invalid_argument);
    EXPECT_THAT(url.error().message, HasSubstr(expected.problem));
  }
}

TEST(Url, ShowsNoPassword) {
  for (const char* text :
       {"https://me:s3cr3t@host", "https://me:p@s3cr3t@host:1", "me:s3cr3t@host",
        "https://me:s3cr3t/more@host", "https://me:p/s3cr3t@host", "ftp://me:s3cr3t@host"}) {
    EXPECT_THAT(without_user_info(text), Not(HasSubstr("s3cr3t"))) << text;
    EXPECT_THAT(without_user_info(text), HasSubstr("@host")) << text;
    EXPECT_THAT(parse_url(text).error().message, Not(HasSubstr("s3cr3t"))) << text;
  }
  EXPECT_EQ(without_user_info("https://host/base"), "https://host/base");
}

}  // namespace
}  // namespace dw::client
