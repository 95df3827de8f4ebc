#include "main/samples.hpp"

#include "examples/order_saga.hpp"

namespace dw::app {
namespace {

const Signal<int> add{"add", {"amount"}};

class Tally {
 public:
  int handle(int goal) {
    goal_ = goal;
    while (total_ < goal_) {
      if (const auto amount = dw::await(add, std::chrono::hours{24})) total_ += *amount;
    }
    return total_;
  }
  int lower(int goal) {
    if (goal > goal_) throw std::invalid_argument{"a goal can only be lowered"};
    return goal_ = goal;
  }
  int total() const { return total_; }

 private:
  int goal_ = 0;
  int total_ = 0;
};

}  // namespace

void register_samples(Registry& registry) {
  shop::register_order_saga(registry);
  registry.workflow<Tally>("sample.tally")
      .signal(add)
      .query("total", &Tally::total)
      .update("lower", &Tally::lower, {"goal"});
}

}  // namespace dw::app
