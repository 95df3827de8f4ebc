// Which line of the workflow called the step that went wrong, as far as the program's debug
// information knows. For reports; nothing may depend on it.
#pragma once
#include <memory>
#include <string>

namespace dw::runtime {

class SourcePlace {
 public:
  // The calls that led here, as addresses: cheap enough for a fiber's small stack.
  static SourcePlace here();

  // "checkout.cpp:42 in checkout(Order)", or nothing. Reads debug information: not on a fiber.
  std::string text() const;

 private:
  struct Calls;
  explicit SourcePlace(std::shared_ptr<const Calls> calls);
  std::shared_ptr<const Calls> calls_;
};

}  // namespace dw::runtime
