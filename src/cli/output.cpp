#include "cli/output.hpp"

#include <ostream>

namespace dw::cli {

void Output::show(const Page& page) {
  if (for_machines() || style_.quiet) return;
  out_ << page.str() << std::flush;
}

void Output::show(std::string_view line) {
  if (for_machines() || style_.quiet) return;
  out_ << line << '\n' << std::flush;
}

void Output::print(const Value& document) {
  out_ << to_json(document) << '\n' << std::flush;
}

void Output::print_raw(std::string_view text) {
  out_ << text << (text.ends_with('\n') ? "" : "\n") << std::flush;
}

void Output::note(std::string_view line) {
  if (for_machines() || style_.quiet) return;
  err_ << line << '\n' << std::flush;
}

void Output::warn(std::string_view line) {
  Page yellow = page();
  yellow.warning(line);
  if (for_machines() || style_.quiet) return;
  err_ << yellow.str() << std::flush;
}

void Output::tell(std::string_view line) {
  err_ << line << '\n' << std::flush;
}

void Output::fail(const Failure& failure, const FailureContext& context) {
  if (for_machines()) return print(failure_document(failure, context));
  err_ << failure_text(failure, context, !style_.quiet) << std::flush;
}

}  // namespace dw::cli
