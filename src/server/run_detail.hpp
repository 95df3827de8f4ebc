// A run as callers of the API see it.
#pragma once
#include "views/sight.hpp"
#include "views/summary.hpp"

#include <dw/value.hpp>

namespace dw::server {

// One line of a list.
Value::Map run_item(const views::Summary& summary, const views::Account& account);
// Of what was asked of a run, the newest are shown; all of it is in an export.
inline constexpr std::size_t most_commands_shown = 100;
// All of it: the item, what it was given and what came of it, what may be done with it, and what
// was asked of it. `events` are those of the account.
Value::Map run_detail(const views::Account& account, std::span<const history::Event> events,
                      const views::Sight& sight, std::int64_t run_count);

}  // namespace dw::server
