#include "main/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>

namespace dw::app {
namespace {

std::string_view sign_of(StepView::State state) {
  switch (state) {
    case StepView::State::waiting:
      return "·";
    case StepView::State::running:
      return "▸";
    case StepView::State::done:
      return "✓";
    case StepView::State::failed:
      return "✗";
  }
  return "?";
}

std::string describe(const StepView& step) {
  std::string text = fmt::format("{} step {}  {:<24}", sign_of(step.state), step.number, step.what);
  switch (step.state) {
    case StepView::State::waiting:
      return text + "waiting";
    case StepView::State::running:
      return text + fmt::format("running, attempt {}", step.attempts);
    case StepView::State::done:
    case StepView::State::failed:
      break;
  }
  const std::chrono::duration<double> took = *step.closed_at - step.opened_at;
  return text + fmt::format("{} after {:.2f} s",
                            step.state == StepView::State::done ? "durable" : "failed, durably,",
                            took.count());
}

}  // namespace

Progress::Style Progress::style_of_stdout() {
  return isatty(STDOUT_FILENO) != 0 ? Style::redraw : Style::lines;
}

void Progress::show(const RunView& run) {
  if (style_ == Style::silent) return;
  if (style_ == Style::redraw) {
    redraw(run);
  } else {
    print_changes(run);
  }
  std::fflush(stdout);
}

void Progress::settle() {
  if (style_ == Style::redraw) drawn_.clear();
}

void Progress::redraw(const RunView& run) {
  std::vector<std::string> lines;
  for (const StepView& step : run.steps) lines.push_back(describe(step));
  if (lines == drawn_) return;
  if (!drawn_.empty()) fmt::print("\x1b[{}A", drawn_.size());
  for (const auto& line : lines) fmt::print("\x1b[2K    {}\n", line);
  drawn_ = std::move(lines);
}

void Progress::print_changes(const RunView& run) {
  drawn_.resize(std::max(drawn_.size(), run.steps.size()));
  for (std::size_t i = 0; i < run.steps.size(); ++i) {
    auto text = describe(run.steps[i]);
    if (text == drawn_[i]) continue;
    fmt::print("    {}\n", text);
    drawn_[i] = std::move(text);
  }
}

}  // namespace dw::app
