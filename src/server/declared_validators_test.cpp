// Who has a validator is known from those who said so, also when they are gone.
#include "server/declared_validators.hpp"

#include "machine/scheduler.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace dw::server {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const Namespace cafe{"cafe"};

class KnowingValidators : public ::testing::Test {
 protected:
  // How a worker registers, where a story does not say.
  struct Enlisted {
    std::string queue = "orders";
    std::string type = "order";
    std::string validators = R"(["rename"])";
    std::string capabilities = R"(["update_validation_tasks"])";
    std::string build = {};
    bool contract = true;
  };

  // What had to be kept for it.
  std::vector<store::Document> enlist(const std::string& id, const Enlisted& said) {
    Call call;
    call.ns = cafe;
    const auto contract =
        fmt::format(R"({{"{}":{{"updates":["rename","touch"],"update_validators":{}}}}})",
                    said.type, said.validators);
    call.body = *parse_json(fmt::format(
                                R"({{"worker_id":"{}","task_queue":"{}","runtime":"python",
                "build_id":"{}","supported_workflow_types":["{}"],"capabilities":{},
                "workflow_command_contracts":{}}})",
                                id, said.queue, said.build, said.type, said.capabilities,
                                said.contract ? contract : "{}"))
                     ->if_map();
    EXPECT_EQ(workers.register_worker(call, id).status, 201);
    auto documents = validators.note(*workers.find(cafe, id));
    for (const auto& document : documents) kept[document.id] = document;
    return documents;
  }
  void enlist(const std::string& id) { enlist(id, Enlisted{}); }
  void leave(const std::string& id) {
    Call call;
    call.ns = cafe;
    call.match.captured.emplace_back("worker", id);
    EXPECT_EQ(workers.remove(call).status, 200);
  }
  static ValidationTarget target(std::string name = "rename", std::string compatibility = {}) {
    return {cafe, "orders", "order", std::move(compatibility), std::move(name)};
  }
  // Why nobody could approve it, and whether to try again; "" when somebody can.
  std::string trouble(const ValidationTarget& wanted) const {
    const auto refusal = validators.refusal_of(wanted);
    if (!refusal) return "";
    EXPECT_EQ(refusal->status, 409);
    EXPECT_FALSE(refusal->message.empty());
    return refusal->reason + (refusal->retryable ? " (retryable)" : "");
  }
  std::string trouble() const { return trouble(target()); }

  machine::SimClock clock{*parse_timestamp("2026-04-22T09:45:00.000000Z")};
  Workers workers{clock};
  DeclaredValidators validators{workers};
  std::map<std::string, store::Document> kept;
};

// ---- which updates have one

TEST_F(KnowingValidators, AnUpdateHasOneWhereItsWorkersSaySo) {
  EXPECT_FALSE(validators.anywhere(cafe, "rename"));
  enlist("w-1");
  EXPECT_TRUE(validators.anywhere(cafe, "rename"));
  EXPECT_FALSE(validators.anywhere(Namespace{"other"}, "rename"));
  EXPECT_FALSE(validators.anywhere(cafe, "touch"));
  EXPECT_TRUE(validators.required(target()));
  EXPECT_FALSE(validators.required(target("touch")));
  EXPECT_FALSE(validators.required({cafe, "billing", "order", {}, "rename"}));
  EXPECT_FALSE(validators.required({cafe, "orders", "refund", {}, "rename"}));
}

TEST_F(KnowingValidators, AWorkersWordOutlivesItAndTheServer) {
  enlist("w-1");
  leave("w-1");
  EXPECT_TRUE(validators.required(target())) << "nobody is there who would know better";

  DeclaredValidators restarted{workers};
  std::vector<store::Document> documents;
  for (const auto& [id, document] : kept) documents.push_back(document);
  restarted.restore(documents);
  EXPECT_TRUE(restarted.anywhere(cafe, "rename"));
  EXPECT_TRUE(restarted.required(target()));
  EXPECT_FALSE(restarted.required(target("touch")));
}

TEST_F(KnowingValidators, ANamespaceThatLeftLeavesNothingToTheNextOfItsName) {
  enlist("w-1");
  leave("w-1");
  validators.forget(Namespace{"other"});
  EXPECT_TRUE(validators.required(target()));
  validators.forget(cafe);
  EXPECT_FALSE(validators.required(target()));
  EXPECT_FALSE(validators.anywhere(cafe, "rename"));
}

TEST_F(KnowingValidators, WhatCannotBeReadIsLeftOut) {
  validators.restore(std::vector<store::Document>{
      {std::string{update_validators_kind}, cafe, "a", "[{]"},
      {std::string{update_validators_kind}, cafe, "b", R"({"builds":[]})"},
      {std::string{update_validators_kind}, cafe, "c", R"({"builds":3})"}});
  EXPECT_FALSE(validators.required(target()));
}

TEST_F(KnowingValidators, OnlyWhatChangesIsKeptAndOnlyOfTypesThatHaveThem) {
  EXPECT_THAT(enlist("w-0", {.validators = "[]"}), IsEmpty());
  EXPECT_EQ(enlist("w-1", {}).size(), 1u);
  EXPECT_THAT(enlist("w-2", {}), IsEmpty()) << "another one of the same build";
  EXPECT_EQ(enlist("w-1", {.validators = "[]"}).size(), 1u) << "the code has changed";
  leave("w-1");
  EXPECT_TRUE(validators.required(target())) << "w-2 still has it";
  leave("w-2");
  leave("w-0");
  EXPECT_FALSE(validators.required(target())) << "the last word was that there is none";
}

TEST_F(KnowingValidators, CodeThatIsAliveIsBelievedBeforeCodeThatWas) {
  enlist("w-1");
  leave("w-1");
  enlist("w-2", {.validators = "[]"});
  EXPECT_FALSE(validators.required(target())) << "whoever runs the update has no validator for it";
  enlist("w-3", {.queue = "billing"});
  enlist("w-4", {.type = "refund"});
  EXPECT_FALSE(validators.required(target())) << "these run others";
  enlist("w-5");
  EXPECT_TRUE(validators.required(target())) << "one that has it is enough";
}

TEST_F(KnowingValidators, ARunThatIsPinnedListensToItsBuild) {
  enlist("w-1", {.build = "v1"});
  enlist("w-2", {.validators = "[]", .build = "v2"});
  EXPECT_TRUE(validators.required(target("rename", "v1")));
  EXPECT_FALSE(validators.required(target("rename", "v2")));
  leave("w-1");
  leave("w-2");
  EXPECT_TRUE(validators.required(target("rename", "v1")));
  EXPECT_FALSE(validators.required(target("rename", "v2")));
  EXPECT_FALSE(validators.required(target("rename", "v3"))) << "never heard of";
  EXPECT_FALSE(validators.required(target())) << "v2 came last";
}

TEST_F(KnowingValidators, OldBuildsAreForgottenInTheEnd) {
  for (int i = 0; i < 20; ++i) {
    enlist(fmt::format("w-{}", i), {.build = fmt::format("v{}", i)});
    leave(fmt::format("w-{}", i));
  }
  EXPECT_TRUE(validators.required(target("rename", "v19")));
  EXPECT_TRUE(validators.required(target("rename", "v4")));
  EXPECT_FALSE(validators.required(target("rename", "v3")));
}

// ---- who could approve

TEST_F(KnowingValidators, SomebodyWhoHasTheValidatorCanApprove) {
  enlist("w-1");
  EXPECT_EQ(trouble(), "");
  clock.set(clock.now() + 180s);
  EXPECT_EQ(trouble(), "update_validator_worker_unavailable (retryable)") << "not heard of since";
}

TEST_F(KnowingValidators, TheReasonSaysWhatIsMissing) {
  EXPECT_EQ(trouble(), "update_validator_worker_unavailable (retryable)");
  enlist("other-type", {.type = "refund"});
  enlist("other-queue", {.queue = "billing"});
  EXPECT_EQ(trouble(), "update_validator_worker_unavailable (retryable)");
  enlist("w-1", {.capabilities = R"(["query_tasks"])"});
  EXPECT_EQ(trouble(), "update_validation_capability_unsupported");
  enlist("w-2", {.contract = false});
  EXPECT_EQ(trouble(), "update_validator_contract_missing");
  enlist("w-3", {.validators = R"(["touch"])"});
  EXPECT_EQ(trouble(), "update_validator_worker_incompatible");
  enlist("w-4", {.build = "v2"});
  EXPECT_EQ(trouble(target("rename", "v1")), "update_validator_worker_incompatible");
  EXPECT_EQ(trouble(), "");
}

TEST_F(KnowingValidators, AWorkerAsksForItsOwnValidatorsAndNothingElse) {
  enlist("w-1", {.validators = R"(["rename","touch"])"});
  const auto poll = validation_poll_of(*workers.find(cafe, "w-1"));
  EXPECT_EQ(poll.kind, WorkKind::update_validation);
  EXPECT_FALSE(poll.any_type);
  EXPECT_THAT(poll.types,
              ElementsAre(validator_key("order", "rename"), validator_key("order", "touch")));
  enlist("w-2", {.capabilities = "[]"});
  EXPECT_THAT(validation_poll_of(*workers.find(cafe, "w-2")).types, IsEmpty());
}

}  // namespace
}  // namespace dw::server
