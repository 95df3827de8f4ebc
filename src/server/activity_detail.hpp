// An activity that stands alone as callers of the API see it: the run that hosts it and the
// activity itself, told as one.
#pragma once
#include "views/account.hpp"

#include <dw/value.hpp>

namespace dw::server {

// Whether the run is the host of such an activity, and not a workflow of somebody's.
bool hosts_activity(const views::Account& run);

// What was started. The rest asks for a run that hosts one.
Value::Map started_activity(const views::Account& host);
// One line of a list: the same, and how it stands.
Value::Map activity_item(const views::Account& host);
// All of it: the item, its attempts and what came of them.
Value::Map activity_detail(const views::Account& host);

}  // namespace dw::server
