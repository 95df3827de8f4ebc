#include <dw/convert.hpp>
#include <dw/payload.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <deque>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <unordered_set>

// An online shop, as an author would write it: described structs, a described enum, a type of
// somebody else's with its own converter.
namespace shop {

enum class Colour { red, green, blue };
BOOST_DESCRIBE_ENUM(Colour, red, green, blue)

enum class Priority : std::uint8_t { low = 1, high = 9 };

struct Item {
  std::string sku;
  double price = 0;
  std::uint16_t count = 0;
  std::optional<Colour> colour;
  friend bool operator==(const Item&, const Item&) = default;
};
BOOST_DESCRIBE_STRUCT(Item, (), (sku, price, count, colour))

struct Document {
  std::string id;
  dw::Timestamp created_at;
  friend bool operator==(const Document&, const Document&) = default;
};
BOOST_DESCRIBE_STRUCT(Document, (), (id, created_at))

struct Order : Document {
  std::vector<Item> items;
  std::map<std::string, std::int64_t> discounts;
  std::optional<std::string> note;
  Priority priority = Priority::low;
  dw::Value extra;
  friend bool operator==(const Order&, const Order&) = default;
};
BOOST_DESCRIBE_STRUCT(Order, (Document), (items, discounts, note, priority, extra))

// Contains itself, as categories do.
struct Category {
  std::string name;
  std::vector<Category> children;
  friend bool operator==(const Category&, const Category&) = default;
};
BOOST_DESCRIBE_STRUCT(Category, (), (name, children))

class Account {
 public:
  Account() = default;
  explicit Account(std::int64_t cents) : cents_(cents) {}
  std::int64_t cents() const { return cents_; }

 private:
  std::int64_t cents_ = 0;
  BOOST_DESCRIBE_CLASS(Account, (), (), (), (cents_))
};

struct Nothing {};
BOOST_DESCRIBE_STRUCT(Nothing, (), ())

// Neither described nor default-constructible: only its converter knows how it travels.
class Celsius {
 public:
  explicit Celsius(double degrees) : degrees_(degrees) {}
  double degrees() const { return degrees_; }
  friend bool operator==(const Celsius&, const Celsius&) = default;

 private:
  double degrees_;
};

struct Undescribed {
  int secret = 0;
};

}  // namespace shop

template <>
struct dw::Converter<shop::Celsius> {
  static Value to_value(const shop::Celsius& celsius) { return celsius.degrees(); }
  static Result<shop::Celsius> from_value(const Value& value) {
    const auto degrees = DW_TRY(dw::from_value<double>(value));
    if (degrees < -273.15) return Error{ErrorCode::invalid_argument, "colder than cold"};
    return shop::Celsius(degrees);
  }
};

namespace dw {
namespace {

using namespace std::chrono_literals;
using shop::Colour;
using shop::Item;
using shop::Order;
using shop::Priority;
using testing::HasSubstr;

Value json(std::string_view text) {
  auto value = parse_json(text);
  EXPECT_TRUE(value) << (value ? "" : value.error().message);
  return std::move(value).value_or(Value());
}

template <typename T>
void expect_form(const T& original, const Value& form) {
  EXPECT_EQ(to_value(original), form) << to_json(to_value(original));
  EXPECT_EQ(to_value(T(original)), form) << "moved";
  const auto copied = from_value<T>(form);
  ASSERT_TRUE(copied) << copied.error().message;
  EXPECT_EQ(*copied, original);
  const auto moved = from_value<T>(Value(form));
  ASSERT_TRUE(moved) << moved.error().message;
  EXPECT_EQ(*moved, original);
}

template <typename T>
Error error_of(const Value& value) {
  const auto result = from_value<T>(value);
  EXPECT_FALSE(result);
  return result ? Error{} : result.error();
}

Error failed(std::string message) {
  return Error{ErrorCode::conversion_failed, message};
}

Order sample_order() {
  Order order;
  order.id = "o-1";
  order.created_at = from_micros(1'775'822'400'000'000);
  order.items = {{"tea", 4.5, 2, Colour::green}, {"cup", 12.0, 1, std::nullopt}};
  order.discounts = {{"spring", 5}};
  order.priority = Priority::high;
  order.extra = json(R"({"gift":[true,null]})");
  return order;
}

TEST(Convert, ScalarsBecomeTheKindTheyLookLike) {
  expect_form(true, Value(true));
  expect_form(42, Value(42));
  expect_form(-7L, Value(-7));
  expect_form(7ULL, Value(7));
  expect_form(std::int8_t{-128}, Value(-128));
  expect_form(std::uint8_t{255}, Value(255));
  expect_form(std::numeric_limits<std::int64_t>::min(),
              Value(std::numeric_limits<std::int64_t>::min()));
  expect_form(2.5, Value(2.5));
  expect_form(0.5F, Value(0.5));
  expect_form(std::string("tea"), Value("tea"));
  expect_form(Bytes{std::string("\0\xff", 2)}, Value(Bytes{std::string("\0\xff", 2)}));
  expect_form(std::monostate{}, Value());
  expect_form(json(R"({"open":["json",1,1.0]})"), json(R"({"open":["json",1,1.0]})"));
}

TEST(Convert, BorrowedTextGoesInAndIsOwnedFromThenOn) {
  const char* nowhere = nullptr;
  const char padded[8] = "tea";
  EXPECT_EQ(to_value("tea"), Value("tea"));
  EXPECT_EQ(to_value(padded), Value("tea"));
  EXPECT_EQ(to_value(std::string_view("teapot", 3)), Value("tea"));
  EXPECT_EQ(to_value<const char*>("tea"), Value("tea"));
  EXPECT_EQ(to_value(nowhere), Value());
}

TEST(Convert, ContainersBecomeArraysAndMaps) {
  const auto numbers = json("[1,2,3]");
  expect_form(std::vector{1, 2, 3}, numbers);
  expect_form(std::deque{1, 2, 3}, numbers);
  expect_form(std::list{1, 2, 3}, numbers);
  expect_form(std::set{3, 2, 1}, numbers);
  expect_form(std::array{1, 2, 3}, numbers);
  expect_form(std::vector<bool>{true, false}, json("[true,false]"));
  expect_form(std::vector<std::vector<int>>{{1}, {}}, json("[[1],[]]"));
  expect_form(std::pair(1, std::string("one")), json(R"([1,"one"])"));
  expect_form(std::tuple(1, true, 0.5), json("[1,true,0.5]"));
  expect_form(std::tuple<>(), json("[]"));
  expect_form(std::map<std::string, int>{{"a", 1}, {"b", 2}}, json(R"({"a":1,"b":2})"));
}

TEST(Convert, AnUnorderedMapTravelsInKeyOrderSoEqualMapsAreEqualBytes) {
  std::unordered_map<std::string, int> counts;
  for (int i = 9; i >= 1; --i) counts["k" + std::to_string(i)] = i;
  expect_form(counts, json(R"({"k1":1,"k2":2,"k3":3,"k4":4,"k5":5,"k6":6,"k7":7,"k8":8,"k9":9})"));
}

TEST(Convert, OfAKeyGivenTwiceTheLaterEntryCountsEverywhere) {
  const Value twice(Value::Map{
      {"name", Value("old")}, {"children", Value(Value::Array{})}, {"name", Value("new")}});
  EXPECT_EQ(from_value<shop::Category>(twice)->name, "new");
  const Value counts(Value::Map{{"a", Value(1)}, {"a", Value(2)}});
  EXPECT_EQ((*from_value<std::map<std::string, int>>(counts)).at("a"), 2);
}

TEST(Convert, AnEmptyOptionalIsNull) {
  expect_form(std::optional<int>(), Value());
  expect_form(std::optional<int>(3), Value(3));
  expect_form(std::vector<std::optional<std::string>>{"a", std::nullopt}, json(R"(["a",null])"));
}

TEST(Convert, AVoidResultTakesWhateverItIsGiven) {
  EXPECT_TRUE(from_value<void>(Value()));
  EXPECT_TRUE(from_value<void>(Value("an activity that began to return something")));
}

TEST(Convert, DurationsAreIntegerMicroseconds) {
  expect_form(90s, Value(90'000'000));
  expect_form(-5min, Value(-300'000'000));
  expect_form(1500us, Value(1500));
  expect_form(2000ns, Value(2));
  expect_form(std::chrono::duration<double>(0.25), Value(250'000));
  expect_form(std::chrono::duration<int, std::ratio<1, 30>>(1), Value(33'333));
  EXPECT_EQ(to_value(1999ns), Value(1)) << "finer than a microsecond is dropped";
}

TEST(Convert, ADurationThatDoesNotFitItsUnitIsRefusedRatherThanRounded) {
  EXPECT_EQ(error_of<std::chrono::seconds>(Value(1'500'000)),
            failed("expected a whole multiple of 1000000 microseconds, found 1500000"));
  const Value longest(std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(error_of<std::chrono::nanoseconds>(longest).code, ErrorCode::integer_overflow);
  EXPECT_EQ(error_of<std::chrono::seconds>(Value(1.5)),
            failed("expected a duration in integer microseconds, found a real number"));
  EXPECT_THROW(to_value(std::chrono::hours::max()), ConversionError);
  EXPECT_THROW(to_value(std::chrono::duration<double>(1e30)), ConversionError);
  EXPECT_THROW(to_value(std::chrono::duration<double>(std::nan(""))), ConversionError);
}

TEST(Convert, ATimestampReadsAsPeopleWriteIt) {
  expect_form(from_micros(1'775'822'400'000'000), Value("2026-04-10T12:00:00.000000Z"));
  const auto error = error_of<Timestamp>(Value("yesterday"));
  EXPECT_EQ(error.code, ErrorCode::conversion_failed);
  EXPECT_THAT(error.message, HasSubstr("expected a timestamp such as"));
  EXPECT_THAT(error.message, HasSubstr("found \"yesterday\""));
}

TEST(Convert, ADescribedEnumTravelsByName) {
  expect_form(Colour::green, Value("green"));
  EXPECT_EQ(error_of<Colour>(Value("purple")),
            failed("expected one of red, green, blue, found \"purple\""));
  EXPECT_EQ(error_of<Colour>(Value(true)),
            failed("expected an enumerator's name, found a boolean"));
}

TEST(Convert, AnEnumeratorWithoutANameStillSurvivesTheTrip) {
  expect_form(static_cast<Colour>(12), Value(12));
}

TEST(Convert, AnUndescribedEnumTravelsAsItsInteger) {
  expect_form(Priority::high, Value(9));
  EXPECT_EQ(error_of<Priority>(Value(256)),
            (Error{ErrorCode::integer_overflow, "256 is outside the range 0 to 255"}));
}

TEST(Convert, AnOrderTravelsWithItsBaseItsItemsAndItsOpenJson) {
  expect_form(sample_order(), json(R"({
    "id": "o-1", "created_at": "2026-04-10T12:00:00.000000Z",
    "items": [{"sku": "tea", "price": 4.5, "count": 2, "colour": "green"},
              {"sku": "cup", "price": 12.0, "count": 1, "colour": null}],
    "discounts": {"spring": 5}, "note": null, "priority": 9, "extra": {"gift": [true, null]}})"));
}

TEST(Convert, AnOrderSurvivesEveryCodec) {
  for (const auto codec : {avro_codec, json_codec}) {
    const auto payload = encode(to_value(sample_order()), codec);
    ASSERT_TRUE(payload) << payload.error().message;
    auto value = decode(*payload);
    ASSERT_TRUE(value) << value.error().message;
    EXPECT_EQ(*from_value<Order>(*std::move(value)), sample_order()) << codec;
  }
}

TEST(Convert, AStructMayContainItself) {
  expect_form(shop::Category{"drinks", {{"tea", {}}, {"coffee", {{"beans", {}}}}}},
              json(R"({"name":"drinks","children":[{"name":"tea","children":[]},
                 {"name":"coffee","children":[{"name":"beans","children":[]}]}]})"));
}

TEST(Convert, ADescribedClassBringsItsPrivateMembers) {
  EXPECT_EQ(to_value(shop::Account(250)), json(R"({"cents_":250})"));
  EXPECT_EQ(from_value<shop::Account>(json(R"({"cents_":250})"))->cents(), 250);
  EXPECT_EQ(to_value(shop::Nothing{}), Value(Value::Map{}));
  EXPECT_TRUE(from_value<shop::Nothing>(Value(Value::Map{})));
}

TEST(Convert, YesterdaysOrderReadsWithoutTheOptionalMembersOfToday) {
  const auto item = from_value<Item>(json(R"({"sku":"tea","price":4,"count":1})"));
  ASSERT_TRUE(item) << item.error().message;
  EXPECT_EQ(*item, (Item{"tea", 4.0, 1, std::nullopt}));
}

TEST(Convert, TomorrowsOrderReadsWithoutTheMembersNobodyKnowsYet) {
  EXPECT_TRUE(from_value<Item>(json(R"({"weight":3,"sku":"tea","price":4.5,"count":1})")));
}

TEST(Convert, AMissingMemberIsNamed) {
  EXPECT_EQ(error_of<Item>(json(R"({"sku":"tea","price":4.5})")), failed(".count: missing"));
  auto order = to_value(sample_order());
  (*(*order.if_map())[2].second.if_array())[1] = json(R"({"sku":"cup"})");
  EXPECT_EQ(error_of<Order>(order), failed(".items[1].price: missing"));
}

TEST(Convert, AnErrorDeepInsideSaysWhere) {
  auto order = to_value(sample_order());
  (*(*(*order.if_map())[2].second.if_array())[1].if_map())[1].second = Value("dear");
  EXPECT_EQ(error_of<Order>(order), failed(".items[1].price: expected a number, found a string"));
  using Stock = std::map<std::string, std::pair<int, std::array<bool, 2>>>;
  EXPECT_EQ(error_of<Stock>(json(R"({"tea cup":[1,[true,0]]})")),
            failed("[\"tea cup\"][1][1]: expected a boolean, found an integer"));
  EXPECT_EQ(error_of<Stock>(json(R"({"tea":[1,[true]]})")),
            failed("[\"tea\"][1]: expected an array of 2 elements, found 1"));
  EXPECT_EQ(error_of<Stock>(json(R"({"tea":[1]})")),
            failed("[\"tea\"]: expected an array of 2 elements, found 1"));
}

TEST(Convert, EveryKindSaysWhatItWantedAndWhatItFound) {
  const Value text("x");
  EXPECT_EQ(error_of<bool>(text), failed("expected a boolean, found a string"));
  EXPECT_EQ(error_of<int>(Value(1.0)), failed("expected an integer, found a real number"));
  EXPECT_EQ(error_of<double>(Value()), failed("expected a number, found null"));
  EXPECT_EQ(error_of<std::string>(Value(Bytes{"x"})), failed("expected a string, found bytes"));
  EXPECT_EQ(error_of<Bytes>(text), failed("expected bytes, found a string"));
  EXPECT_EQ(error_of<std::monostate>(text), failed("expected null, found a string"));
  EXPECT_EQ(error_of<std::vector<int>>(Value(Value::Map{})),
            failed("expected an array, found a map"));
  EXPECT_EQ(error_of<Item>(Value(Value::Array{})), failed("expected a map, found an array"));
}

TEST(Convert, ANumberTooLargeForItsTargetIsAnOverflowWithAPath) {
  EXPECT_EQ(error_of<Item>(json(R"({"sku":"tea","price":1,"count":65536})")),
            (Error{ErrorCode::integer_overflow, ".count: 65536 is outside the range 0 to 65535"}));
  EXPECT_EQ(error_of<std::int8_t>(Value(-129)).code, ErrorCode::integer_overflow);
  EXPECT_EQ(error_of<std::uint64_t>(Value(-1)).code, ErrorCode::integer_overflow);
  EXPECT_EQ(error_of<float>(Value(1e300)).code, ErrorCode::integer_overflow);
}

TEST(Convert, AnUnsignedNumberBeyondSixtyThreeBitsHasNoDurableForm) {
  EXPECT_NO_THROW(to_value(std::uint64_t{1} << 62U));
  try {
    to_value(std::numeric_limits<std::uint64_t>::max());
    FAIL() << "was accepted";
  } catch (const ConversionError& thrown) {
    EXPECT_EQ(thrown.error.code, ErrorCode::integer_overflow);
    EXPECT_THAT(thrown.what(), HasSubstr("18446744073709551615"));
  }
}

TEST(Convert, AnIntegerIsANumberButARealIsNoInteger) {
  EXPECT_EQ(*from_value<double>(Value(3)), 3.0);
  EXPECT_EQ(*from_value<float>(Value(3)), 3.0F);
  EXPECT_FALSE(from_value<int>(Value(3.0)));
}

TEST(Convert, NotANumberIsRefusedByTheCodecNotHere) {
  const auto value = to_value(std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isinf(*from_value<float>(value)));
  const auto payload = encode(value);
  ASSERT_FALSE(payload);
  EXPECT_EQ(payload.error().code, ErrorCode::non_finite_float);
}

TEST(Convert, SomebodyElsesTypeTravelsByItsConverterAndKeepsItsErrors) {
  expect_form(shop::Celsius(21.5), Value(21.5));
  expect_form(std::tuple(shop::Celsius(1.5), 1), json("[1.5,1]"));
  expect_form(std::optional(shop::Celsius(1.5)), Value(1.5));
  EXPECT_EQ(error_of<std::vector<shop::Celsius>>(json("[20.0,-300.0]")),
            (Error{ErrorCode::invalid_argument, "[1]: colder than cold"}));
}

TEST(Convert, LongTextIsQuotedInPartAndOnlyWholeCharacters) {
  std::string text(39, 'a');
  text += "é and much more";
  EXPECT_EQ(error_of<Colour>(Value(text)),
            failed("expected one of red, green, blue, found \"" + std::string(39, 'a') + "…\""));
}

TEST(Convert, AnRvalueIsEmptiedRatherThanCopied) {
  const std::string text(100, 'x');
  Value value(Value::Map{{"name", Value(text)}, {"children", Value(Value::Array{})}});
  const auto* there = value.find("name")->if_string()->data();
  auto category = from_value<shop::Category>(std::move(value));
  ASSERT_TRUE(category);
  EXPECT_EQ(category->name.data(), there) << "the same characters, moved";
  const auto back = to_value(*std::move(category));
  EXPECT_EQ(back.find("name")->if_string()->data(), there) << "and moved back";
}

TEST(Convert, AnLvalueIsLeftAsItWas) {
  Value value = to_value(sample_order());
  EXPECT_TRUE(from_value<Order>(value));
  EXPECT_EQ(value, to_value(sample_order()));
  Order order = sample_order();
  EXPECT_EQ(to_value(order), value);
  EXPECT_EQ(order, sample_order());
}

TEST(ConvertArguments, ACallIsOneArray) {
  EXPECT_EQ(to_arguments(), Value(Value::Array{}));
  EXPECT_EQ(to_arguments("tea", 2, Colour::red), json(R"(["tea",2,"red"])"));
  using Parameters = std::tuple<std::string, int, Colour>;
  const auto read = from_arguments<Parameters>(to_arguments("tea", 2, Colour::red));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, Parameters("tea", 2, Colour::red));
  const auto cold = from_arguments<std::tuple<shop::Celsius>>(to_arguments(shop::Celsius(-1)));
  EXPECT_EQ(std::get<0>(*cold), shop::Celsius(-1));
  EXPECT_TRUE(from_arguments<std::tuple<>>(to_arguments()));
}

TEST(ConvertArguments, AnErrorNamesThePositionAndThePath) {
  auto order = to_value(sample_order());
  (*(*(*order.if_map())[2].second.if_array())[1].if_map())[1].second = Value("dear");
  const auto read = from_arguments<std::tuple<int, Order>>(to_arguments(1, order));
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error(), failed("argument 2: .items[1].price: expected a number, found a string"));
}

TEST(ConvertArguments, TooFewAndTooManyAreBothErrors) {
  using Two = std::tuple<int, std::string>;
  EXPECT_EQ(from_arguments<Two>(to_arguments(1)).error(),
            failed("argument 2 is missing: expected 2 arguments, found 1"));
  EXPECT_EQ(from_arguments<Two>(to_arguments(1, "a", true)).error(),
            failed("argument 3 is one too many: expected 2 arguments, found 3"));
  EXPECT_EQ(from_arguments<std::tuple<>>(to_arguments(1)).error(),
            failed("argument 1 is one too many: expected 0 arguments, found 1"));
  EXPECT_EQ(from_arguments<Two>(Value("a")).error(),
            failed("expected an array of arguments, found a string"));
}

TEST(ConvertArguments, AParameterAddedAsAnOptionalMayBeAbsent) {
  using Grown = std::tuple<int, std::optional<int>, std::optional<std::string>>;
  EXPECT_EQ(*from_arguments<Grown>(to_arguments(1)), Grown(1, std::nullopt, std::nullopt));
  EXPECT_EQ(*from_arguments<Grown>(to_arguments(1, 2)), Grown(1, 2, std::nullopt));
  EXPECT_EQ(from_arguments<Grown>(to_arguments()).error(),
            failed("argument 1 is missing: expected 1 to 3 arguments, found 0"));
  using Middle = std::tuple<std::optional<int>, int>;
  EXPECT_FALSE(from_arguments<Middle>(to_arguments(1))) << "only trailing ones";
}

// What converts is decided when compiling, so these need not run.
static_assert(Convertible<int> && Convertible<void> && Convertible<Value> && Convertible<Order>);
static_assert(Convertible<std::vector<std::optional<Order>>> && Convertible<shop::Celsius>);
static_assert(ToValue<std::string_view> && !Convertible<std::string_view>);
static_assert(ToValue<std::tuple<const char*>> && !FromValue<std::tuple<const char*>>);
static_assert(!Convertible<shop::Undescribed> && !Convertible<std::vector<shop::Undescribed>>);
static_assert(!Convertible<std::pair<int, shop::Undescribed>>);
static_assert(!Convertible<std::map<int, int>> && !Convertible<std::unordered_set<int>>);
static_assert(!Convertible<char> && !Convertible<std::byte> && !Convertible<std::vector<char>>);
static_assert(!Convertible<int*> && !Convertible<std::unique_ptr<int>>);
static_assert(!Convertible<std::optional<std::optional<int>>> && !Convertible<long double>);

RC_GTEST_PROP(ConvertProperties, AnyOrderComesBackAsItWas, ()) {
  const auto finite = rc::gen::suchThat(rc::gen::arbitrary<double>(),
                                        [](double price) { return std::isfinite(price); });
  const auto items = rc::gen::container<std::vector<Item>>(rc::gen::build<Item>(
      rc::gen::set(&Item::sku), rc::gen::set(&Item::price, finite), rc::gen::set(&Item::count),
      rc::gen::set(&Item::colour, rc::gen::element<std::optional<Colour>>(
                                      std::nullopt, Colour::red, Colour::green, Colour::blue))));
  Order order;
  order.id = *rc::gen::arbitrary<std::string>();
  order.created_at = from_micros(*rc::gen::inRange<std::int64_t>(0, 4'000'000'000'000'000));
  order.items = *items;
  order.discounts = *rc::gen::arbitrary<std::map<std::string, std::int64_t>>();
  if (*rc::gen::arbitrary<bool>()) order.note = *rc::gen::arbitrary<std::string>();
  order.extra = Value(*rc::gen::arbitrary<std::int64_t>());

  const auto value = to_value(order);
  const auto copied = from_value<Order>(value);
  RC_ASSERT(copied.has_value());
  RC_ASSERT(*copied == order);
  RC_ASSERT(to_value(*copied) == value);
  auto moved = from_value<Order>(Value(value));
  RC_ASSERT(moved.has_value());
  RC_ASSERT(*moved == order);
  RC_ASSERT(to_value(*std::move(moved)) == value);
}

RC_GTEST_PROP(ConvertProperties, AnIntegerNarrowsExactlyWhenItFits, (std::int64_t number)) {
  const auto narrow = from_value<std::int16_t>(Value(number));
  const bool fits = number >= -32768 && number <= 32767;
  RC_ASSERT(narrow.has_value() == fits);
  if (fits) RC_ASSERT(to_value(*narrow) == Value(number));
}

}  // namespace
}  // namespace dw
