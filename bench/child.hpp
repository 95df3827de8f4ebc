// A process of ours that ends with this one.
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

namespace dw::bench {

class Child {
 public:
  // Its standard output can be read line by line; its standard input ends when this does.
  explicit Child(std::vector<std::string> command);
  ~Child();  // SIGTERM, and waits
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  int process() const { return process_; }
  // Throws std::runtime_error when it ended instead.
  std::string read_line();

 private:
  pid_t process_ = -1;
  int input_ = -1;
  int output_ = -1;
};

// The program that runs now.
std::string this_program();

}  // namespace dw::bench
