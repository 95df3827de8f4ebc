// Shows a run's steps as they become durable: redrawn in place on a terminal, one line for each
// change anywhere else.
#pragma once
#include "main/run_view.hpp"

#include <string>
#include <vector>

namespace dw::app {

class Progress {
 public:
  enum class Style { redraw, lines, silent };
  static Style style_of_stdout();

  explicit Progress(Style style) : style_(style) {}

  void show(const RunView& run);
  // Leaves what is drawn where it is; the next show() draws below it.
  void settle();

 private:
  void redraw(const RunView& run);
  void print_changes(const RunView& run);

  const Style style_;
  std::vector<std::string> drawn_;  // what each step looked like when it was shown last
};

}  // namespace dw::app
