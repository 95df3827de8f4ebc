#include "history/declarations.hpp"

#include "history/one_of_each.hpp"

#include <gtest/gtest.h>

namespace dw::history {
namespace {

TEST(Declarations, AreStoredAsShortAsTheyCanBe) {
  EXPECT_EQ(to_json(declarations_value(story::full_declarations())),
            R"({"queries":[{"name":"status","parameters":[]}],"signals":[{"name":"approve",)"
            R"("parameters":[{"name":"by","type":"string"},{"name":"note","type":"?string",)"
            R"("default":null},{"name":"tags","variadic":true,"allows_null":true}]},)"
            R"({"name":"anything"}],"updates":[{"name":"raise","parameters":[)"
            R"({"name":"amount","type":"int","default":5}]}]})");
  EXPECT_EQ(to_json(declarations_value({})), "{}");
}

TEST(Declarations, ReadBackAsTheyWere) {
  for (const auto& declared : {story::full_declarations(), Declarations{}}) {
    EXPECT_EQ(*declarations_from(declarations_value(declared)), declared);
  }
}

TEST(Declarations, RefuseDamage) {
  for (const char* text :
       {"1", "[]", R"({"riddles":[]})", R"({"signals":{}})", R"({"signals":[1]})",
        R"({"signals":[{}]})", R"({"signals":[{"name":1}]})",
        R"({"signals":[{"name":"a","surprise":1}]})",
        R"({"signals":[{"name":"a","parameters":[],"surprise":1}]})",
        R"({"signals":[{"name":"a","parameters":1}]})",
        R"({"signals":[{"name":"a","parameters":[1]}]})",
        R"({"signals":[{"name":"a","parameters":[{"type":"int"}]}]})",
        R"({"signals":[{"name":"a","parameters":[{"name":"b","type":1}]}]})",
        R"({"signals":[{"name":"a","parameters":[{"name":"b","variadic":"yes"}]}]})",
        R"({"signals":[{"name":"a","parameters":[{"name":"b","surprise":1}]}]})"}) {
    const auto read = declarations_from(parse_json(text).value());
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, ErrorCode::corrupt_history) << text;
  }
}

TEST(Declarations, ReadersGetEverythingSpelledOut) {
  EXPECT_EQ(to_json(contract_value({"approve", {{{.name = "tags", .variadic = true}}}})),
            R"({"name":"approve","parameters":[{"name":"tags","position":0,"required":false,)"
            R"("variadic":true,"default_available":false,"default":null,"type":"mixed",)"
            R"("allows_null":false}]})");
  EXPECT_EQ(to_json(contract_value({"anything"})), R"({"name":"anything","parameters":null})");
}

TEST(ContractValue, SpellsOutEveryParameter) {
  const Contract approve{"approve",
                         {{{.name = "customer", .type = "string"},
                           {.name = "amount", .type = "int", .default_value = 10},
                           {.name = "tags", .type = "string", .variadic = true}}}};
  EXPECT_EQ(to_json(contract_value(approve)),
            R"({"name":"approve","parameters":[)"
            R"({"name":"customer","position":0,"required":true,"variadic":false,)"
            R"("default_available":false,"default":null,"type":"string","allows_null":false},)"
            R"({"name":"amount","position":1,"required":false,"variadic":false,)"
            R"("default_available":true,"default":10,"type":"int","allows_null":false},)"
            R"({"name":"tags","position":2,"required":false,"variadic":true,)"
            R"("default_available":false,"default":null,"type":"string","allows_null":false}]})");
}

TEST(ContractValue, TellsNoContractFromNoParameters) {
  EXPECT_EQ(to_json(contract_value(Contract{"approve"})),
            R"({"name":"approve","parameters":null})");
  EXPECT_EQ(to_json(contract_value({"approve", std::vector<Parameter>{}})),
            R"({"name":"approve","parameters":[]})");
}

TEST(ContractValue, TellsADefaultOfNullFromNone) {
  const Parameter with{.name = "note", .default_value = Value{}, .allows_null = true};
  const auto value = contract_value({"approve", {{with}}});
  const auto& parameter = value.find("parameters")->if_array()->front();
  EXPECT_EQ(*parameter.find("default_available"), Value{true});
  EXPECT_EQ(*parameter.find("required"), Value{false});
  EXPECT_EQ(*parameter.find("allows_null"), Value{true});
}

TEST(Declarations, AllAreNamedButOnlySomeHaveAContract) {
  const auto signals = story::full_declarations().signals;
  EXPECT_EQ(to_json(declared_names(signals)), R"(["approve","anything"])");
  EXPECT_EQ(declared_contracts(signals).if_array()->size(), 1u);
}

}  // namespace
}  // namespace dw::history
