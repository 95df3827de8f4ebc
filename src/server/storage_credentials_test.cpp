// Credentials are found where S3 tools look for them, and only there.
#include "server/storage_credentials.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <stdlib.h>
#include <unistd.h>

#include <fstream>
#include <map>

namespace dw::server {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string credentials_text(const Result<S3Credentials>& found) {
  if (!found) return found.error().message;
  return fmt::format("{} {} {}", found->access_key_id, found->secret_access_key,
                     found->session_token);
}

// An environment of nothing but these.
auto environment_of(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string{} : found->second;
  };
}

constexpr std::string_view shared_file =
    "# ours\r\n"
    "[default]\n"
    "aws_access_key_id = id0\n"
    "aws_secret_access_key=hush=0\n"
    "\n"
    "[ billing ]\n"
    "; both of them\n"
    "  aws_access_key_id=id1 \r\n"
    "aws_secret_access_key = hush1\n"
    "aws_session_token = token1\n"
    "region = eu-central-1\n"
    "[half]\n"
    "aws_access_key_id = id2\n"
    "[broken\n"
    "aws_secret_access_key = hush3";

TEST(S3CredentialsFile, EachProfileHasItsSection) {
  EXPECT_EQ(credentials_text(s3_credentials_in(shared_file, "default")), "id0 hush=0 ");
  EXPECT_EQ(credentials_text(s3_credentials_in(shared_file, "billing")), "id1 hush1 token1");
  EXPECT_EQ(credentials_text(s3_credentials_in(shared_file, "half")), "id2  ")
      << "no other section's secret";
  EXPECT_EQ(credentials_text(s3_credentials_in(shared_file, "nobody")), "  ");
  EXPECT_EQ(credentials_text(s3_credentials_in("", "default")), "  ");
}

TEST(S3CredentialsOfTheServer, ComeFromTheEnvironmentWhenNoProfileIsNamed) {
  EXPECT_EQ(
      credentials_text(load_s3_credentials(
          environment_of({{"AWS_ACCESS_KEY_ID", "id"}, {"AWS_SECRET_ACCESS_KEY", "hush"}}), "")),
      "id hush ");
  const auto half = credentials_text(
      load_s3_credentials(environment_of({{"AWS_SECRET_ACCESS_KEY", "hush"}}), ""));
  EXPECT_THAT(half, AllOf(HasSubstr("AWS_ACCESS_KEY_ID"), Not(HasSubstr("hush"))));
}

TEST(S3CredentialsOfTheServer, ComeFromTheSharedFileUnderTheProfilesName) {
  std::string file = ::testing::TempDir() + "dw_credentials_XXXXXX";
  const int made = ::mkstemp(file.data());
  ASSERT_GE(made, 0);
  ::close(made);
  std::ofstream{file, std::ios::binary} << shared_file;
  const auto variables = environment_of(
      {{"AWS_SHARED_CREDENTIALS_FILE", file}, {"AWS_ACCESS_KEY_ID", "not this one"}});
  EXPECT_EQ(credentials_text(load_s3_credentials(variables, "billing")), "id1 hush1 token1");
  for (const auto* profile : {"half", "nobody"}) {
    EXPECT_THAT(credentials_text(load_s3_credentials(variables, profile)),
                AllOf(HasSubstr(file), HasSubstr(profile), Not(HasSubstr("hush"))));
  }
  std::remove(file.c_str());
  EXPECT_THAT(credentials_text(load_s3_credentials(variables, "billing")), HasSubstr(file));
}

TEST(S3CredentialsOfTheServer, ADirectoryIsNoCredentialsFile) {
  EXPECT_THAT(
      credentials_text(load_s3_credentials(
          environment_of({{"AWS_SHARED_CREDENTIALS_FILE", ::testing::TempDir()}}), "billing")),
      HasSubstr("no auth_profile 'billing'"));
  EXPECT_THAT(
      credentials_text(load_s3_credentials(environment_of({{"HOME", "/nowhere"}}), "billing")),
      HasSubstr("/nowhere/.aws/credentials"));
}

}  // namespace
}  // namespace dw::server
