// What an update goes through before it is decided on: if it has a validator, a worker that has the
// code is asked first, and only what that approves goes on.
#pragma once
#include "engine/decide.hpp"
#include "server/update_validation.hpp"
#include "store/store.hpp"

namespace dw::server {

struct UpdateAdmissionParts {
  store::Store& store;
  Executor& reader;
  const Clock& clock;
  const DeclaredValidators& validators;
  UpdateValidations& validations;
};

class UpdateAdmission {
 public:
  using GoOn = std::function<void(engine::UpdateCommand command)>;

  explicit UpdateAdmission(UpdateAdmissionParts parts) : parts_(parts) {}

  // Goes on with the command, or replies why not. A command that a validator was asked about goes
  // on to the run whose history the validator saw, and to no other.
  void admit(const Call& call, engine::UpdateCommand command, GoOn go_on, Reply reply);

 private:
  void look(const Call& call, engine::UpdateCommand command, const GoOn& go_on, const Reply& reply);

  const UpdateAdmissionParts parts_;
};

// How a caller is told that an update was not accepted.
Answer validation_answer(const Call& call, const RunId& run, ValidationRefusal why);
// The same where the run that a command went on to has made way for another since its validator
// approved it; nothing where the outcome is a different one.
std::optional<Answer> stale_approval(const Call& call, const std::optional<RunId>& decided_on,
                                     const engine::CommandOutcome& outcome);

}  // namespace dw::server
