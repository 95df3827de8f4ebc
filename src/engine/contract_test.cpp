#include "engine/contract.hpp"

#include "core/arbitrary_value.hpp"
#include "core/sha256.hpp"
#include "history/declarations.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

namespace dw::engine {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Value json(std::string_view text) {
  auto value = parse_json(text);
  EXPECT_TRUE(value.has_value()) << text;
  return *std::move(value);
}

// What came of it, as one line of JSON: the bound list, or the errors by field.
std::string bound(const Contract& contract, std::string_view arguments) {
  auto result = bind_arguments(contract, json(arguments));
  if (result.ok()) return to_json(result.arguments);
  EXPECT_TRUE(result.arguments.empty()) << "refused arguments must not be used";
  Value::Map fields;
  for (const auto& [field, messages] : result.errors) {
    fields.emplace_back(field, Value::Array(messages.begin(), messages.end()));
  }
  return to_json(fields);
}

Contract takes(std::vector<Parameter> parameters) {
  return {.name = "approve", .parameters = std::move(parameters)};
}
Contract takes_type(std::string type) {
  return takes({{.name = "it", .type = std::move(type)}});
}
Contract without_contract() {
  return {.name = "approve"};
}

// approve(string customer, int amount = 10, string ...tags)
Contract approve() {
  return takes({{.name = "customer", .type = "string"},
                {.name = "amount", .type = "int", .default_value = 10},
                {.name = "tags", .type = "string", .variadic = true}});
}

// ---- binding

// proves: E-18
TEST(BindArguments, AListBindsByPosition) {
  EXPECT_EQ(bound(approve(), R"(["ann",3,"new","eu"])"), R"(["ann",3,"new","eu"])");
}

// proves: E-18
TEST(BindArguments, AMapBindsByNameAndComesOutInDeclarationOrder) {
  EXPECT_EQ(bound(approve(), R"({"tags":["new","eu"],"amount":3,"customer":"ann"})"),
            R"(["ann",3,"new","eu"])");
}

// proves: E-18
TEST(BindArguments, WhatMayBeLeftOutIsFilledInEitherWay) {
  EXPECT_EQ(bound(approve(), R"(["ann"])"), R"(["ann",10])");
  EXPECT_EQ(bound(approve(), R"({"customer":"ann"})"), R"(["ann",10])");
  // By name, a later parameter is reached over one that was left out.
  EXPECT_EQ(bound(approve(), R"({"customer":"ann","tags":["new"]})"), R"(["ann",10,"new"])");
}

// proves: E-18
TEST(BindArguments, ASingleValueWillDoForANamedVariadic) {
  EXPECT_EQ(bound(approve(), R"({"customer":"ann","tags":"new"})"), R"(["ann",10,"new"])");
  EXPECT_EQ(bound(approve(), R"({"customer":"ann","tags":[]})"), R"(["ann",10])");
}

TEST(BindArguments, NullIsTheEmptyList) {
  EXPECT_EQ(bound(takes({}), "null"), "[]");
  EXPECT_EQ(bound(without_contract(), "null"), "[]");
  EXPECT_EQ(bound(takes({{.name = "amount", .type = "int", .default_value = 10}}), "null"), "[10]");
}

// proves: E-37
// proves: E-78
TEST(BindArguments, AMissingArgumentIsNamed) {
  constexpr auto missing = R"({"customer":["required: expected string, got nothing"]})";
  EXPECT_EQ(bound(approve(), "[]"), missing);
  EXPECT_EQ(bound(approve(), R"({"amount":3})"), missing);
}

// proves: E-37
// proves: E-78
TEST(BindArguments, AnUnknownNameIsRefusedUnderThatName) {
  EXPECT_EQ(bound(approve(), R"({"customer":"ann","colour":"red"})"),
            R"({"colour":["unknown argument: expected none of this name, got string"]})");
}

// proves: E-37
// proves: E-78
TEST(BindArguments, AnotherTypeIsRefusedUnderTheParameter) {
  EXPECT_EQ(bound(approve(), R"([7,"three"])"),
            R"({"customer":["expected string, got int"],"amount":["expected int, got string"]})");
  EXPECT_EQ(bound(approve(), R"({"customer":[],"amount":1.5})"),
            R"({"customer":["expected string, got array"],"amount":["expected int, got float"]})");
}

// proves: E-37
// proves: E-78
TEST(BindArguments, NullIsRefusedWhereNothingAllowsIt) {
  EXPECT_EQ(bound(approve(), R"([null])"), R"({"customer":["expected string, got null"]})");
  EXPECT_EQ(bound(approve(), R"({"customer":"ann","amount":null})"),
            R"({"amount":["expected int, got null"]})")
      << "null is a value, not a way of leaving something out";
  EXPECT_EQ(bound(approve(), R"({"customer":"ann","tags":null})"),
            R"({"tags":["expected string, got null"]})");
}

// proves: E-18
TEST(BindArguments, NullIsWelcomeByFlagOrByType) {
  EXPECT_EQ(bound(takes({{.name = "it", .type = "int", .allows_null = true}}), "[null]"), "[null]");
  for (const auto* type : {"?int", "int|null", "null|int", "int|?string", "mixed", "null"}) {
    EXPECT_EQ(bound(takes_type(type), "[null]"), "[null]") << type;
  }
  for (const auto* type : {"int", "int|string", "scalar", "object", "Order", "false", "array"}) {
    EXPECT_NE(bound(takes_type(type), "[null]"), "[null]") << type;
  }
}

TEST(BindArguments, AMessageTellsThatNullWouldHaveDone) {
  EXPECT_EQ(bound(takes({{.name = "it", .type = "int", .allows_null = true}}), R"(["x"])"),
            R"({"it":["expected int or null, got string"]})");
  EXPECT_EQ(bound(takes({{.name = "it", .type = "?int", .allows_null = true}}), R"(["x"])"),
            R"({"it":["expected ?int, got string"]})");
}

// proves: E-37
TEST(BindArguments, MoreThanThereIsRoomForIsRefused) {
  EXPECT_EQ(bound(takes_type("int"), "[1,2,3]"),
            R"({"arguments":["too many arguments: expected at most 1, got 3"]})");
  EXPECT_EQ(bound(takes({}), "[1]"),
            R"({"arguments":["too many arguments: expected at most 0, got 1"]})");
}

TEST(BindArguments, AParameterCalledArgumentsSharesItsField) {
  EXPECT_EQ(bound(takes({{.name = "first", .type = "int"}, {.name = "arguments", .type = "int"}}),
                  R"(["x","y","z"])"),
            R"({"first":["expected int, got string"],"arguments":["expected int, got string",)"
            R"("too many arguments: expected at most 2, got 3"]})");
}

TEST(BindArguments, EveryFieldThatIsWrongIsReportedAtOnce) {
  EXPECT_EQ(bound(approve(), R"({"zebra":1,"amount":"x","ant":{},"zebra":2})"),
            R"({"customer":["required: expected string, got nothing"],)"
            R"("amount":["expected int, got string"],)"
            R"("zebra":["unknown argument: expected none of this name, got int"],)"
            R"("ant":["unknown argument: expected none of this name, got object"]})");
}

TEST(BindArguments, AVariadicTellsWhichOfItsValuesIsWrong) {
  constexpr auto wrong = R"({"tags":["expected string for value 2 of 3, got int"]})";
  EXPECT_EQ(bound(approve(), R"(["ann",3,"new",5,6])"), wrong);
  EXPECT_EQ(bound(approve(), R"({"customer":"ann","tags":["new",5,6]})"), wrong);
}

TEST(BindArguments, OfANameGivenTwiceTheLaterCounts) {
  EXPECT_EQ(bound(takes_type("int"), R"({"it":1,"it":2})"), "[2]");
}

TEST(BindArguments, TheDefaultItselfMayBeSent) {
  const auto contract = takes({{.name = "limit", .type = "int", .default_value = Value{}}});
  EXPECT_EQ(bound(contract, "[]"), "[null]");
  EXPECT_EQ(bound(contract, "[null]"), "[null]");
}

// proves: E-18
TEST(BindArguments, WithoutAContractAListPassesAndNamesDoNot) {
  EXPECT_EQ(bound(without_contract(), R"([1,null,"x"])"), R"([1,null,"x"])");
  constexpr auto refused =
      R"({"arguments":["named arguments need a durable contract: expected a list, got a map"]})";
  EXPECT_EQ(bound(without_contract(), R"({"customer":"ann"})"), refused);
  EXPECT_EQ(bound(without_contract(), "{}"), refused);
}

TEST(BindArguments, NeitherListNorMapIsRefusedWithAndWithoutContract) {
  for (const auto& contract : {approve(), without_contract()}) {
    EXPECT_EQ(bound(contract, "7"),
              R"({"arguments":["expected a list or a map of arguments, got int"]})");
    EXPECT_EQ(bound(contract, R"("ann")"),
              R"({"arguments":["expected a list or a map of arguments, got string"]})");
  }
}

// ---- types

// proves: E-18
TEST(ParameterType, EachTakesItsOwnKindsAndNoOther) {
  const Value samples[] = {
      true, false, 7, 1.5, "text", Bytes{"\xff"}, Value::Array{1}, Value::Map{{"a", 1}}};
  const std::pair<const char*, const char*> taken[] = {
      {"int", "..7....."},        {"float", "..71...."},        {"string", "....tb.."},
      {"bool", "TF......"},       {"true", "T......."},         {"false", ".F......"},
      {"array", "......am"},      {"object", ".......m"},       {"Order", ".......m"},
      {"App\\Order", ".......m"}, {"scalar", "TF71tb.."},       {"mixed", "TF71tbam"},
      {"null", "........"},       {"?int", "..7....."},         {"int|string", "..7.tb.."},
      {"null|Order", ".......m"}, {"float | false", ".F71...."}};
  for (const auto& [type, marks] : taken) {
    std::string got;
    for (std::size_t i = 0; i < std::size(samples); ++i) {
      const bool ok = bind_arguments(takes_type(type), Value::Array{samples[i]}).ok();
      got += ok ? "TF71tbam"[i] : '.';
    }
    EXPECT_EQ(got, marks) << type;
  }
}

TEST(ParameterType, AnIntWhereAFloatIsDeclaredStaysAnInt) {
  EXPECT_EQ(bound(takes_type("float"), "[1]"), "[1]");
}

TEST(ParameterType, IsWellFormedWhenEveryAlternativeIsNamed) {
  for (const auto* type :
       {"int", "?int", "int|string", "int | null", "?Order|array", "A&B", "dict[str, int]"}) {
    EXPECT_TRUE(well_formed({.name = "it", .type = type})) << type;
  }
  for (const auto* type :
       {"", " ", "?", "|", "int|", "|int", "int||string", "int|?", "??int", "int?"}) {
    EXPECT_FALSE(well_formed({.name = "it", .type = type})) << type;
  }
  EXPECT_FALSE(well_formed({.name = "", .type = "int"}));
}

TEST(ParameterType, OneThatDoesNotParseTakesNothingRatherThanAnything) {
  EXPECT_EQ(bound(takes_type(""), "[1]"), R"({"it":["expected , got int"]})");
}

// ---- declarations

TEST(CheckContract, LetsASoundOneThrough) {
  EXPECT_TRUE(check(approve()).has_value());
  EXPECT_TRUE(check(takes({})).has_value());
  EXPECT_TRUE(check(without_contract()).has_value());
}

TEST(CheckContract, RefusesWhatNoCallerCouldMakeSenseOf) {
  const Parameter required{.name = "a", .type = "int"};
  const Parameter optional{.name = "b", .type = "int", .default_value = 1};
  const Parameter rest{.name = "c", .type = "int", .variadic = true};
  const std::pair<Contract, const char*> cases[] = {
      {{.name = ""}, "expected a name"},
      {takes({required, {.name = ""}}), "parameter 2 has no name"},
      {takes({required, {.name = "a", .type = "string"}}), "two parameters are called \"a\""},
      {takes({optional, required}), "\"a\" follows the optional \"b\""},
      {takes({rest, required}), "\"a\" follows the variadic \"c\""},
      {takes({rest, optional}), "\"b\" follows the variadic \"c\""},
      {takes({rest, {.name = "d", .variadic = true}}), "\"d\" follows the variadic \"c\""},
      {takes_type("int||string"), "parameter \"it\" has type \"int||string\""}};
  for (const auto& [contract, reason] : cases) {
    const auto answer = check(contract);
    ASSERT_FALSE(answer.has_value()) << reason;
    EXPECT_EQ(answer.error().code, ErrorCode::invalid_argument) << reason;
    EXPECT_THAT(answer.error().message,
                AllOf(HasSubstr(reason), HasSubstr("contract \"" + contract.name + "\"")));
  }
}

// ---- readable forms

// proves: E-19
TEST(TargetValue, HasAListOfParametersWithOrWithoutContract) {
  EXPECT_EQ(to_json(target_value(without_contract())),
            R"({"name":"approve","parameters":[],"has_contract":false})");
  EXPECT_EQ(to_json(target_value(takes({}))),
            R"({"name":"approve","parameters":[],"has_contract":true})");
  const auto target = target_value(approve());
  EXPECT_EQ(*target.find("parameters"), *history::contract_value(approve()).find("parameters"));
}

// ---- fingerprints

TEST(DefinitionFingerprint, CoversTheCanonicalJsonOfTheDefinition) {
  const Declarations declarations{
      .queries = {{.name = "state"}},
      .signals = {{.name = "stop", .parameters = std::vector<Parameter>{}}},
      .updates = {takes({{.name = "options",
                          .type = "array",
                          .default_value = Value::Map{{"b", 1}, {"a", Value::Map{}}}}})}};
  EXPECT_EQ(definition_fingerprint("invoice", "r1", declarations),
            "sha256:" + sha256_hex(R"({"entry":"handle",)"
                                   R"("queries":[{"name":"state","parameters":null}],)"
                                   R"("revision":"r1",)"
                                   R"("signals":[{"name":"stop","parameters":[]}],)"
                                   R"("type":"invoice",)"
                                   R"("updates":[{"name":"approve","parameters":[)"
                                   R"({"allows_null":false,"default":{"a":{},"b":1},)"
                                   R"("default_available":true,"name":"options","position":0,)"
                                   R"("required":false,"type":"array","variadic":false}]}]})"));
}

// Runs in flight carry fingerprints of earlier builds, so this one is written down, not computed.
TEST(DefinitionFingerprint, StaysWhatItWas) {
  EXPECT_EQ(definition_fingerprint("invoice", "1", {}),
            "sha256:3de88e2f131a0be9da3931e6c720ffe264275ecc49c7dc1cdcfb2bc41c70d4cb");
}

TEST(DefinitionFingerprint, DoesNotDependOnTheOrderOfDeclarations) {
  const Contract first{.name = "a"}, second = approve();
  EXPECT_EQ(
      definition_fingerprint(
          "invoice", "1",
          {.queries = {first, second}, .signals = {second, first}, .updates = {first, second}}),
      definition_fingerprint(
          "invoice", "1",
          {.queries = {second, first}, .signals = {first, second}, .updates = {second, first}}));
}

TEST(DefinitionFingerprint, ChangesWithAnythingACallerOrAuthorCouldNotice) {
  const auto of = [](std::vector<Parameter> parameters) {
    return definition_fingerprint("invoice", "1", {{}, {takes(std::move(parameters))}, {}});
  };
  const Parameter plain{.name = "a", .type = "int"};
  const Parameter other{.name = "b", .type = "int"};
  const std::set<std::string> distinct{
      definition_fingerprint("invoice", "1", {}),
      definition_fingerprint("invoice", "2", {}),
      definition_fingerprint("order", "1", {}),
      definition_fingerprint("invoice", "1", {{takes({})}, {}, {}}),
      definition_fingerprint("invoice", "1", {{}, {}, {takes({})}}),
      definition_fingerprint("invoice", "1", {{}, {without_contract()}, {}}),
      of({}),
      of({plain}),
      of({other}),
      of({plain, other}),
      of({other, plain}),
      of({{.name = "a", .type = "float"}}),
      of({{.name = "a", .type = "int", .variadic = true}}),
      of({{.name = "a", .type = "int", .allows_null = true}}),
      of({{.name = "a", .type = "int", .default_value = 1}}),
      of({{.name = "a", .type = "int", .default_value = 1.0}}),
      of({{.name = "a", .type = "int", .default_value = Value{}}})};
  EXPECT_EQ(distinct.size(), 17u);
}

TEST(ConditionFingerprint, IsTheHashOfItsDefinition) {
  EXPECT_EQ(condition_fingerprint("abc"),
            "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

// ---- whatever comes

// Sound by construction: required ones first, at most one variadic, and that last. Few names, so
// that arguments meet them; defaults of any type, as languages without checks have them.
Contract arbitrary_contract() {
  static const auto types = std::vector<std::string>{
      "int",   "float", "string", "bool",       "array", "object", "scalar",
      "mixed", "?int",  "Order",  "int|string", "true",  "null"};
  std::vector<Parameter> parameters;
  const auto count = *rc::gen::inRange<std::size_t>(0, 4);
  const auto required = *rc::gen::inRange<std::size_t>(0, count + 1);
  for (std::size_t i = 0; i < count; ++i) {
    Parameter parameter{.name = std::string(1, "abcd"[i]),
                        .type = *rc::gen::elementOf(types),
                        .allows_null = *rc::gen::arbitrary<bool>()};
    if (i >= required) parameter.default_value = *arbitrary_value(1);
    parameters.push_back(std::move(parameter));
  }
  if (*rc::gen::arbitrary<bool>()) {
    parameters.push_back({.name = "rest", .type = *rc::gen::elementOf(types), .variadic = true});
  }
  return takes(std::move(parameters));
}

// Mostly lists and maps that have a chance: names of the contract, and one that is not in it.
Value arbitrary_arguments() {
  if (*rc::gen::inRange(0, 4) == 0) return *arbitrary_value();
  if (*rc::gen::arbitrary<bool>()) return *rc::gen::container<Value::Array>(arbitrary_value(1));
  Value::Map named;
  for (const auto* name : {"a", "b", "c", "rest", "stranger"}) {
    if (*rc::gen::inRange(0, 8) < (name == std::string_view{"stranger"} ? 1 : 6)) {
      named.emplace_back(name, *arbitrary_value(1));
    }
  }
  return named;
}

// proves: E-18
RC_GTEST_PROP(BindArgumentsProperty, AnswersWhateverComesAndBindsItsOwnAnswerToItself, ()) {
  const auto contract = *rc::gen::arbitrary<bool>() ? arbitrary_contract() : without_contract();
  RC_ASSERT(check(contract).has_value());
  const auto arguments = arbitrary_arguments();

  const auto once = bind_arguments(contract, arguments);
  RC_CLASSIFY(once.ok(), "bound");
  if (!once.ok()) {
    RC_ASSERT(once.arguments.empty());
    for (const auto& [field, messages] : once.errors) RC_ASSERT(!messages.empty());
    return;
  }
  const auto again = bind_arguments(contract, once.arguments);
  RC_ASSERT(again.ok());
  RC_ASSERT(again.arguments == once.arguments);
}

}  // namespace
}  // namespace dw::engine
