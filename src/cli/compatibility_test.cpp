#include "cli/compatibility.hpp"

#include "cli/client_story.hpp"
#include "cli/lookup.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dw::cli {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

Value changed(std::string_view from, std::string_view to) {
  std::string text = fitting_cluster_info();
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  return *parse_json(text);
}

const Speaks this_dw{.version = "0.1.0"};
const Speaks worker_dw{.version = "0.1.0", .worker_commands = true};

TEST(Compatibility, AServerThatFitsIsFine) {
  const Value info = *parse_json(fitting_cluster_info());
  EXPECT_FALSE(check_compatibility(info, this_dw));
  EXPECT_FALSE(check_compatibility(info, worker_dw));
  EXPECT_THAT(compatibility_warnings(info), IsEmpty());
}

TEST(Compatibility, EveryMisfitIsNamedAndNothingIsDone) {
  const std::pair<Value, const char*> misfits[] = {
      {Value{}, "does not describe itself"},
      {Value{Value::Map{}}, "control_plane.version is missing"},
      {changed(R"("version":"2","request)", R"("version":"3","request)"), "is 3, dw speaks 2"},
      {changed("control-plane-request.contract", "other"), "request_contract is durable-workflow"},
      {changed(R"(">=0.1,<3.0")", R"(">=2.0")"), "it supports dw >=2.0, this is dw 0.1.0"},
  };
  for (const auto& [info, said] : misfits) {
    const auto misfit = check_compatibility(info, this_dw);
    ASSERT_TRUE(misfit) << said;
    EXPECT_EQ(misfit->exit, Exit::compatibility);
    EXPECT_THAT(misfit->message, HasSubstr(said));
    EXPECT_EQ(text_of(misfit->compatibility, "cli_version"), "0.1.0");
    EXPECT_FALSE(text_of(misfit->compatibility, "detail").empty());
  }
}

TEST(Compatibility, VersionsMayBeWrittenAsNumbers) {
  EXPECT_FALSE(check_compatibility(changed(R"("version":"2","request)", R"("version":2,"request)"),
                                   this_dw));
}

TEST(Compatibility, TheWorkerProtocolMattersToWorkerCommands) {
  const Value older = changed(R"("version":"1.19")", R"("version":"2.0")");
  EXPECT_FALSE(check_compatibility(older, this_dw));
  EXPECT_TRUE(check_compatibility(older, worker_dw));
}

TEST(Compatibility, OddThingsAreWarnedOf) {
  EXPECT_THAT(compatibility_warnings(changed("protocol_manifests", "guesses")),
              testing::ElementsAre(HasSubstr("guesses")));
}

TEST(Compatibility, RangesTakePreReleasesForEarlier) {
  EXPECT_TRUE(version_in_range("0.1.0", ">=0.1,<3.0"));
  EXPECT_TRUE(version_in_range("2.0.0-rc.35", ">=0.1,<3.0"));
  EXPECT_FALSE(version_in_range("2.0.0-rc.35", ">=2.0.0"));
  EXPECT_TRUE(version_in_range("2.0.0-rc.35", ">=2.0.0-rc.9"));
  EXPECT_FALSE(version_in_range("3.0.0", ">=0.1, <3.0"));
  EXPECT_TRUE(version_in_range("1.2.3", "1.2.3"));
  EXPECT_TRUE(version_in_range("1.2.3", "!=1.2.4"));
  EXPECT_TRUE(version_in_range("1.2.3", "*"));
  EXPECT_FALSE(version_in_range("1.2.3", "about one")) << "what is not understood is not allowed";
  EXPECT_FALSE(version_in_range("1.2.3", ""));
}

TEST(Compatibility, WordsAreThoseTheServerPublishes) {
  const Value info = *parse_json(fitting_cluster_info());
  EXPECT_FALSE(check_word(info, "list.status", "status", "failed", {}));
  EXPECT_THAT(check_word(info, "list.status", "status", "cancelled", {})->message,
              HasSubstr("say 'failed'"));
  EXPECT_THAT(
      check_word(info, "start.duplicate_policy", "duplicate-policy", "use_existing", {})->message,
      HasSubstr("say 'use-existing'"));
  EXPECT_THAT(check_word(info, "list.status", "status", "odd", {})->message,
              HasSubstr("running, completed, failed"));
  EXPECT_FALSE(check_word(Value{}, "list.status", "status", "odd", {"odd"}))
      << "a server that publishes nothing leaves it to us";
}

}  // namespace
}  // namespace dw::cli
