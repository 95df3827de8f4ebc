#include "history/events.hpp"

namespace dw::history {

EventBody::EventBody() = default;
EventBody::EventBody(const EventBody& other) = default;
EventBody::EventBody(EventBody&& other) noexcept = default;
EventBody& EventBody::operator=(const EventBody& other) = default;
EventBody& EventBody::operator=(EventBody&& other) noexcept = default;
EventBody::~EventBody() = default;

bool operator==(const EventBody& left, const EventBody& right) {
  return static_cast<const AnyEvent&>(left) == static_cast<const AnyEvent&>(right);
}

}  // namespace dw::history
