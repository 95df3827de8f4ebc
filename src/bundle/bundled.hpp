// For tests: a story, exported.
//
//   const auto run = looking_at({workflow_started("invoice"), workflow_completed("7")});
//   EXPECT_EQ(shown(bundle_of(run), "workflow.status"), "completed");
//   EXPECT_TRUE(verified(changed(exported(run), "workflow.status", "failed")).has("…"));
#pragma once
#include "bundle/export.hpp"
#include "bundle/verify.hpp"
#include "views/looking.hpp"

namespace dw::story {

// Events recorded at the same moment share a commit.
std::vector<bundle::Commit> committed(std::span<const history::Event> events);
bundle::Inputs inputs_of(const Looking& run);

std::string exported(const Looking& run, const bundle::Options& options = {});
Value bundle_of(const Looking& run, const bundle::Options& options = {});

// The text at that path, "null", "(absent)", or JSON.
std::string shown(const Value& bundle, std::string_view path);

// The bundle with something else at that path, its seal left as it was; or sealed again, so that
// only the rule under test has something to say.
std::string changed(const std::string& text, std::string_view path, Value value);
std::string changed_and_sealed(const std::string& text, std::string_view path, Value value);
std::string without_and_sealed(const std::string& text, std::string_view key);

std::string read_vector(const std::string& name);

}  // namespace dw::story
