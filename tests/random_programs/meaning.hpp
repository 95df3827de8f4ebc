// What a patient program comes to, worked out by plain code without an engine: tellings that agree
// with one another might still all be wrong.
#pragma once
#include "program.hpp"

namespace dw::random_programs {

// The ending of its root. Only of patient programs as they are drawn: theirs does not depend on
// time.
std::string meaning_of(const Program& program);

}  // namespace dw::random_programs
