#include "examples/order_saga.hpp"

#include <thread>

namespace shop {
namespace {

using namespace std::chrono_literals;

// ---- activities: ordinary code that may block, fail and be tried again

// A real one would call another system here, with activity_info().idempotency_key in the request:
// the key is the same for every attempt, so that system can tell a retry from a second order.
std::string call_service(const std::string& what) {
  std::this_thread::sleep_for(service_delay);
  return what + "-" + dw::activity_info().idempotency_key.substr(20);
}

std::string reserve_stock(std::vector<Item> items) {
  for (const Item& item : items) {
    if (item.count < 1) throw dw::NonRetryableError("cannot reserve less than one " + item.sku);
  }
  return call_service("reservation");
}

std::string charge_card(std::string /*customer*/, int /*cents*/) {
  return call_service("payment");
}

std::string ship(std::string address, std::string /*reservation*/) {
  const auto tracking_code = call_service("parcel");
  if (address == "nowhere") throw dw::NonRetryableError("no carrier delivers to nowhere");
  return tracking_code;
}

void send_confirmation(std::string /*customer*/, std::string /*tracking_code*/) {
  call_service("mail");
}

void refund(std::string /*payment*/) {
  call_service("refund");
}
void release_stock(std::string /*reservation*/) {
  call_service("release");
}

}  // namespace

// ---- the workflow: what happens in which order, and what if not

OrderOutcome place_order(Order order) {
  const auto reservation = dw::activity(reserve_stock, order.items);
  std::string payment;
  try {
    payment = dw::activity(charge_card, order.customer, order.total_cents);
    dw::sleep(1s);  // customers change their minds right after paying, if ever
    const auto tracking_code = dw::activity(ship, order.address, reservation);
    dw::activity(send_confirmation, order.customer, tracking_code);
    return {OrderStatus::shipped, tracking_code, {}};
  } catch (const dw::ActivityError& error) {
    // Steps like any other: should the process end between them, the rest is still undone.
    if (!payment.empty()) dw::activity(refund, payment);
    dw::activity(release_stock, reservation);
    return {OrderStatus::undone, {}, error.message()};
  }
}

void register_order_saga(dw::Registry& registry) {
  registry.activity("shop.reserve_stock", reserve_stock).tries(5);
  registry.activity("shop.charge_card", charge_card).tries(3);
  registry.activity("shop.ship", ship).tries(5);
  registry.activity("shop.send_confirmation", send_confirmation).tries(5);
  registry.activity("shop.refund", refund).tries(0);  // money is given back, however long it takes
  registry.activity("shop.release_stock", release_stock).tries(0);
  registry.workflow("shop.place_order", place_order);
}

}  // namespace shop
