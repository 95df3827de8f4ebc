// What went wrong in a run, one row for each failure that was raised.
#pragma once
#include "views/account.hpp"
#include "views/sight.hpp"

namespace dw::views {

struct FailureRow {
  FailureAccount failure;
  Authority authority;
};

// As they happened; what is known only from a row comes last.
std::vector<FailureRow> failure_rows(const Account& account, const ForeignRows& foreign = {});

Value to_value(const FailureRow& row);
// What was thrown; properties by name where somebody here can read them.
Value exception_value(const history::Failure& failure);

}  // namespace dw::views
