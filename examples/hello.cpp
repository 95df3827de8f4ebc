// The smallest durable program. Kill it while it sleeps and start it again: it wakes up on time,
// greets nobody twice, and once it is done every further start prints the result it recorded.
#include <dw/dw.hpp>

#include <iostream>

using namespace std::chrono_literals;

std::string greet(std::string name) {
  std::cout << "greeting " << name << " …" << std::endl;
  return "Hello, " + name + "!";
}

std::string hello(std::string name) {
  const auto greeting = dw::activity(greet, name);
  dw::sleep(3s);
  return greeting + " It was worth the wait.";
}

int main() {
  dw::Registry registry;
  registry.activity("greet", greet);
  registry.workflow("hello", hello);

  dw::Engine engine{std::move(registry), {.store = "hello.db"}};
  const dw::StartOptions once{.id = "hello-world", .on_duplicate = dw::DuplicateStart::attach};
  std::cout << engine.start(hello, once, "world").result() << std::endl;
}
