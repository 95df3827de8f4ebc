// Places two orders: one arrives, one cannot be delivered and is undone.
#include "examples/order_saga.hpp"

#include <dw/testing.hpp>

#include <iostream>

int main(int argc, char** argv) {
  dw::Registry registry;
  shop::register_order_saga(registry);
  if (const auto code = dw::testing::answer_replay(argc, argv, registry)) return *code;
  dw::Engine engine{std::move(registry), {.store = "orders.db"}};

  const shop::Order good{
      "ada", "12 Analytical Street", {{"engine", 1}, {"card deck", 40}}, 129'900};
  const shop::Order bad{"charles", "nowhere", {{"difference", 2}}, 5'000};
  // Both are under way before we wait for either.
  const auto first = engine.start(shop::place_order, good);
  const auto second = engine.start(shop::place_order, bad);

  for (const auto& order : {first, second}) {
    const auto outcome = order.result();
    if (outcome.status == shop::OrderStatus::shipped) {
      std::cout << order.id() << " shipped as " << outcome.tracking_code << std::endl;
    } else {
      std::cout << order.id() << " undone: " << outcome.reason << std::endl;
    }
  }
}
