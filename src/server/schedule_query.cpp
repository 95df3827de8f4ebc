#include "server/schedule_query.hpp"

#include "core/utf8.hpp"
#include "views/visibility_tokens.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dw::server {
namespace {

using views::AttributeType;
using views::Operand;
using Token = views::QueryToken;

constexpr std::string_view bad_syntax = "invalid_schedule_visibility_query";
constexpr std::string_view bad_predicate = "unsupported_schedule_visibility_predicate";
constexpr std::string_view bad_field = "unsupported_schedule_visibility_field";

constexpr std::string_view schedule_fields[] = {"ScheduleId", "Status", "WorkflowType", "TaskQueue",
                                                "Note"};

class ScheduleQueryParser {
 public:
  ScheduleQueryParser(std::string_view text, const views::AttributeTypes& custom)
      : lexer_(text), custom_(custom) {}

  ReadScheduleQuery parse() && {
    if (advance()) {
      while (equality() && conjunction()) {
      }
    }
    if (read_.refusal) read_.query = {};
    return std::move(read_);
  }

 private:
  bool refuse(std::string_view reason, std::size_t at, std::string_view why) {
    read_.refusal = QueryRefusal{reason, lexer_.wrong(at, why).message};
    return false;
  }
  bool advance() {
    auto token = lexer_.next();
    if (!token) {
      read_.refusal = QueryRefusal{bad_syntax, token.error().message};
      return false;
    }
    token_ = *std::move(token);
    return true;
  }
  bool at_word(std::string_view word) const {
    return token_.kind == Token::Kind::word && views::same_word(token_.text, word);
  }
  bool at_symbol(std::string_view symbol) const {
    return token_.kind == Token::Kind::symbol && token_.text == symbol;
  }

  bool equality() {
    if (at_word("not") || at_symbol("(")) {
      return refuse(bad_predicate, token_.at, "only Field = literal, joined by AND, is understood");
    }
    if (token_.kind != Token::Kind::word || views::is_query_word(token_.text)) {
      return refuse(bad_syntax, token_.at, "expected the name of a field");
    }
    const Token name = token_;
    if (!advance() || !equals()) return false;
    const auto type = type_of(name.text);
    if (!type) {
      return refuse(bad_field, name.at,
                    fmt::format("schedules have no field '{}'; use one of {}, or a registered "
                                "search attribute",
                                name.text, fmt::join(schedule_fields, ", ")));
    }
    auto value = fitting(*type);
    if (!value) {
      return refuse(bad_syntax, token_.at,
                    fmt::format("{} is of the type {}, and this is no value of it", name.text,
                                views::to_string(*type)));
    }
    read_.query.all.push_back({std::string{name.text}, *type, *std::move(value)});
    return advance();
  }

  // The `=` is behind afterwards.
  bool equals() {
    if (at_symbol("=")) return advance();
    const bool orders =
        at_symbol("!=") || at_symbol("<") || at_symbol("<=") || at_symbol(">") || at_symbol(">=");
    if (orders || token_.kind == Token::Kind::word) {
      return refuse(
          bad_predicate, token_.at,
          fmt::format("'{}' is not understood here; fields are compared with = only", token_.text));
    }
    return refuse(bad_syntax, token_.at, "expected =");
  }

  bool conjunction() {
    if (token_.kind == Token::Kind::end) return false;
    if (at_word("and")) return advance();
    if (at_word("or")) {
      return refuse(bad_predicate, token_.at, "OR is not understood here; ask twice");
    }
    return refuse(bad_syntax, token_.at, "expected AND or the end");
  }

  std::optional<AttributeType> type_of(std::string_view name) const {
    if (std::ranges::find(schedule_fields, name) != std::end(schedule_fields)) {
      return AttributeType::keyword;
    }
    const auto found = custom_.find(name);
    return found == custom_.end() ? std::nullopt : std::optional{found->second};
  }

  // The literal at hand as a value of that type.
  std::optional<Operand> fitting(AttributeType type) const {
    if (type == AttributeType::boolean) {
      if (!at_word("true") && !at_word("false")) return std::nullopt;
      return Operand{at_word("true")};
    }
    if (token_.kind != Token::Kind::literal) return std::nullopt;
    const auto* text = std::get_if<std::string>(&token_.value);
    const auto* whole = std::get_if<std::int64_t>(&token_.value);
    const auto* real = std::get_if<double>(&token_.value);
    switch (type) {
      case AttributeType::integer:
        return whole ? std::optional<Operand>{*whole} : std::nullopt;
      case AttributeType::real:
        if (whole) return Operand{static_cast<double>(*whole)};
        return real ? std::optional<Operand>{*real} : std::nullopt;
      case AttributeType::datetime:
        if (const auto at = parse_timestamp(text ? *text : "")) return Operand{*at};
        return std::nullopt;
      default:
        return text ? std::optional<Operand>{*text} : std::nullopt;
    }
  }

  views::QueryLexer lexer_;
  const views::AttributeTypes& custom_;
  Token token_ = {};
  ReadScheduleQuery read_ = {};
};

// ---- matching

bool holds_text(const Value& value, const std::string& wanted) {
  if (const auto* text = value.if_string()) return *text == wanted;
  const auto* list = value.if_array();
  return list && std::ranges::any_of(*list, [&](const Value& item) {
           return item.if_string() && *item.if_string() == wanted;
         });
}

bool attribute_equals(const Value& value, const Operand& wanted) {
  if (const auto* text = std::get_if<std::string>(&wanted)) return holds_text(value, *text);
  if (const auto* whole = std::get_if<std::int64_t>(&wanted)) {
    return value.if_integer() && *value.if_integer() == *whole;
  }
  if (const auto* truth = std::get_if<bool>(&wanted)) {
    return value.if_boolean() && *value.if_boolean() == *truth;
  }
  if (const auto* at = std::get_if<Timestamp>(&wanted)) {
    const auto given = parse_timestamp(value.if_string() ? *value.if_string() : "");
    return given && *given == *at;
  }
  const double number = std::get<double>(wanted);
  if (const auto* real = value.if_real()) return *real == number;
  return value.if_integer() && static_cast<double>(*value.if_integer()) == number;
}

// Where its runs are to be found: what was said for the schedule goes before its action.
std::string_view queue_of_runs(const schedule::Schedule& schedule) {
  if (schedule.queue) return *schedule.queue;
  const auto* start = std::get_if<schedule::StartWorkflow>(&schedule.action);
  return start && !start->task_queue.empty() ? std::string_view{start->task_queue} : "default";
}

bool holds_for(const ScheduleQuery::Equality& equality, const schedule::Schedule& schedule) {
  const auto is = [&](std::string_view text) {
    return std::get<std::string>(equality.value) == text;
  };
  if (equality.field == "ScheduleId") return is(schedule.schedule_id);
  if (equality.field == "Status") return is(to_string(schedule.status));
  if (equality.field == "WorkflowType") return is(workflow_type_of(schedule.action));
  if (equality.field == "TaskQueue") return is(queue_of_runs(schedule));
  if (equality.field == "Note") return schedule.note && is(*schedule.note);
  const Value* value = schedule.search_attributes.find(equality.field);
  return value && attribute_equals(*value, equality.value);
}

std::string operand_text(const Operand& operand) {
  return std::visit(
      []<typename T>(const T& value) {
        if constexpr (std::is_same_v<T, Timestamp>) {
          return to_json(Value{format_timestamp(value)});
        } else {
          return to_json(Value{value});
        }
      },
      operand);
}

}  // namespace

ReadScheduleQuery read_schedule_query(std::string_view text, const views::AttributeTypes& custom) {
  if (!is_utf8(text)) return {{}, QueryRefusal{bad_syntax, "the query is not UTF-8"}};
  return ScheduleQueryParser{text, custom}.parse();
}

bool matches(const ScheduleQuery& query, const schedule::Schedule& schedule) {
  return std::ranges::all_of(query.all,
                             [&](const auto& equality) { return holds_for(equality, schedule); });
}

std::string normalized(const ScheduleQuery& query) {
  std::vector<std::string> parts;
  for (const auto& equality : query.all) {
    parts.push_back(fmt::format("{} = {}", equality.field, operand_text(equality.value)));
  }
  std::ranges::sort(parts);
  return fmt::format("{}", fmt::join(parts, " AND "));
}

}  // namespace dw::server
