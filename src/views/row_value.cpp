#include "views/row_value.hpp"

namespace dw::views {
namespace {

void add_one(RowValue& row, const history::Group& group) {
  row("parallel_group_id", group_id(group))("parallel_group_kind", to_string(group.kind))(
      "parallel_group_base_sequence", group.base)("parallel_group_size", group.size)(
      "parallel_group_index", group.index);
}

}  // namespace

void add_group(RowValue& row, const history::GroupPath& path) {
  if (path.empty()) {
    row("parallel_group_id", "")("parallel_group_kind", "")("parallel_group_base_sequence", "")(
        "parallel_group_size", "")("parallel_group_index", "")("parallel_group_path",
                                                               Value::Array{});
    return;
  }
  add_one(row, path.back());
  Value::Array all;
  for (const history::Group& group : path) {
    RowValue entry;
    add_one(entry, group);
    all.push_back(entry.take());
  }
  row("parallel_group_path", Value{std::move(all)});
}

Value to_value(const history::RetryPolicy& policy) {
  Value::Array backoff;
  for (const history::Seconds delay : policy.backoff_seconds) backoff.emplace_back(delay);
  RowValue row;
  row("snapshot_version", std::int64_t{1})("max_attempts", policy.max_attempts)(
      "backoff_seconds", Value{std::move(backoff)})(
      "start_to_close_timeout", policy.start_to_close_timeout)("schedule_to_start_timeout",
                                                               policy.schedule_to_start_timeout)(
      "schedule_to_close_timeout", policy.schedule_to_close_timeout)(
      "heartbeat_timeout", policy.heartbeat_timeout)("non_retryable_error_types",
                                                     policy.non_retryable_error_types);
  return row.take();
}

}  // namespace dw::views
