#include "judge.hpp"

#include "meaning.hpp"
#include "told.hpp"

#include <fmt/format.h>

namespace dw::random_programs {
namespace {

using testing::Options;

constexpr int most_cuts = 400;

std::vector<Options> weathers(const Program& program) {
  const std::uint64_t seed = program.seed * 16;
  std::vector<Options> list{
      {.seed = seed + 1},
      {.seed = seed + 2, .crashes = true},
      {.seed = seed + 3, .duplicates = true, .max_warm_workflows = 0},
      {.seed = seed + 4, .crashes = true, .duplicates = true, .max_warm_workflows = 1}};
  if (!program.patient) return list;
  list.push_back({.seed = seed + 5, .lost_attempts = true, .timeouts = true});
  list.push_back({.seed = seed + 6,
                  .crashes = true,
                  .duplicates = true,
                  .lost_attempts = true,
                  .timeouts = true,
                  .max_warm_workflows = 1});
  return list;
}

std::string named(const Options& options) {
  return fmt::format("seed {}{}{}{}{}, {} warm", options.seed, options.crashes ? ", crashes" : "",
                     options.duplicates ? ", duplicates" : "",
                     options.lost_attempts ? ", lost attempts" : "",
                     options.timeouts ? ", timeouts" : "", options.max_warm_workflows);
}

// What the environment throws is a finding too.
std::string compare(const Program& program, const Options& options, const Told& calm) {
  try {
    const Told told = tell(program, options);
    if (auto found = difference(calm, told); !found.empty()) return found;
    return misfit(told);
  } catch (const std::exception& error) {
    return fmt::format("thrown: {}", error.what());
  }
}

std::string find(const Program& program) {
  try {
    const Told calm = tell(program, {});
    if (auto found = misfit(calm); !found.empty()) return "in peace: " + found;
    if (program.patient && calm.ending != meaning_of(program)) {
      return fmt::format("it means: {}\nin peace: {}\n", meaning_of(program), calm.ending);
    }
    for (const Options& options : weathers(program)) {
      const auto found = compare(program, options, calm);
      if (!found.empty()) return fmt::format("{}\n{}", named(options), found);
    }
    return {};
  } catch (const std::exception& error) {
    return fmt::format("in peace, thrown: {}", error.what());
  }
}

// The smallest program on the way down that still shows something.
std::string shrunk(Program program, std::string found) {
  int tries = 0;
  for (bool going = true; going && tries < most_cuts;) {
    going = false;
    for (Program& cut : smaller(program)) {
      if (++tries > most_cuts) break;
      auto still = find(cut);
      if (still.empty()) continue;
      program = std::move(cut), found = std::move(still), going = true;
      break;
    }
  }
  return shown(program) + found;
}

}  // namespace

std::string judge(const Program& program) {
  const auto found = find(program);
  if (found.empty()) return {};
  return fmt::format("replay: DW_SEED={}\n{}smallest found:\n{}", program.seed, shown(program),
                     shrunk(program, found));
}

}  // namespace dw::random_programs
