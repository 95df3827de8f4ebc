#include "handles/update_result.hpp"

#include <fmt/format.h>

namespace dw::detail {

Payload update_result(UpdateInfo update, const std::string& instance_id) {
  if (update.status == "rejected") {
    throw UpdateError{update.name, update.rejection_reason,
                      fmt::format("on '{}' was refused: {}", instance_id, update.message)};
  }
  if (update.status == "failed") {
    throw UpdateError{update.name, "update_failed",
                      fmt::format("on '{}' failed: {}", instance_id, update.message)};
  }
  if (update.wait_timed_out) {
    throw UpdateError{
        update.name, "wait_timed_out",
        fmt::format("{} on '{}' was accepted and has not been applied in time; it will be",
                    update.update_id, instance_id)};
  }
  return *std::move(update.result);
}

}  // namespace dw::detail
