#include "views/failures.hpp"

#include "views/row_value.hpp"

#include <algorithm>

namespace dw::views {

std::vector<FailureRow> failure_rows(const Account& account, const ForeignRows& foreign) {
  std::vector<FailureRow> rows;
  for (const FailureAccount& failure : account.failures) rows.push_back({failure, {}});
  for (const ForeignFailure& other : foreign.failures) {
    const auto same = [&](const FailureRow& row) { return row.failure.id == other.id; };
    if (std::ranges::any_of(rows, same)) continue;
    FailureAccount failure;
    failure.id = other.id;
    failure.source_kind = other.source_kind;
    failure.source_id = other.source_id;
    failure.failure.exception_class = other.exception_class;
    failure.failure.message = other.message;
    failure.created_at = other.created_at.value_or(Timestamp{});
    rows.push_back({std::move(failure), {"failure_row_fallback", {}, {}}});
  }
  return rows;
}

namespace {

std::string_view first_lines(std::string_view text, int count) {
  std::size_t end = 0;
  while (count-- > 0 && end < text.size())
    end = std::min(text.find('\n', end), text.size() - 1) + 1;
  return text.substr(0, end);
}

}  // namespace

Value exception_value(const history::Failure& failure) {
  const auto properties = failure.properties ? decode(*failure.properties) : Result<Value>{Value{}};
  RowValue row;
  row("class", failure.exception_class)("type", failure.exception_type);
  row("message", failure.message)("code", failure.code);
  row("properties", properties ? *properties : Value{});
  return row.take();
}

Value to_value(const FailureRow& f) {
  const FailureAccount& failure = f.failure;
  const bool typed = f.authority.typed();
  RowValue row;
  row("id", failure.id)("source_kind", failure.source_kind)("source_id", failure.source_id);
  row("propagation_kind", failure.propagation_kind)("failure_category", failure.category);
  row("non_retryable", failure.failure.non_retryable)("handled", failure.handled);
  row("history_authority", f.authority.history_authority)("diagnostic_only", !typed);
  row("exception_type", failure.failure.exception_type);
  row("exception_class", failure.failure.exception_class)("message", failure.failure.message);
  row("code", failure.failure.code)("trace_preview", first_lines(failure.failure.stack_trace, 5));
  row("created_at", failure.created_at);
  row("exception_payload", exception_value(failure.failure));
  row("event_sequence", typed ? std::optional{failure.sequence} : std::nullopt);
  return row.take();
}

}  // namespace dw::views
