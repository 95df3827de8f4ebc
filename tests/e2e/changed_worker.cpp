// The next build of the order workflow, by somebody who charges the card before anything else.
#include "examples/order_saga.hpp"

#include <dw/testing.hpp>

namespace {

void charge_first(std::string, int) {}

shop::OrderOutcome hasty_order(shop::Order order) {
  dw::activity(charge_first, order.customer, order.total_cents);
  return {shop::OrderStatus::shipped, "none", ""};
}

}  // namespace

int main(int argc, char** argv) {
  dw::Registry registry;
  registry.activity("shop.charge_first", charge_first);
  registry.workflow("shop.place_order", hasty_order);
  return dw::testing::answer_replay(argc, argv, registry).value_or(2);
}
