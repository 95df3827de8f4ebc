#include "program.hpp"

#include <fmt/format.h>

#include <string_view>

namespace dw::random_programs {
namespace {

void show(const std::vector<Statement>& body, int depth, std::string& text) {
  const std::string margin(static_cast<std::size_t>(depth) * 2, ' ');
  for (const Statement& statement : body) {
    text += margin + boost::describe::enum_to_string(statement.kind, "?");
    if (!statement.name.empty()) text += " " + statement.name;
    if (statement.number != 0) text += fmt::format(" number {}", statement.number);
    if (statement.limit != 0) text += fmt::format(" limit {} s", statement.limit);
    if (statement.vague) text += " vague";
    text += "\n";
    show(statement.body, depth + 1, text);
    if (statement.undo.empty()) continue;
    text += margin + "undo\n";
    show(statement.undo, depth + 1, text);
  }
}

// Every list of statements that differs from `body` by one cut. What fails for certain still does.
std::vector<std::vector<Statement>> cuts(const std::vector<Statement>& body) {
  std::vector<std::vector<Statement>> made;
  for (std::size_t i = 0; i < body.size(); ++i) {
    auto& without = made.emplace_back(body);
    without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
  }
  for (std::size_t i = 0; i < body.size(); ++i) {
    if (body[i].vague || body[i].limit > 0) continue;
    for (auto& inner : cuts(body[i].body)) {
      made.emplace_back(body)[i].body = std::move(inner);
    }
    for (auto& inner : cuts(body[i].undo)) {
      made.emplace_back(body)[i].undo = std::move(inner);
    }
  }
  return made;
}

}  // namespace

std::string shown(const Program& program) {
  std::string text =
      fmt::format("program {}, {}{}\n", program.seed, program.patient ? "patient" : "to the second",
                  program.starts_with_signal ? ", started with a signal" : "");
  show(program.body, 1, text);
  for (const Move& move : program.moves) {
    text += fmt::format("  at {}.5 s: {} {} {} {}\n", move.second,
                        boost::describe::enum_to_string(move.deed, "?"), move.name, move.number,
                        move.child);
  }
  return text;
}

std::vector<Program> smaller(const Program& program) {
  std::vector<Program> made;
  for (auto& body : cuts(program.body)) made.emplace_back(program).body = std::move(body);
  for (std::size_t i = 0; i < program.moves.size(); ++i) {
    auto& moves = made.emplace_back(program).moves;
    moves.erase(moves.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return made;
}

}  // namespace dw::random_programs
