#include "cli/page.hpp"

#include "cli/lookup.hpp"

#include <gtest/gtest.h>

namespace dw::cli {
namespace {

Value json(std::string_view text) {
  return *parse_json(text);
}

TEST(Page, ColumnsAreAsWideAsTheirWidestCell) {
  Page page{false};
  page.table({{"ID", "id"}, {"Status", "status", Format::status}},
             *json(R"([{"id":"a","status":"running"},{"id":"größer","status":null}])").if_array());
  EXPECT_EQ(page.str(),
            "ID      Status\n"
            "a       running\n"
            "größer  -\n");
}

TEST(Page, ColoursAreForTerminalsOnly) {
  const auto drawn = [](bool colours) {
    Page page{colours};
    page.status("Status", "failed");
    return page.str();
  };
  EXPECT_EQ(drawn(false), "  Status: failed\n");
  EXPECT_EQ(drawn(true), "  Status: \x1b[31mfailed\x1b[0m\n");
}

TEST(Page, TheFirstWordOfAStatusGivesTheColour) {
  EXPECT_EQ(colour_of_status("completed"), Colour::green);
  EXPECT_EQ(colour_of_status("throttled (0 left)"), Colour::yellow);
  EXPECT_EQ(colour_of_status("FAILED: why"), Colour::red);
  EXPECT_EQ(colour_of_status("archived"), Colour::none);
}

TEST(Page, LinesThatHaveNothingToSayAreLeftOut) {
  Page page{false};
  page.lines({{"A", "a"}, {"B", "b"}, {"C", "x.y|c"}, {"D", "d", Format::json}},
             json(R"({"a":1,"b":null,"c":["x","y"],"d":{"k":1}})"));
  EXPECT_EQ(page.str(), "  A: 1\n  C: x, y\n  D: {\"k\":1}\n");
}

TEST(Page, FactsAreLinesHoweverDeepTheyLie) {
  Page page{false};
  page.lines({{"All", "all", Format::facts}},
             json(R"({"all":{"max_age_ms":1,"none":{},"in":{"x":[1,2]},"of":[{"a":1,"b":"c"}]}})"));
  EXPECT_EQ(page.str(),
            "  All:\n"
            "    Max age ms: 1\n"
            "    None: -\n"
            "    In:\n"
            "      X: 1, 2\n"
            "    Of:\n"
            "      A: 1, B: c\n");
}

TEST(Page, NothingThatAServerSaysMovesTheCursor) {
  EXPECT_EQ(in_words(Value{"a\x1b[2Jb\r\n"}), "a [2Jb  ");
  EXPECT_EQ(in_words(Value{"x\xc2\x9b"
                           "1m"}),
            "x  1m")
      << "the eight-bit form of the escape";
  EXPECT_EQ(in_words(Value{"größe"}), "größe");
}

TEST(Lookup, PathsGoThroughMapsAndTryAlternatives) {
  const Value answer = json(R"({"a":{"b":{"c":3}},"d":null})");
  EXPECT_EQ(whole_of(answer, "a.b.c"), 3);
  EXPECT_EQ(whole_of(answer, "d|x|a.b.c"), 3);
  EXPECT_EQ(look_up(answer, "a.x.c"), nullptr);
  EXPECT_EQ(words_of(answer, "d"), "-");
}

}  // namespace
}  // namespace dw::cli
