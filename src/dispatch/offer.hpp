// Work that nobody in this process can do: workflow code or an activity whose type is registered
// elsewhere. Whoever can, claims it; until then it stays in the task table.
#pragma once
#include "dispatch/requests.hpp"

namespace dw::dispatch {

struct Offer {
  RunAddress run;
  engine::TaskKey task;
  ActivityId activity;  // empty: code of the workflow
  std::string type;     // of the activity, or of the workflow
  std::string queue;
  std::string compatibility = {};  // marker of the builds that may take it; empty: any
  history::Precedence precedence = {};
};

// Where offers go. May be called from any thread, and more than once for the same task.
class OfferListener {
 public:
  virtual ~OfferListener() = default;
  virtual void offered(Offer offer) = 0;
};

}  // namespace dw::dispatch
