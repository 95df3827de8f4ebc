#include "runtime/failures.hpp"

#include <cxxabi.h>
#include <fmt/format.h>

#include <array>
#include <functional>
#include <stdexcept>

namespace dw::runtime {
namespace {

using history::Failure;

// Names no exception class: what a thrower of plain text leaves behind.
struct Text : std::exception {
  explicit Text(std::string message) : message_(std::move(message)) {}
  const char* what() const noexcept override { return message_.c_str(); }
  std::string message_;
};

using Raise = void (*)(const std::string&, const ActivityError*, const ChildError*);

template <typename E>
void raise_plain(const std::string& message, const ActivityError* activity,
                 const ChildError* child) {
  dw::detail::raise_as<E>(E{message}, activity, child);
}

struct BuiltIn {
  std::string_view name;
  Raise raise;
};
constexpr std::array built_in{
    BuiltIn{"std::runtime_error", raise_plain<std::runtime_error>},
    BuiltIn{"std::logic_error", raise_plain<std::logic_error>},
    BuiltIn{"std::invalid_argument", raise_plain<std::invalid_argument>},
    BuiltIn{"std::domain_error", raise_plain<std::domain_error>},
    BuiltIn{"std::length_error", raise_plain<std::length_error>},
    BuiltIn{"std::out_of_range", raise_plain<std::out_of_range>},
    BuiltIn{"std::range_error", raise_plain<std::range_error>},
    BuiltIn{"std::overflow_error", raise_plain<std::overflow_error>},
    BuiltIn{"std::underflow_error", raise_plain<std::underflow_error>},
    BuiltIn{"dw::NonRetryableError", raise_plain<NonRetryableError>},
    BuiltIn{"dw::VersionNotSupported", raise_plain<VersionNotSupported>},
};

// Standard exceptions without a message of their own, ours, and text: known, if not by type.
bool known_by_name(std::string_view name) {
  return name.starts_with("std::") || name.starts_with("dw::") || name.starts_with("__gnu_cxx::") ||
         name == "const char*" || name == "unknown" || name == "int" ||
         name == "WorkflowCancelled" || name == "WorkflowTerminated" || name == "WorkflowTimedOut";
}

}  // namespace

Failure describe_current_exception(const Registry& registry) {
  const std::type_info* type = abi::__cxa_current_exception_type();
  const auto* registered = type ? registry.find_exception(*type) : nullptr;
  Failure failure;
  try {
    throw;
  } catch (const NonRetryableError& e) {
    failure = {"dw::NonRetryableError", {}, e.what(), true};
  } catch (const ActivityError& e) {
    // Let through by a workflow: what failed was the activity, and this is what it said.
    failure = {e.exception_class(), e.exception_type(), e.message(), false};
    registered = registry.find_exception(std::string_view{e.exception_type()});
  } catch (const ChildError& e) {
    failure = {e.exception_class(), e.exception_type(), e.message(), false};
    registered = registry.find_exception(std::string_view{e.exception_type()});
  } catch (const RestoredWorkflowError& e) {
    return {e.type(), e.type(), e.message(), false};
  } catch (const std::exception& e) {
    failure = {dw::detail::demangled(typeid(e)), {}, e.what(), false};
  } catch (const std::string& text) {
    failure = {"std::string", {}, text, false};
  } catch (const char* text) {
    failure = {"const char*", {}, text, false};
  } catch (...) {
    failure = {type ? dw::detail::demangled(*type) : "unknown",
               {},
               "an exception without a message",
               false};
  }
  if (!registered) return failure;
  failure.exception_type = registered->type;
  const Value properties = registered->describe();
  if (!properties.is_null()) {
    if (auto encoded = encode(properties, json_codec)) failure.properties = *std::move(encoded);
  }
  return failure;
}

std::string_view to_string(Resolution::Source source) {
  static constexpr std::string_view words[] = {"exception_type", "class_alias", "recorded_class",
                                               "foreign",        "unresolved",  "misconfigured"};
  return words[static_cast<std::size_t>(source)];
}

Resolution resolve(const Registry& registry, const Failure& failure) {
  using Source = Resolution::Source;
  if (const auto* found = registry.find_exception(std::string_view{failure.exception_type})) {
    return {Source::exception_type, found, {}};
  }
  if (const auto alias = registry.exception_alias(failure.exception_class); !alias.empty()) {
    if (const auto* found = registry.find_exception(alias)) return {Source::class_alias, found, {}};
    return {
        Source::misconfigured, nullptr,
        fmt::format("class '{}' is mapped to exception type '{}', which is not registered; call "
                    "registry.exception<…>(\"{}\")",
                    failure.exception_class, alias, alias)};
  }
  if (known_by_name(failure.exception_class)) return {Source::recorded_class, nullptr, {}};
  return {
      Source::unresolved, nullptr,
      fmt::format("exception '{}'{} is not registered here; call "
                  "registry.exception<{}>(\"{}\") before the engine starts, then repair the run",
                  failure.exception_class,
                  failure.exception_type.empty()
                      ? ""
                      : fmt::format(" (recorded as '{}')", failure.exception_type),
                  failure.exception_class,
                  failure.exception_type.empty() ? "a.name" : failure.exception_type)};
}

void throw_again(const Resolution& resolution, const Failure& failure,
                 const ActivityError* activity, const ChildError* child) {
  if (resolution.definition) {
    Value properties;
    if (failure.properties) {
      auto decoded = decode(*failure.properties);
      if (!decoded) throw EngineError{std::move(decoded).error()};
      properties = *std::move(decoded);
    }
    resolution.definition->raise(failure.message, properties, activity, child);
  }
  const auto* found = std::ranges::find(built_in, failure.exception_class, &BuiltIn::name);
  if (found != built_in.end()) found->raise(failure.message, activity, child);
  dw::detail::raise_as<Text>(Text{failure.message}, activity, child);
}

}  // namespace dw::runtime
