// A run as callers of the API see it.
#pragma once
#include "views/sight.hpp"
#include "views/summary.hpp"

#include <dw/value.hpp>

namespace dw::server {

// One line of a list.
Value::Map run_item(const views::Summary& summary, const views::Account& account);
// All of it: the item, what it was given and what came of it, what may be done with it.
Value::Map run_detail(const views::Account& account, const views::Sight& sight,
                      std::int64_t run_count);

}  // namespace dw::server
