#include <dw/testing.hpp>

#include <iostream>
#include <string>

using namespace std::chrono_literals;

std::string greet(std::string name) {
  return "Hello, " + name + "!";
}

std::string patient_hello(std::string name) {
  dw::sleep(720h);
  return dw::activity(greet, name);
}

int main() {
  dw::Registry registry;
  registry.activity("greet", greet);
  registry.workflow("hello", patient_hello);
  dw::testing::Environment env{std::move(registry)};
  env.stub(greet, [](const std::string& name) { return "stubbed " + name; });
  const auto greeting = env.start(patient_hello, "embedder").result();
  std::cout << greeting << '\n';
  return greeting == "stubbed embedder" ? 0 : 1;
}
