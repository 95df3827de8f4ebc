// An administrator asks whether the place for large payloads works, and is told what does not.
#include "server/payload_storage.hpp"

#include "core/sha256.hpp"
#include "machine/scheduler.hpp"
#include "server/pretend_bucket.hpp"
#include "store/memory_store.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <stdlib.h>

#include <deque>
#include <fstream>

namespace dw::server {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Gets to its work when it is told to.
class WorkForLater final : public Executor {
 public:
  void post(Work work) override { waiting_.push_back(std::move(work)); }
  void post_at(Timestamp, Work work) override { post(std::move(work)); }
  void work_off() {
    for (; !waiting_.empty(); waiting_.pop_front()) waiting_.front()();
  }

 private:
  std::deque<Work> waiting_;
};

class TryingStorage : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "dw_storage_XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root = pattern;
  }
  void TearDown() override { fs::remove_all(root); }

  void configure(std::string_view json) {
    Call call;
    call.match.captured.emplace_back("namespace", "default");
    call.body = *parse_json(json)->if_map();
    namespaces.set_storage(call, [](const Answer& answer) {
      ASSERT_EQ(answer.status, 200) << to_json(Value{answer.body});
    });
    writer.work_off();
  }
  void configure_bucket() {
    environment = {{"AWS_ACCESS_KEY_ID", "AKIDEXAMPLE"},
                   {"AWS_SECRET_ACCESS_KEY", std::string{PretendBucket::secret}},
                   {"AWS_REGION", "eu-central-1"}};
    configure(fmt::format(R"({{"driver":"s3","config":{{"bucket":"payloads","endpoint":"{}"}}}})",
                          bucket.endpoint()));
  }
  Answer test(std::string_view json = "{}") {
    Call call;
    call.ns = Namespace{"default"};
    call.body = *parse_json(json)->if_map();
    std::optional<Answer> answer;
    storage.test(call, [&answer](Answer given) { answer = std::move(given); });
    patient.work_off();
    return answer.value();
  }
  static std::string at(const Answer& answer, std::string_view key) {
    const Value body{answer.body};
    const Value* found = body.find(key);
    return found ? to_json(*found) : "(absent)";
  }
  static void expect_no(const Answer& answer, std::string_view reason, std::string_view driver) {
    EXPECT_EQ(answer.status, 422);
    EXPECT_EQ(at(answer, "reason"), fmt::format("\"{}\"", reason));
    EXPECT_EQ(at(answer, "status"), R"("failed")");
    EXPECT_EQ(at(answer, "namespace"), R"("default")");
    EXPECT_EQ(at(answer, "driver"), driver);
    EXPECT_THAT(at(answer, "message"), Not("\"\""));
  }
  static void expect_passed(const Answer& answer, std::string_view driver, int small, int large) {
    EXPECT_EQ(answer.status, 200) << to_json(Value{answer.body});
    EXPECT_EQ(at(answer, "status"), R"("passed")");
    EXPECT_EQ(at(answer, "namespace"), R"("default")");
    EXPECT_EQ(at(answer, "driver"), fmt::format("\"{}\"", driver));
    EXPECT_THAT(at(answer, "small_payload"),
                ::testing::MatchesRegex(fmt::format(
                    R"(\{{"status":"passed","bytes":{},"sha256":"[0-9a-f]+"\}})", small)));
    EXPECT_THAT(
        at(answer, "large_payload"),
        ::testing::MatchesRegex(fmt::format(
            R"(\{{"status":"passed","bytes":{},"sha256":"[0-9a-f]+","reference_uri":"[^"]+"\}})",
            large)));
  }
  std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::recursive_directory_iterator{root}) {
      if (!entry.is_directory()) found.push_back(entry.path());
    }
    return found;
  }

  fs::path root;
  std::map<std::string, std::string> environment;
  PretendBucket bucket;
  machine::SimClock clock{from_micros(1'770'000'000'000'000)};
  store::MemoryStore store;
  WorkForLater writer, patient;
  SeededRandom random{7};
  Namespaces namespaces{{store, writer, clock}};
  PayloadStorage storage{{namespaces, patient, random, ::testing::TempDir(),
                          [this](const char* name) { return environment[name]; }}};
};

TEST_F(TryingStorage, NamesWhatIsMissing) {
  const auto answer = test();
  expect_no(answer, "external_storage_not_configured", "null");
  EXPECT_THAT(at(answer, "message"), HasSubstr("namespace:set-storage-driver"));
  expect_no(test(R"({"driver":"local"})"), "external_storage_not_configured", R"("local")");
}

TEST_F(TryingStorage, ADisabledOneIsLeftAlone) {
  configure(fmt::format(R"({{"driver":"local","enabled":false,"config":{{"uri":"{}"}}}})",
                        root.string()));
  expect_no(test(), "external_storage_disabled", R"("local")");
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(TryingStorage, DriversThatAreNotHereAreSaidToBeElsewhere) {
  for (const auto* driver : {"gcs", "azure"}) {
    configure(fmt::format(R"({{"driver":"{}","config":{{"bucket":"b"}}}})", driver));
    const auto answer = test();
    expect_no(answer, "storage_driver_unavailable", fmt::format("\"{}\"", driver));
    EXPECT_EQ(at(answer, "supported_diagnostic_drivers"), R"(["local","s3"])");
  }
}

TEST_F(TryingStorage, OnlyTheNamespacesOwnDriverIsTried) {
  configure(fmt::format(R"({{"driver":"local","config":{{"uri":"{}"}}}})", root.string()));
  expect_no(test(R"({"driver":"s3"})"), "storage_driver_unavailable", R"("s3")");
  expect_passed(test(R"({"driver":"local"})"), "local", 128, 2097152);
}

TEST_F(TryingStorage, ADirectoryPassesAndIsLeftAsItWas) {
  configure(fmt::format(R"({{"driver":"local","config":{{"uri":"file://{}"}}}})", root.string()));
  const auto answer = test(R"({"small_payload_bytes":1,"large_payload_bytes":70000})");
  expect_passed(answer, "local", 1, 70000);
  EXPECT_THAT(at(answer, "large_payload"), HasSubstr("file://" + root.string() + "/avro/"));
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(TryingStorage, TwoTrialsDoNotShareAPayload) {
  configure(fmt::format(R"({{"driver":"local","config":{{"uri":"{}"}}}})", root.string()));
  EXPECT_NE(at(test(), "small_payload"), at(test(), "small_payload"));
}

TEST_F(TryingStorage, ABucketPassesAndIsLeftAsItWas) {
  configure_bucket();
  const auto answer = test(R"({"driver":"s3","large_payload_bytes":3145728})");
  expect_passed(answer, "s3", 128, 3145728);
  EXPECT_THAT(at(answer, "large_payload"), HasSubstr("s3://payloads/avro/"));
  EXPECT_THAT(bucket.objects(), IsEmpty());
}

TEST_F(TryingStorage, WithoutCredentialsNothingIsAskedOfABucket) {
  configure_bucket();
  environment.erase("AWS_SECRET_ACCESS_KEY");
  const auto answer = test();
  expect_no(answer, "storage_driver_unavailable", R"("s3")");
  EXPECT_THAT(at(answer, "message"), HasSubstr("AWS_SECRET_ACCESS_KEY"));
  EXPECT_THAT(bucket.heard(), IsEmpty());
}

TEST_F(TryingStorage, WhatABucketRefusesIsPassedOnWithoutSecrets) {
  configure_bucket();
  environment["AWS_SECRET_ACCESS_KEY"] = "a wrong one";
  const auto answer = test();
  expect_no(answer, "storage_driver_unavailable", R"("s3")");
  EXPECT_THAT(at(answer, "message"), HasSubstr("SignatureDoesNotMatch"));
  EXPECT_THAT(at(answer, "message"), Not(HasSubstr("a wrong one")));
}

TEST_F(TryingStorage, AFileInTheWayIsNamed) {
  std::ofstream{root / "file"} << "";
  configure(fmt::format(R"({{"driver":"local","config":{{"uri":"{}/file"}}}})", root.string()));
  const auto answer = test();
  expect_no(answer, "storage_driver_unavailable", R"("local")");
  EXPECT_THAT(at(answer, "message"), HasSubstr((root / "file").string()));
}

TEST_F(TryingStorage, ANamespaceWithoutADirectoryHasOneBesideTheStore) {
  const PayloadStorage beside{{namespaces, patient, random, root, [](const char*) { return ""; }}};
  for (const auto* name : {"billing", "..", "."}) {
    const auto blobs = beside.open(Namespace{name}, StoragePolicy{}).value();
    const auto key = blobs->put("abc").value();
    EXPECT_TRUE(fs::exists(root / (std::string{name} + ".payloads") / key)) << name;
  }
}

TEST_F(TryingStorage, WhatIsWrongWithTheRequestIsSaidAtOnce) {
  const auto answer =
      test(R"({"driver":"tape","small_payload_bytes":0,"large_payload_bytes":16777217})");
  EXPECT_EQ(answer.status, 422);
  EXPECT_EQ(at(answer, "reason"), R"("validation_failed")");
  for (const auto* field : {"driver", "small_payload_bytes", "large_payload_bytes"}) {
    EXPECT_THAT(at(answer, "errors"), HasSubstr(field));
  }
  EXPECT_THAT(at(test(R"({"small_payload_bytes":1048577})"), "errors"),
              HasSubstr("small_payload_bytes"));
}

}  // namespace
}  // namespace dw::server
