#include "server/retry_fields.hpp"

#include <fmt/format.h>

namespace dw::server {

history::RetryPolicy read_retry_policy(Fields& fields) {
  history::RetryPolicy policy;
  policy.backoff_seconds.clear();
  const auto given = fields.object("retry_policy");
  if (!given) return policy;
  Fields inner{*given->if_map(), fields.path_of("retry_policy")};
  policy.max_attempts = inner.whole("max_attempts", 1, INT64_MAX).value_or(1);
  policy.backoff_seconds = inner.wholes("backoff_seconds", 0);
  policy.non_retryable_error_types = inner.texts("non_retryable_error_types");
  fields.also_wrong(inner.take_errors());
  return policy;
}

void require_within(Fields& fields, std::string_view name,
                    const std::optional<history::Seconds>& span, std::string_view whole_name,
                    const std::optional<history::Seconds>& whole) {
  if (span && whole && *span > *whole) {
    fields.wrong(name, fmt::format("must not be longer than {}", whole_name));
  }
}

void read_activity_timeouts(Fields& fields, std::string_view suffix, history::RetryPolicy& policy) {
  const auto named = [&](std::string_view name) { return fmt::format("{}{}", name, suffix); };
  const std::string start_to_close = named("start_to_close_timeout");
  const std::string schedule_to_start = named("schedule_to_start_timeout");
  const std::string schedule_to_close = named("schedule_to_close_timeout");
  const std::string heartbeat = named("heartbeat_timeout");
  policy.start_to_close_timeout = fields.whole(start_to_close, 1, INT64_MAX);
  policy.schedule_to_start_timeout = fields.whole(schedule_to_start, 1, INT64_MAX);
  policy.schedule_to_close_timeout = fields.whole(schedule_to_close, 1, INT64_MAX);
  policy.heartbeat_timeout = fields.whole(heartbeat, 1, INT64_MAX);
  const bool ends = policy.start_to_close_timeout.has_value();
  require_within(fields, heartbeat, policy.heartbeat_timeout,
                 ends ? start_to_close : schedule_to_close,
                 ends ? policy.start_to_close_timeout : policy.schedule_to_close_timeout);
  require_within(fields, start_to_close, policy.start_to_close_timeout, schedule_to_close,
                 policy.schedule_to_close_timeout);
  require_within(fields, schedule_to_start, policy.schedule_to_start_timeout, schedule_to_close,
                 policy.schedule_to_close_timeout);
}

}  // namespace dw::server
