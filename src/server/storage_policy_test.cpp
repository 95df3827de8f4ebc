// What may be set as the place for large payloads, and what is said of everything else.
#include "server/storage_policy.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace dw::server {
namespace {

using ::testing::HasSubstr;

struct ReadPolicy {
  StoragePolicy policy;
  Value::Map errors;
};

ReadPolicy policy_from(std::string_view json) {
  const Value body = *parse_json(json);
  Fields fields{*body.if_map(), {}};
  auto policy = read_storage_policy(fields);
  return {std::move(policy), fields.take_errors()};
}

std::string policy_complaints(std::string_view json) {
  std::string names;
  for (const auto& [name, texts] : policy_from(json).errors) names += name + " ";
  return names;
}

std::string config_complaints(std::string_view driver, std::string_view config) {
  return policy_complaints(fmt::format(R"({{"driver":"{}","config":{}}})", driver, config));
}

TEST(StoragePolicy, TheSampleOfTheSpecificationIsTakenAsItIs) {
  const auto* const json =
      R"({"driver":"s3","enabled":true,"threshold_bytes":2097152,"config":{)"
      R"("auth_profile":"billing-prod","bucket":"dw-payloads","disk":"external-payload-objects",)"
      R"("endpoint":"https://s3.us-east-1.amazonaws.com","prefix":"billing/","region":"us-east-1"}})";
  const auto read = policy_from(json);
  EXPECT_EQ(to_json(read.errors), "{}");
  EXPECT_EQ(to_json(storage_policy_value(read.policy)), json);
  EXPECT_EQ(object_prefix(read.policy), "billing");
}

TEST(StoragePolicy, SaysWhatWasNotSaid) {
  const auto read = policy_from(R"({"driver":"local"})");
  EXPECT_EQ(to_json(storage_policy_value(read.policy)),
            R"({"driver":"local","enabled":true,"threshold_bytes":null,"config":{}})");
  EXPECT_FALSE(policy_from(R"({"driver":"gcs","enabled":false,"config":[]})").policy.enabled);
}

TEST(StoragePolicy, IsFoundAgainInWhatWasWritten) {
  for (const auto* json :
       {R"({"driver":"local","config":{"uri":"file:///srv/payloads"}})",
        R"({"driver":"s3","enabled":false,"threshold_bytes":1,"config":{"bucket":"b"}})",
        R"({"driver":"gcs"})", R"({"driver":"azure","config":{"uri":"azure-blob://c"}})"}) {
    const auto read = policy_from(json);
    EXPECT_EQ(to_json(read.errors), "{}");
    EXPECT_EQ(find_storage_policy(storage_policy_value(read.policy)), read.policy) << json;
  }
  EXPECT_EQ(find_storage_policy(Value{}), std::nullopt);
  EXPECT_EQ(find_storage_policy(*parse_json(R"({"driver":"tape"})")), std::nullopt);
}

TEST(StoragePolicy, WhatIsWrongIsSaidByField) {
  EXPECT_EQ(policy_complaints("{}"), "driver ");
  EXPECT_EQ(policy_complaints(R"({"driver":"tape"})"), "driver ");
  EXPECT_EQ(policy_complaints(R"({"driver":7,"enabled":"yes","threshold_bytes":0,"config":"x"})"),
            "driver enabled threshold_bytes config ");
  EXPECT_EQ(policy_complaints(R"({"driver":"local","threshold_bytes":-1})"), "threshold_bytes ");
  EXPECT_EQ(policy_complaints(R"({"driver":"local","threshold_bytes":1.5})"), "threshold_bytes ");
  EXPECT_EQ(config_complaints("local", R"({"prefix":7,"disk":["a"]})"),
            "config.disk config.prefix ");
}

TEST(StoragePolicy, ABucketIsNeededWhereThereAreBuckets) {
  EXPECT_EQ(policy_complaints(R"({"driver":"s3"})"), "config.bucket ");
  EXPECT_EQ(config_complaints("s3", R"({"region":"eu"})"), "config.bucket ");
  EXPECT_EQ(policy_complaints(R"({"driver":"gcs"})"), "") << "whoever drives it knows better";
}

TEST(StoragePolicy, SecretsHaveNoPlaceInIt) {
  const auto read = policy_from(
      R"({"driver":"s3","config":{"bucket":"b","secret_access_key":"hush","token":"hush"}})");
  EXPECT_THAT(to_json(read.errors), HasSubstr("config.secret_access_key"));
  EXPECT_THAT(to_json(read.errors), HasSubstr("config.token"));
  EXPECT_THAT(to_json(read.errors), ::testing::Not(HasSubstr("hush")));
  EXPECT_EQ(config_complaints("s3", R"({"bucket":"b","endpoint":"https://id:hush@host"})"),
            "config.endpoint ");
}

TEST(StoragePolicy, ADirectoryIsAbsoluteAndGoesForwards) {
  for (const auto* fine : {"/srv/payloads", "file:///srv/payloads", "file://localhost/srv/p"}) {
    EXPECT_EQ(config_complaints("local", fmt::format(R"({{"uri":"{}"}})", fine)), "") << fine;
  }
  for (const auto* wrong :
       {"payloads", "./payloads", "/", "//", "/srv/../etc", "/srv/./p", "file://srv/payloads",
        "file:///srv/%2e%2e/etc", "s3://bucket", "https://host/path", "file://", "/srv/a\\nb"}) {
    EXPECT_EQ(config_complaints("local", fmt::format(R"({{"uri":"{}"}})", wrong)), "config.uri ")
        << wrong;
  }
  EXPECT_EQ(find_local_path("file://localhost/srv/p"), "/srv/p");
  EXPECT_EQ(find_local_path(""), std::nullopt);
}

TEST(StoragePolicy, NamesStayWhereTheyArePut) {
  for (const auto* wrong : {"a/b", "..", ".", "a b", "a\\n", "a%2fb", "a?b", "\xc3\xa4"}) {
    for (const auto* key : {"bucket", "disk", "region", "auth_profile"}) {
      const auto said = config_complaints("gcs", fmt::format(R"({{"{}":"{}"}})", key, wrong));
      EXPECT_EQ(said, fmt::format("config.{} ", key)) << wrong;
    }
  }
  for (const auto* wrong : {"../a", "a/../b", "a//b", "a b", "a/./b", "a%20b"}) {
    EXPECT_EQ(config_complaints("gcs", fmt::format(R"({{"prefix":"{}"}})", wrong)),
              "config.prefix ")
        << wrong;
  }
  EXPECT_EQ(config_complaints("gcs", R"({"prefix":"/a/b~c/"})"), "");
}

TEST(StoragePolicy, AnEndpointIsAUrlAndNothingElse) {
  for (const auto* fine :
       {"http://127.0.0.1:9000", "https://s3.example/minio", "https://[::1]:9"}) {
    EXPECT_EQ(config_complaints("gcs", fmt::format(R"({{"endpoint":"{}"}})", fine)), "") << fine;
  }
  for (const auto* wrong :
       {"s3.example", "ftp://s3.example", "file:///etc", "https://", "https://host?x=1",
        "https://host/#a", "https://host/../a", "https://a b", "http://a\\r\\nHost: b"}) {
    EXPECT_EQ(config_complaints("gcs", fmt::format(R"({{"endpoint":"{}"}})", wrong)),
              "config.endpoint ")
        << wrong;
  }
}

}  // namespace
}  // namespace dw::server
