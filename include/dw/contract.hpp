// What a workflow answers to: the queries, signals and updates it declares, each with the
// parameters it takes. Recorded when a run starts; from then on that record, not the code at hand,
// says which requests are valid.
#pragma once
#include <dw/value.hpp>

#include <optional>
#include <string>
#include <vector>

namespace dw {

struct Parameter {
  std::string name;
  // int, float, string, bool, array, object, scalar, null, mixed, true, false; "?int",
  // "int|string"; any other name stands for an object.
  std::string type = "mixed";
  std::optional<Value> default_value = {};  // present: may be left out
  bool variadic = false;                    // takes all that follow
  bool allows_null = false;

  bool required() const { return !default_value && !variadic; }
  friend bool operator==(const Parameter&, const Parameter&) = default;
};

struct Contract {
  std::string name;
  std::optional<std::vector<Parameter>> parameters = {};  // absent: whatever comes, by position
  friend bool operator==(const Contract&, const Contract&) = default;
};

struct Declarations {
  std::vector<Contract> queries = {};
  std::vector<Contract> signals = {};
  std::vector<Contract> updates = {};
  friend bool operator==(const Declarations&, const Declarations&) = default;
};

}  // namespace dw
