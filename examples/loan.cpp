// A loan, from application to the last instalment: checks side by side, a person's decision that
// may take days, money in through updates, questions at any time, and a fresh history every year.
#include <dw/dw.hpp>

#include <iostream>
#include <thread>

using namespace std::chrono_literals;

struct Application {
  std::string customer;
  int amount = 0;
};
BOOST_DESCRIBE_STRUCT(Application, (), (customer, amount))

int ask_credit_bureau(std::string customer) {
  return customer == "mallory" ? 310 : 720;
}
bool find_in_registry(std::string) {
  return true;
}
void pay_out(std::string customer, int amount) {
  std::cout << "paid out " << amount << " to " << customer << std::endl;
}

std::string write_receipt(std::string customer) {
  return "repaid by " + customer;
}

// What a bank clerk sends, and what it carries.
inline const dw::Signal<bool, std::string> decide{"decide", {"approved", "clerk"}};

// A workflow of its own: it has a history of its own, and whoever needs a check may ask for one.
bool check(std::string customer) {
  const auto [score, known] =
      dw::all(dw::call(ask_credit_bureau, customer), dw::call(find_in_registry, customer));
  return known && score >= 500;
}

// A workflow with state: what it owes. Updates change it, queries ask for it, the code waits for
// it.
class Loan {
 public:
  std::string handle(Application application) {
    if (!dw::child(check, application.customer)) return "declined: credit";

    stage_ = "waiting for a clerk";
    const auto decision = dw::await(decide, 72h);
    if (!decision) return "declined: nobody decided in time";
    const auto& [approved, clerk] = *decision;
    if (!approved) return "declined by " + clerk;

    dw::activity(pay_out, {.max_attempts = 5, .start_to_close = 30s}, application.customer,
                 application.amount);
    owed_ = application.amount;
    stage_ = "being repaid";
    dw::await([&] { return owed_ <= 0; }, {.key = "repaid"});
    stage_ = "repaid";
    return dw::local_activity(write_receipt, application.customer);
  }

  int repay(int amount) {
    if (amount <= 0) throw std::invalid_argument{"an instalment is a positive amount"};
    return owed_ -= amount;
  }
  std::string stage() const { return stage_; }
  int owed() const { return owed_; }

 private:
  std::string stage_ = "being checked";
  int owed_ = 0;
};

int main() {
  dw::Registry registry;
  registry.activity("bank.credit", ask_credit_bureau);
  registry.activity("bank.registry", find_in_registry);
  registry.activity("bank.pay-out", pay_out);
  registry.activity("bank.receipt", write_receipt);
  registry.workflow("bank.check", check);
  registry.workflow<Loan>("bank.loan")
      .signal(decide)
      .query("stage", &Loan::stage)
      .query("owed", &Loan::owed)
      .update("repay", &Loan::repay, {"amount"});

  dw::Engine engine{std::move(registry), {.store = "bank.db"}};

  auto loan = engine.start<Loan>({.business_key = "ann"}, Application{"ann", 300});
  loan.signal(decide, true, "bob");
  while (loan.query<int>("owed") == 0) std::this_thread::yield();  // the clerk's word is on its way
  std::cout << "owed after 100: " << loan.update<int>("repay", 100) << std::endl;
  try {
    loan.update<int>("repay", -5);
  } catch (const dw::UpdateError& error) {
    std::cout << error.what() << std::endl;
  }
  loan.update<int>("repay", 200);
  std::cout << loan.result() << std::endl;

  auto refused = engine.start<Loan>({.business_key = "mallory"}, Application{"mallory", 900});
  std::cout << refused.result() << std::endl;
}
