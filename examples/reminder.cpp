// Reminds somebody to pay after 7, 21 and 30 days. A waiting workflow costs a row in the store and
// nothing else, and the program may be stopped for as long as it likes in between: what came due
// meanwhile happens at the next start.
//
//   reminder ann         days are days
//   reminder ann 1       days are seconds, for the impatient
#include <dw/dw.hpp>

#include <iostream>

void send_reminder(std::string customer, int day) {
  std::cout << "day " << day << ": dear " << customer << ", please remember our invoice"
            << std::endl;
}

// How long a day is was decided when the workflow was started. It is an argument, so every replay
// sees the same; a global or an environment variable might have changed since.
int remind(std::string customer, std::chrono::seconds day) {
  int today = 0;
  int sent = 0;
  for (const int due : {7, 21, 30}) {
    dw::sleep((due - today) * day);
    today = due;
    dw::activity(send_reminder, customer, due);
    ++sent;
  }
  return sent;
}

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: reminder CUSTOMER [SECONDS_PER_DAY]\n";
    return 2;
  }
  const std::string customer = argv[1];
  const std::chrono::seconds day{argc > 2 ? std::atoi(argv[2]) : 86'400};

  dw::Registry registry;
  registry.activity("reminder.send", send_reminder).tries(10);
  registry.workflow("reminder.remind", remind);

  dw::Engine engine{std::move(registry), {.store = "reminders.db"}};
  const dw::StartOptions once{.id = customer, .on_duplicate = dw::DuplicateStart::attach};
  const auto reminders = engine.start(remind, once, customer, day);
  std::cout << reminders.result() << " reminders sent to " << customer << std::endl;
}
