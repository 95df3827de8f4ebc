// Where answers and errors go. Standard output carries the answer and nothing else: text for
// people, one document, or one object per line.
#pragma once
#include "cli/connection.hpp"
#include "cli/page.hpp"

#include <iosfwd>
#include <string_view>

namespace dw::cli {

struct OutputStyle {
  OutputMode mode = OutputMode::table;
  bool colours = false;
  bool quiet = false;
};

class Output {
 public:
  Output(std::ostream& out, std::ostream& err, OutputStyle style)
      : out_(out), err_(err), style_(style) {}

  bool for_machines() const { return style_.mode != OutputMode::table; }
  bool by_line() const { return style_.mode == OutputMode::jsonl; }

  Page page() const { return Page{style_.colours}; }
  // For people; nothing in machine modes and when quiet.
  void show(const Page& page);
  void show(std::string_view line);
  // For machines: the document as one line, at once.
  void print(const Value& document);
  // Handed on as it is, in every mode.
  void print_raw(std::string_view text);

  // Beside the answer: hints for people, not when quiet.
  void note(std::string_view line);
  void warn(std::string_view line);  // yellow
  // Beside the answer, in every mode.
  void tell(std::string_view line);

  void fail(const Failure& failure, const FailureContext& context);

 private:
  std::ostream& out_;
  std::ostream& err_;
  const OutputStyle style_;
};

}  // namespace dw::cli
