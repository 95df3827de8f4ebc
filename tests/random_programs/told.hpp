// One program, run once in the test kit with the faults of one seed.
#pragma once
#include "program.hpp"

#include <dw/testing.hpp>

namespace dw::random_programs {

struct Told {
  std::string ending;              // of the root: its telling, or how it failed
  std::vector<std::string> heard;  // what the client was answered
  std::vector<std::string> shape;  // of every run
  std::vector<testing::History> histories;
  std::size_t calls = 0;       // of activities
  std::size_t executions = 0;  // of them with keys of their own: retries and faults add calls
  int crashes = 0;
};

Told tell(const Program& program, const testing::Options& options);

// The first difference of two tellings, for people; empty when there is none.
std::string difference(const Told& calm, const Told& other);

// The first recorded run that does not fit the code that made it; empty when all do.
std::string misfit(const Told& told);

}  // namespace dw::random_programs
