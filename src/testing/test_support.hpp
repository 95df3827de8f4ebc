// What the stories about the test kit are told with: a shop whose real services must not be called.
#pragma once
#include <dw/testing.hpp>

#include <stdexcept>

namespace dw::testing {

using namespace std::chrono_literals;
using days = std::chrono::duration<int, std::ratio<86'400>>;

struct Order {
  std::string customer;
  int cents = 0;
};
BOOST_DESCRIBE_STRUCT(Order, (), (customer, cents))

inline const Signal<std::string> approve{"approve", {"by"}};

struct CardDeclined : std::runtime_error {
  using std::runtime_error::runtime_error;
};

[[noreturn]] inline void called_for_real() {
  throw std::logic_error{"the real service was called"};
}
inline std::string reserve(Order) {
  called_for_real();
}
inline std::string charge(Order) {
  called_for_real();
}
inline std::string ship(Order, std::string) {
  called_for_real();
}
inline void release(std::string) {
  called_for_real();
}
inline void notify(std::string, std::string) {
  called_for_real();
}

inline std::string checkout(Order order) {
  const auto reservation = activity(reserve, order);
  try {
    const auto payment = activity(charge, order);
    sleep(24h);
    return activity(ship, order, payment);
  } catch (const CardDeclined& declined) {
    activity(release, reservation);
    activity(notify, order.customer, declined.what());
    return "undone";
  }
}

inline int remind(std::string customer) {
  int sent = 0;
  for (const int pause : {7, 14, 9}) {
    sleep(days{pause});
    activity(notify, customer, "please remember our invoice");
    ++sent;
  }
  return sent;
}

inline std::string wait_for_approval(std::string item) {
  return item + " approved by " + await(approve);
}

inline Registry shop() {
  Registry registry;
  registry.activity("shop.reserve", reserve).tries(5);
  registry.activity("shop.charge", charge).tries(3).backoff({10s, 60s});
  registry.activity("shop.ship", ship).tries(5);
  registry.activity("shop.release", release).tries(0);
  registry.activity("shop.notify", notify).tries(0);
  registry.exception<CardDeclined>("shop.card-declined");
  registry.workflow("shop.checkout", checkout);
  registry.workflow("shop.remind", remind);
  registry.workflow("shop.approval", wait_for_approval).signal(approve);
  return registry;
}

// Every service answers, and at once.
inline void stub_all(Environment& env) {
  env.stub(reserve, [] { return std::string{"reservation"}; });
  env.stub(charge, [] { return std::string{"payment"}; });
  env.stub(ship, [](const Order& order, const std::string& payment) {
    return "shipped to " + order.customer + " for " + payment;
  });
  env.stub(release, [] {});
  env.stub(notify, [] {});
}

inline std::vector<std::string> activities_called(const Environment& env) {
  std::vector<std::string> types;
  for (const Call& call : env.calls()) types.push_back(call.activity_type);
  return types;
}

}  // namespace dw::testing
