#include <dw/dw.hpp>

#include <iostream>
#include <string>

std::string greet(std::string name) {
  return "Hello, " + name + "!";
}

std::string hello(std::string name) {
  return dw::activity(greet, name);
}

int main() {
  dw::Registry registry;
  registry.activity("greet", greet);
  registry.workflow("hello", hello);
  dw::Engine engine{std::move(registry), {.store = ":memory:"}};
  const auto greeting = engine.start(hello, "embedder").result();
  std::cout << greeting << '\n';
  return greeting == "Hello, embedder!" ? 0 : 1;
}
