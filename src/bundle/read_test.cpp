#include "bundle/read.hpp"

#include "bundle/bundled.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dw::story {
namespace {

using bundle::events_of_bundle;
using ::testing::HasSubstr;

TEST(ReadBundle, KeepsBytesAndNumbersAsTheyWere) {
  auto start = workflow_started("invoice");
  start.arguments = {std::string{avro_codec}, std::string{"\0\xc3\x01\xff", 4}};
  start.memo = Value{Value::Map{
      {"bytes", Bytes{std::string{"\0\xff", 2}}}, {"real", 1.0}, {"whole", 1}, {"tiny", 5e-324}}};
  const auto run = looking_at({start});
  const auto read = events_of_bundle(exported(run));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(bundle::events_of(read->commits), run.events());
}

TEST(ReadBundle, SaysWhyABundleCannotBeReplayed) {
  const auto text = exported(looking_at({workflow_started("invoice"), timer_scheduled("t1", 60s)}));
  const auto why = [](const std::string& bundle) {
    const auto read = events_of_bundle(bundle);
    EXPECT_FALSE(read);
    return read ? std::string{} : read.error().message;
  };
  EXPECT_THAT(why(changed(text, "history_events.1.facts", Value{})),
              HasSubstr("event 2 of the bundle is without its facts"));
  EXPECT_THAT(why(changed(text, "history_events.1.sequence", 3)), HasSubstr("no event 2"));
  EXPECT_THAT(why("{}"), HasSubstr("no history bundle"));
  EXPECT_FALSE(events_of_bundle("nonsense"));
}

TEST(ParseCommit, ReadsAStoredRow) {
  const auto events = told({workflow_started("invoice"), timer_scheduled("t1", 60s)});
  const bundle::Commit commit{CommitId{"01J"}, events};
  const auto read =
      bundle::parse_commit(commit.id, 1, events.front().recorded_at, bundle::stored_form(commit));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, commit);
}

// Written by an earlier build, and found good by the published verifier: see the test beside this.
TEST(ReadBundle, ABundleOfAnEarlierBuildIsVerifiedReadAndExportedAgain) {
  const auto text = read_vector("history_bundle/invoice.json");
  const bundle::VerifyOptions options{.signing_key = "golden key", .require_signature = true};
  EXPECT_EQ(to_json(*to_value(bundle::verify_bundle(text, options)).find("findings")), "[]");
  const auto read = events_of_bundle(text);
  ASSERT_TRUE(read) << read.error().message;
  bundle::Inputs inputs;
  inputs.run_id = read->run_id;
  inputs.commits = read->commits;
  inputs.sight.now = at("11:00");
  const auto again = bundle::export_bundle(inputs, {.key = {"golden key", "k1"}});
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(bundle::verify_bundle(*again, options).status(), "ok");
  EXPECT_EQ(events_of_bundle(*again)->commits, read->commits);
}

}  // namespace
}  // namespace dw::story
