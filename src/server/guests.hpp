// Who is about to make something in a namespace. One that is to be removed lets nobody in any more
// and waits until they all have left: what they made is there to be seen by then, and keeps it.
#pragma once
#include <functional>
#include <memory>
#include <string_view>

namespace dw::server {

// A guest stays for as long as somebody holds it.
using Stay = std::shared_ptr<const void>;

// From any thread.
class Guests {
 public:
  Guests();
  ~Guests();  // whoever waits to be alone is told nothing any more
  Guests(const Guests&) = delete;
  Guests& operator=(const Guests&) = delete;

  // Null while the namespace lets nobody in.
  Stay enter(std::string_view ns);
  // From now on nobody gets in; `alone` is called once, perhaps before this returns, when nobody is
  // in any more. False, and never called, when somebody has closed it already.
  bool close(std::string_view ns, std::function<void()> alone);
  // Ends what close() began.
  void open(std::string_view ns);

 private:
  struct House;
  std::shared_ptr<House> house_;  // outlives us in guests who still stay
};

}  // namespace dw::server
