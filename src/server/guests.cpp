#include "server/guests.hpp"

#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

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

Guests::~Guests() {
  std::vector<std::function<void()>> untold;  // they end where nothing is locked
  const std::lock_guard lock{house_->mutex};
  for (auto& [name, room] : house_->rooms) untold.push_back(std::exchange(room.alone, nullptr));
}

Stay Guests::enter(std::string_view ns) {
  struct Guest {
    std::shared_ptr<House> house;
    std::string ns;
    bool inside = false;
    ~Guest() {
      if (inside) house->leave(ns);
    }
  };
  auto guest = std::make_shared<Guest>(Guest{house_, std::string{ns}});
  const std::lock_guard lock{house_->mutex};
  House::Room& room = house_->rooms[guest->ns];
  if (room.closed) return {};
  room.guests += 1;
  guest->inside = true;
  return guest;
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
