// An order, from the shelf to the door: reserve the stock, charge the card, ship the parcel. When a
// step fails for good, what was done before it is undone.
#pragma once
#include <dw/dw.hpp>

#include <boost/describe.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace shop {

struct Item {
  std::string sku;
  int count = 0;
};
BOOST_DESCRIBE_STRUCT(Item, (), (sku, count))

struct Order {
  std::string customer;
  std::string address;
  std::vector<Item> items;
  int total_cents = 0;
};
BOOST_DESCRIBE_STRUCT(Order, (), (customer, address, items, total_cents))

BOOST_DEFINE_ENUM_CLASS(OrderStatus, shipped, undone)

struct OrderOutcome {
  OrderStatus status = OrderStatus::undone;
  std::string tracking_code;  // of a shipped order
  std::string reason;         // why it was undone
};
BOOST_DESCRIBE_STRUCT(OrderOutcome, (), (status, tracking_code, reason))

OrderOutcome place_order(Order order);

// Everything above under its durable keys.
void register_order_saga(dw::Registry& registry);

// How long our pretended services think before they answer.
inline std::chrono::milliseconds service_delay{0};

}  // namespace shop
