// Tells a program in peace, then with several kinds of faults by several seeds.
#pragma once
#include "program.hpp"

namespace dw::random_programs {

// Empty when all tellings are one, every recorded run fits the code, and a patient program came to
// what it means. Else the whole story: the seed, the program, the smallest one that was found to
// show something, and what it shows.
std::string judge(const Program& program);

}  // namespace dw::random_programs
