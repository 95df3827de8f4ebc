// What an update came to, for callers that want its result and nothing else.
#pragma once
#include <dw/handle.hpp>

namespace dw::detail {

// Throws UpdateError unless it completed.
Payload update_result(UpdateInfo update, const std::string& instance_id);

}  // namespace dw::detail
