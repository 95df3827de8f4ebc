#include "child.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>

namespace dw::bench {

Child::Child(std::vector<std::string> command) {
  int in[2], out[2];
  if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) {
    throw std::runtime_error{"cannot make a pipe for " + command.front()};
  }
  std::vector<char*> arguments;
  for (std::string& argument : command) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  process_ = fork();
  if (process_ == 0) {
    dup2(in[0], STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    execv(arguments.front(), arguments.data());
    _exit(127);
  }
  close(in[0]);
  close(out[1]);
  input_ = in[1];
  output_ = out[0];
  if (process_ < 0) throw std::runtime_error{"cannot start " + command.front()};
}

Child::~Child() {
  close(input_);
  kill(process_, SIGTERM);
  waitpid(process_, nullptr, 0);
  close(output_);
}

std::string Child::read_line() {
  std::string line;
  char c = 0;
  while (read(output_, &c, 1) == 1) {
    if (c == '\n') return line;
    line += c;
  }
  throw std::runtime_error{"a process ended before it was ready: " + line};
}

std::string this_program() {
  return std::filesystem::read_symlink("/proc/self/exe").string();
}

}  // namespace dw::bench
