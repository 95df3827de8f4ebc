#include "bundle/bundled.hpp"

#include "bundle/tree.hpp"
#include "core/sha256.hpp"
#include "core/ulid.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace dw::story {
namespace {

Value parsed(const std::string& text) {
  auto value = parse_json(text);
  EXPECT_TRUE(value) << value.error().message;
  return value ? *std::move(value) : Value{};
}

std::string sealed(Value bundle) {
  Value integrity = bundle::integrity_of(bundle, {});
  *bundle::find_at(bundle, "integrity") = std::move(integrity);
  return to_json(bundle);
}

}  // namespace

std::vector<bundle::Commit> committed(std::span<const history::Event> events) {
  std::vector<bundle::Commit> commits;
  for (const auto& event : events) {
    const bool same =
        !commits.empty() && commits.back().events.back().recorded_at == event.recorded_at;
    if (!same) commits.push_back({CommitId{ulid_from(sha256(clock_text(event.recorded_at)))}, {}});
    commits.back().events.push_back(event);
  }
  return commits;
}

bundle::Inputs inputs_of(const Looking& run) {
  bundle::Inputs inputs;
  inputs.run_id = run.account().run_id;
  inputs.commits = committed(run.events());
  inputs.sight = run.sight();
  return inputs;
}

std::string exported(const Looking& run, const bundle::Options& options) {
  auto text = bundle::export_bundle(inputs_of(run), options);
  EXPECT_TRUE(text) << text.error().message;
  return text ? *std::move(text) : std::string{};
}
Value bundle_of(const Looking& run, const bundle::Options& options) {
  return parsed(exported(run, options));
}

std::string shown(const Value& bundle, std::string_view path) {
  const Value* found = bundle::find_at(bundle, path);
  if (!found) return "(absent)";
  return found->if_string() ? *found->if_string() : to_json(*found);
}

std::string changed(const std::string& text, std::string_view path, Value value) {
  Value bundle = parsed(text);
  Value* found = bundle::find_at(bundle, path);
  EXPECT_NE(found, nullptr) << "nothing at " << path;
  if (found) *found = std::move(value);
  return to_json(bundle);
}
std::string changed_and_sealed(const std::string& text, std::string_view path, Value value) {
  return sealed(parsed(changed(text, path, std::move(value))));
}
std::string without_and_sealed(const std::string& text, std::string_view key) {
  Value bundle = parsed(text);
  const auto gone =
      std::erase_if(*bundle.if_map(), [&](const auto& entry) { return entry.first == key; });
  EXPECT_EQ(gone, 1u) << "there is no " << key;
  return sealed(std::move(bundle));
}

std::string read_vector(const std::string& name) {
  std::ifstream file{std::string{DW_TEST_VECTORS_DIR} + "/" + name, std::ios::binary};
  EXPECT_TRUE(file) << name;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace dw::story
