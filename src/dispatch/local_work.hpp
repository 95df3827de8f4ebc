// Which work this process takes. What it leaves stays in the task table, untouched, for whoever
// does.
#pragma once
#include "engine/compatibility.hpp"

#include <string_view>

namespace dw::dispatch {

struct LocalWork {
  engine::Compatibility compatibility = {};
  bool claims = true;  // false: others look for workflow and activity tasks, this one never does

  bool takes(std::string_view marker) const { return claims && compatibility.supports(marker); }
};

}  // namespace dw::dispatch
