#include <dw/result.hpp>

#include "core/assert.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <type_traits>
#include <vector>

namespace dw {
namespace {

using MoveOnly = std::unique_ptr<int>;

Error out_of_milk() {
  return Error{ErrorCode::not_found, "no milk in the fridge"};
}

Result<int> fetch(bool found) {
  if (!found) return out_of_milk();
  return 2;
}

Result<MoveOnly> fetch_boxed(bool found) {
  auto box = std::make_unique<int>(DW_TRY(fetch(found)));
  return box;
}

Result<std::string> describe(bool found) {
  const auto box = DW_TRY(fetch_boxed(found));
  return std::to_string(*box) + " litres";
}

Result<void> drink(int litres) {
  if (litres > 1) return Error{ErrorCode::overloaded, "that is too much"};
  return {};
}

Result<std::string> breakfast(bool found, int share) {
  DW_TRY_VOID(drink(DW_TRY(fetch(found)) / share));
  return std::string{"done"};
}

TEST(Result, HoldsAValueOrTheErrorThatPreventedIt) {
  EXPECT_TRUE(fetch(true));
  EXPECT_EQ(*fetch(true), 2);
  EXPECT_FALSE(fetch(false));
  EXPECT_EQ(fetch(false).error(), out_of_milk());
  EXPECT_EQ(fetch(false).value_or(7), 7);
}

TEST(Result, CarriesWhatCanOnlyBeMoved) {
  auto box = *fetch_boxed(true);
  EXPECT_EQ(*box, 2);
  auto fallback = fetch_boxed(false).value_or(std::make_unique<int>(7));
  EXPECT_EQ(*fallback, 7);
  static_assert(!std::is_copy_constructible_v<Result<MoveOnly>>);
  static_assert(std::is_nothrow_move_constructible_v<Result<MoveOnly>>);
}

TEST(Result, CarriesWhatHasNoDefault) {
  struct NoDefault {
    explicit NoDefault(int n) : number(n) {}
    int number;
  };
  EXPECT_EQ(
      Result<NoDefault> {
        NoDefault {
          3
        }
      } -> number,
      3);
}

TEST(DwTry, GivesTheValue) {
  EXPECT_EQ(*describe(true), "2 litres");
}

TEST(DwTry, HandsTheErrorUpThroughEveryType) {
  EXPECT_EQ(describe(false).error(), out_of_milk());
}

TEST(DwTry, MovesTheValueOutInsteadOfCopyingIt) {
  const auto address_survives = []() -> Result<bool> {
    std::vector<int> numbers(100);
    const auto* address = numbers.data();
    const auto moved = DW_TRY(Result<std::vector<int>>{std::move(numbers)});
    return moved.data() == address;
  };
  EXPECT_TRUE(*address_survives());
}

TEST(DwTryVoid, MayHoldATryOfItsOwn) {
  EXPECT_EQ(*breakfast(true, 2), "done");
  EXPECT_EQ(breakfast(true, 1).error().code, ErrorCode::overloaded);
  EXPECT_EQ(breakfast(false, 1).error().code, ErrorCode::not_found);
}

TEST(ResultDeathTest, ReadTheWrongWayRoundStopsTheProcess) {
  EXPECT_DEATH(static_cast<void>(fetch(false).value()), "not_found: no milk in the fridge");
  EXPECT_DEATH(static_cast<void>(fetch(true).error()), "successful Result");
  EXPECT_DEATH(drink(2).value(), "overloaded");
}

TEST(AssertDeathTest, SaysWhatWasBelievedAndWhere) {
  const int sequence = 3;
  DW_ASSERT(sequence == 3, "fine");
  EXPECT_DEATH(DW_ASSERT(sequence == 4, "the sequence went backwards"),
               "result_test.cpp:.*sequence == 4: the sequence went backwards");
}

}  // namespace
}  // namespace dw
