// How callers and workers elsewhere say how often an activity may be tried, and how long it may
// take.
#pragma once
#include "history/events.hpp"
#include "server/fields.hpp"

namespace dw::server {

// The field `retry_policy`. Without one there is one attempt. Our own default pauses between
// attempts; whoever asks over the wire and names no pause means none.
history::RetryPolicy read_retry_policy(Fields& fields);

// `start_to_close_timeout` and the others, each with `suffix` behind its name.
void read_activity_timeouts(Fields& fields, std::string_view suffix, history::RetryPolicy& policy);

// Notes that one span is longer than another it must fit into.
void require_within(Fields& fields, std::string_view name,
                    const std::optional<history::Seconds>& span, std::string_view whole_name,
                    const std::optional<history::Seconds>& whole);

}  // namespace dw::server
