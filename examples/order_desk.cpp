// Takes an order and tells what became of it. Where the workflow runs is one line of main().
//
//   order_desk                         in this process, with its store in orders.db
//   order_desk http://127.0.0.1:8080   on a server
#include "examples/order_saga.hpp"

#include <dw/client.hpp>

#include <iostream>

// Does not know where workflows run: an Engine and a Client are both dw::Workflows.
void take_order(dw::Workflows& workflows) {
  const shop::Order order{"ada", "12 Analytical Street", {{"engine", 1}}, 129'900};
  const dw::StartOptions once{.id = "order-42", .on_duplicate = dw::DuplicateStart::attach};
  const auto placed = workflows.start(shop::place_order, once, order);
  std::cout << placed.id() << " shipped as " << placed.result().tracking_code << std::endl;
}

int main(int argc, char** argv) {
  dw::Registry registry;
  shop::register_order_saga(registry);
  if (argc > 1) {
    dw::Client client{std::move(registry), {.server = argv[1]}};
    take_order(client);
  } else {
    dw::Engine engine{std::move(registry), {.store = "orders.db"}};
    take_order(engine);
  }
}
