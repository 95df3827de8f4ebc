#include "server/waiting_reads.hpp"

#include <fmt/format.h>

namespace dw::server {

void WaitingReads::post(const Call& call, Reply reply, std::function<void(Reply reply)> read) {
  if (waiting_.fetch_add(1) >= most) {
    --waiting_;
    return reply(
        refusal(429, "overloaded",
                fmt::format("{} requests wait to be read for; try again in a moment", most)));
  }
  reader_.post([this, client = call.without_body(), reply = std::move(reply),
                read = std::move(read)]() mutable {
    --waiting_;
    if (client.hung_up()) return reply(refusal(503, "unavailable", "the caller hung up"));
    try {
      read(reply);
    } catch (const std::exception& failure) {
      reply(broke_down(client.caller.request_id, failure));
    }
  });
}

}  // namespace dw::server
