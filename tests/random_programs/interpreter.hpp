// Runs a program as a workflow, through the authoring API that everybody uses, and tells what it
// saw. Two runs that saw the same tell the same.
#pragma once
#include "program.hpp"

#include <dw/dw.hpp>

namespace dw::random_programs {

inline const Signal<int> bell{"bell", {"number"}};      // from the client
inline const Signal<int> letter{"letter", {"number"}};  // from an activity, or the client
inline const Signal<int> word{"word", {"number"}};      // from the parent

struct Mishap : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Throws as a Refusal says.
[[noreturn]] void refuse(int refusal, const std::string& text);

// ---- activities; told.cpp stubs them

std::string echo(std::string text);
std::string flaky(std::string text, int failures);
std::string refused(std::string text, int refusal);
std::string overdue(std::string text);
std::string post(std::string instance, std::string signal, int number);
std::string deposit(std::string instance, int amount);
// "same" as long as a place always comes with the same secret.
std::string check(std::string place, std::string secret);
// Rings the bell of a workflow, as often as it is called.
void careless(std::string instance);

// ---- the workflow

struct Job {
  std::vector<Statement> body;
  bool patient = false;
  std::string parent = {};  // instance id
  std::string tale = {};    // of the runs before
  int balance = 0;
};
BOOST_DESCRIBE_STRUCT(Job, (), (body, patient, parent, tale, balance))

class Interpreter {
 public:
  std::string handle(Job job);
  int add(int amount);  // update "deposit"
  std::string tale() const { return tale_; }

 private:
  void run(const std::vector<Statement>& body);
  void run(const Statement& statement);
  void say(const Statement& statement, const std::string& what);
  void work(const Statement& statement);
  void effect(const Statement& statement);
  void all(const Statement& statement);
  void hear(const Statement& statement);
  void until(const Statement& statement);
  void saga(const Statement& statement);
  void whisper(const Statement& statement);
  [[noreturn]] void again(const Statement& statement);
  void cheat(const Statement& statement);
  Job job_for(const Statement& child) const;
  ActivityOptions options_for(const Statement& statement) const;
  Call<std::string> call_of(const Statement& member) const;

  bool patient_ = false;
  std::string parent_;
  std::string tale_;
  int balance_ = 0;
};

// Children of a barrier, and pieces of code for dw::async.
std::string branch(Job job);
std::string piece(Job job);

Registry registry();

// What changes whenever it is asked, as a clock or a counter of the process would: 1, 2, 3, …
int outside();
void reset_outside();

}  // namespace dw::random_programs
