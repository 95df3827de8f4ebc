// What a list of workflows may be asked for: comparisons of search attributes, or simply a piece of
// a workflow id or business key. Pure: parsing needs the attributes there are, matching the values
// of one run.
//
//   WorkflowType = "order" AND (Customer IN ("acme", 'ada') OR NOT Amount < 12.5)
//
// `!=` and NOT IN say the opposite of `=` and IN: they also hold for a run without the attribute.
#pragma once
#include <dw/result.hpp>
#include <dw/time.hpp>
#include <dw/value.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace dw::views {

enum class AttributeType { keyword, text, integer, real, boolean, datetime, keyword_list };

// keyword, text, int, double, bool, datetime, keyword_list.
std::string_view to_string(AttributeType type);
// Also by the names that other servers have for two of them: string is text, float is double.
std::optional<AttributeType> find_attribute_type(std::string_view name);

using AttributeTypes = std::map<std::string, AttributeType, std::less<>>;

// What every run has, whatever its author registered.
const AttributeTypes& system_attributes();

// A word of the grammar, in whatever case: an attribute of that name could not be asked for.
bool is_query_word(std::string_view name);

// A moment as searched for and as found: a day is the moment it begins, in UTC.
std::optional<Timestamp> find_moment(const std::string& text);

inline constexpr std::size_t longest_query = 4096;  // bytes
inline constexpr int deepest_query = 32;            // parentheses and NOTs within one another

// ---- what a query says

using Operand = std::variant<bool, std::int64_t, double, std::string, Timestamp>;

// Operands are of the attribute's type: an int is compared with integers, a double with doubles.
struct Comparison {
  // `=` is any_of one operand, `!=` none_of one. Of a list these ask for its members.
  enum class Operator { any_of, none_of, less, at_most, greater, at_least };

  std::string attribute;
  AttributeType type = AttributeType::keyword;
  Operator op = Operator::any_of;
  std::vector<Operand> operands = {};
  friend bool operator==(const Comparison&, const Comparison&) = default;
};

struct Expression {
  enum class Kind { comparison, negation, all, any };

  Kind kind = Kind::comparison;
  Comparison comparison = {};          // of that kind
  std::vector<Expression> parts = {};  // of the others; a negation has one
  friend bool operator==(const Expression&, const Expression&) = default;
};

// Somewhere in the workflow id or the business key, in whatever case.
struct Substring {
  std::string text;
  friend bool operator==(const Substring&, const Substring&) = default;
};

using VisibilityQuery = std::variant<Substring, Expression>;

// Whether a text is read as an expression: there is a comparison in it, one of = < > or IN (,
// outside of quotes. AND, OR and NOT alone do not make one: business keys contain such words.
bool is_expression(std::string_view text);

// A text that is no expression is searched for; in quotes, what is within them is. An error says
// where the text stops making sense and what could stand there.
Result<VisibilityQuery> parse_visibility_query(std::string_view text, const AttributeTypes& custom);

// ---- runs it is asked about

struct VisibleRun {
  // What only history knows.
  struct Recorded {
    std::string task_queue;
    std::string build_id = {};
    std::string business_key = {};
    std::optional<Value> search_attributes = {};
  };

  std::string workflow_type;
  std::string workflow_id;
  std::string run_id;
  std::string status;  // as recorded; a run that has not ended is "running" besides
  Timestamp started_at = {};
  std::optional<Timestamp> closed_at = {};
  std::optional<Recorded> recorded = {};  // absent: nobody has looked there yet
};

// Absent: only what is recorded in the history can tell, and that is not there yet.
std::optional<bool> verdict(const VisibilityQuery& query, const VisibleRun& run);

// Of a run whose history has been looked at. A value that is not of the registered type counts as
// none.
bool matches(const VisibilityQuery& query, const VisibleRun& run);

// The only workflow that can match, if the query names it: a list may go straight to it.
std::optional<std::string> only_workflow_id(const VisibilityQuery& query);

}  // namespace dw::views
