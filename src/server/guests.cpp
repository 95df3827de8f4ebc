#include "server/guests.hpp"

#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace dw::server {

struct Guests::House {
  struct Room {
    int guests = 0;
    bool closed = false;
    std::function<void()> alone = {};  // once nobody is in
  };

  void leave(std::string_view ns) {
    std::function<void()> alone;
    {
      const std::lock_guard lock{mutex};
      const auto room = rooms.find(ns);
      if (--room->second.guests > 0) return;
      alone = std::exchange(room->second.alone, nullptr);
      if (!room->second.closed) rooms.erase(room);
    }
    if (alone) alone();
  }

  std::mutex mutex;
  std::map<std::string, Room, std::less<>> rooms;  // guarded by mutex; those with guests or closed
};

Guests::Guests() : house_(std::make_shared<House>()) {}

Stay Guests::enter(std::string_view ns) {
  const std::lock_guard lock{house_->mutex};
  auto room = house_->rooms.find(ns);
  if (room == house_->rooms.end()) room = house_->rooms.emplace(ns, House::Room{}).first;
  if (room->second.closed) return {};
  room->second.guests += 1;
  // The name lives in the room, and the room for as long as the guest.
  return {&room->first, [house = house_](const std::string* name) { house->leave(*name); }};
}

bool Guests::close(std::string_view ns, std::function<void()> alone) {
  {
    const std::lock_guard lock{house_->mutex};
    House::Room& room = house_->rooms[std::string{ns}];
    if (std::exchange(room.closed, true)) return false;
    if (room.guests > 0) {
      room.alone = std::move(alone);
      return true;
    }
  }
  alone();
  return true;
}

void Guests::open(std::string_view ns) {
  const std::lock_guard lock{house_->mutex};
  const auto room = house_->rooms.find(ns);
  if (room == house_->rooms.end()) return;
  room->second.closed = false;
  if (room->second.guests == 0) house_->rooms.erase(room);
}

}  // namespace dw::server
