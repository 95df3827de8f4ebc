#include "cli/request.hpp"

#include "cli/catalogue.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dw::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

Outcome<std::string> no_files(const std::string& path) {
  return invalid_input("no file " + path);
}

Outcome<Request> built(std::string_view name, std::vector<std::string> words,
                       const ReadFile& read = no_files) {
  const Command& command = *find_command(name);
  const auto given = parse_given(command, words);
  if (!given) return given.error();
  return build_request(command, *given, read);
}

std::string body_of(std::string_view name, std::vector<std::string> words) {
  const auto request = built(name, std::move(words));
  return request && request->body ? to_json(*request->body) : "no body";
}

TEST(BuildRequest, IdsAreEscapedSegmentBySegment) {
  EXPECT_EQ(built("workflow:describe", {"a/b c?:ü"})->target, "/workflows/a%2Fb%20c%3F:%C3%BC");
}

TEST(BuildRequest, ARunStandsInThePathOnlyWhenNamed) {
  EXPECT_EQ(built("workflow:signal", {"w", "s"})->target, "/workflows/w/signal/s");
  EXPECT_EQ(built("workflow:signal", {"w", "s", "--run-id=r"})->target,
            "/workflows/w/runs/r/signal/s");
}

TEST(BuildRequest, ReadsAskInTheQueryAndWritesInTheBody) {
  EXPECT_EQ(built("workflow:list", {"--query", "A = \"x y\""})->target,
            "/workflows?query=A%20%3D%20%22x%20y%22&page_size=20");
  EXPECT_EQ(body_of("workflow:cancel", {"w", "--reason", "enough"}), R"({"reason":"enough"})");
  EXPECT_EQ(body_of("workflow:repair", {"w"}), "{}");
  EXPECT_FALSE(built("namespace:delete", {"n"})->body);
}

TEST(BuildRequest, ArgumentsAreAListUnlessTheyAreNamed) {
  const auto input = [](std::vector<std::string> more) {
    std::vector<std::string> words{"w", "s"};
    words.insert(words.end(), more.begin(), more.end());
    return body_of("workflow:signal", words);
  };
  EXPECT_EQ(input({"-i", "[1,2]"}), R"({"input":[1,2]})");
  EXPECT_EQ(input({"-i", R"({"by":"ada"})"}), R"({"input":{"by":"ada"}})");
  EXPECT_EQ(input({"-i", "3"}), R"({"input":[3]})");
  EXPECT_EQ(input({"-i", "1.0"}), R"({"input":[1.0]})");
  EXPECT_EQ(input({"-i", "null"}), "{}");
  EXPECT_EQ(input({"-i", "plain words", "--input-encoding=raw"}), R"({"input":["plain words"]})");
  EXPECT_EQ(input({"-i", "aGk=", "--input-encoding=base64"}), R"({"input":["hi"]})");
  EXPECT_EQ(input({"-i", "/w==", "--input-encoding=base64"}),
            R"({"input":[{"$type":"bytes","base64":"/w=="}]})");
}

TEST(BuildRequest, APayloadMayBeInAFile) {
  const auto from_file = [](const std::string& path) -> Outcome<std::string> {
    return std::string{path == "-" ? "[\"stdin\"]\n" : "aGk=\n"};
  };
  EXPECT_EQ(to_json(*built("workflow:signal", {"w", "s", "--input-file", "-"}, from_file)->body),
            R"({"input":["stdin"]})");
  EXPECT_EQ(to_json(*built("workflow:signal",
                           {"w", "s", "--input-file", "f", "--input-encoding=base64"}, from_file)
                         ->body),
            R"({"input":["hi"]})");
}

TEST(BuildRequest, BadPayloadsAreRefusedHere) {
  EXPECT_THAT(built("workflow:signal", {"w", "s", "-i", "{"}).error().message,
              StartsWith("--input: not JSON: "));
  EXPECT_THAT(built("workflow:signal", {"w", "s", "-i", "1", "--input-file", "f"}).error().message,
              HasSubstr("two payloads"));
  EXPECT_THAT(
      built("workflow:signal", {"w", "s", "-i", "?", "--input-encoding=base64"}).error().message,
      HasSubstr("not padded base64"));
  EXPECT_THAT(built("workflow:start", {"-t", "x", "--memo", "[]"}).error().message,
              HasSubstr("must be a JSON object"));
  EXPECT_EQ(built("workflow:signal", {"w", "s", "--input-file", "f"}).error().exit, Exit::invalid);
}

TEST(BuildRequest, CombinationsThatMakeNoSenseAreRefused) {
  EXPECT_FALSE(built("workflow:cancel", {}));
  EXPECT_FALSE(built("workflow:cancel", {"w", "--all-matching", "a=1"}));
  EXPECT_FALSE(built("workflow:cancel", {"--all-matching", "  "}));
  EXPECT_FALSE(built("workflow:cancel", {"--all-matching", "a=1", "--run-id", "r"}));
  EXPECT_FALSE(built("workflow:start", {"-t", "x", "--signal-input", "1"}));
  EXPECT_FALSE(built("workflow:update", {"w", "u", "--wait-timeout", "3"}));
  EXPECT_FALSE(built("task-queue:drain", {"q"}));
  EXPECT_FALSE(built("task-queue:drain", {"q", "--build-id=b", "--unversioned"}));
  EXPECT_FALSE(built("activity:fail", {"t", "a", "-m", "x", "--retryable", "--non-retryable"}));
  EXPECT_FALSE(built("debug", {"schedule", "s"}));
}

TEST(BuildRequest, DotsInKeysOfPairsAreNoPaths) {
  EXPECT_EQ(body_of("workflow:start", {"-t", "x", "--search-attr", "a.b=1"}),
            R"({"workflow_type":"x","task_queue":"default","search_attributes":{"a.b":"1"}})");
}

}  // namespace
}  // namespace dw::cli
