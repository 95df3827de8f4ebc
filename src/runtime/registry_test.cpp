#include <gmock/gmock.h>
#include <dw/registry.hpp>

namespace dw {
namespace {

using ::testing::HasSubstr;
using ::testing::Property;
using ::testing::Throws;

int sync_invoice(int n) {
  return n;
}
int other_invoice(int n) {
  return n;
}

struct InvoiceSync {
  static constexpr std::string_view type = "billing.invoice-sync";
  int handle(int n) { return n; }
};

template <typename F>
std::string freeze_error(F&& fill) {
  Registry registry;
  fill(registry);
  try {
    registry.freeze();
  } catch (const UsageError& e) {
    return e.what();
  }
  return "";
}

TEST(Registry, OneImplementationUnderTwoKeysIsRefused) {  // proves: E-14, E-188
  EXPECT_THAT(freeze_error([](Registry& r) {
                r.workflow("billing.sync", sync_invoice);
                r.workflow("invoices.sync", sync_invoice);
              }),
              HasSubstr("two keys, 'billing.sync' and 'invoices.sync'"));
  EXPECT_THAT(freeze_error([](Registry& r) {
                r.activity("a", sync_invoice);
                r.activity("b", sync_invoice);
              }),
              HasSubstr("two keys"));
}

TEST(Registry, AKeyInCodeMustAgreeWithTheOneGiven) {  // proves: E-188
  EXPECT_THAT(freeze_error([](Registry& r) { r.workflow<InvoiceSync>("invoices.sync"); }),
              HasSubstr("'billing.invoice-sync'"));
  EXPECT_EQ(freeze_error([](Registry& r) { r.workflow<InvoiceSync>("billing.invoice-sync"); }), "");
  EXPECT_EQ(freeze_error([](Registry& r) { r.workflow<InvoiceSync>(); }), "");
}

TEST(Registry, TwoImplementationsMayNotShareAKey) {
  EXPECT_THAT(freeze_error([](Registry& r) {
                r.workflow("billing.sync", sync_invoice);
                r.workflow("billing.sync", other_invoice);
              }),
              HasSubstr("share the key 'billing.sync'"));
}

TEST(Registry, TheTypeThatHostsActivitiesIsNobodys) {
  EXPECT_THAT(freeze_error([](Registry& r) { r.workflow("dw.standalone_activity", sync_invoice); }),
              HasSubstr("reserved for activities that stand alone"));
  EXPECT_EQ(freeze_error([](Registry& r) { r.activity("dw.standalone_activity", sync_invoice); }),
            "");
}

TEST(Registry, EveryConflictIsNamedAtOnce) {
  const auto message = freeze_error([](Registry& r) {
    r.workflow("", sync_invoice);
    r.activity("a", sync_invoice).tries(3);
    r.activity("b", sync_invoice).tries(3);
  });
  EXPECT_THAT(message, HasSubstr("no type key"));
  EXPECT_THAT(message, HasSubstr("two keys"));
}

TEST(Registry, WorkflowsAndActivitiesHaveNamesOfTheirOwn) {
  EXPECT_EQ(freeze_error([](Registry& r) {
              r.workflow("sync", sync_invoice);
              r.activity("sync", sync_invoice);
            }),
            "");
}

TEST(Registry, NothingIsRegisteredAfterFreezing) {
  Registry registry;
  registry.freeze();
  EXPECT_THROW(registry.workflow("late", sync_invoice), UsageError);
}

TEST(Registry, ArgumentsAreCheckedAgainstWhatTheWorkflowTakes) {
  Registry registry;
  registry.workflow("sync", sync_invoice);
  registry.freeze();
  const auto* definition = registry.find_workflow("sync");
  ASSERT_NE(definition, nullptr);
  EXPECT_TRUE(definition->check_arguments(detail::arguments_of(1)));
  EXPECT_FALSE(definition->check_arguments(detail::arguments_of("one")));
  EXPECT_FALSE(definition->check_arguments(detail::arguments_of(1, 2)));
}

}  // namespace
}  // namespace dw
