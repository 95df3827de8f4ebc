#include "engine/contract.hpp"
#include "engine/standalone.hpp"

#include <dw/registry.hpp>

#include <cxxabi.h>
#include <fmt/format.h>

#include <cstdlib>

namespace dw {

namespace {

std::string demangle(const char* symbol) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name{
      abi::__cxa_demangle(symbol, nullptr, nullptr, &status), &std::free};
  return status == 0 ? name.get() : symbol;
}

}  // namespace

namespace detail {

std::string demangled(const std::type_info& type) {
  return demangle(type.name());
}

}  // namespace detail

Registry::Registry() = default;

void Registry::claim(std::string_view kind, Names& names, std::string& type,
                     const std::string& declared, detail::FunctionKey function,
                     std::optional<std::type_index> implementation, bool taken) {
  if (frozen_) {
    throw UsageError{
        fmt::format("{} '{}' is registered after the registry was frozen; register "
                    "everything before the engine starts",
                    kind, type)};
  }
  if (type.empty()) {
    conflicts_.push_back(fmt::format("a {} has no type key; name one when registering it", kind));
    return;
  }
  if (!declared.empty() && declared != type) {
    conflicts_.push_back(fmt::format(
        "{} '{}' is declared as '{}' in its class and registered as '{}'; use one key in "
        "both places",
        kind, declared, declared, type));
  }
  if (taken)
    conflicts_.push_back(fmt::format("two {0} implementations share the key '{1}'", kind, type));

  const auto check_twice = [&](const std::string& other) {
    if (other != type) {
      conflicts_.push_back(fmt::format(
          "one {} implementation stands under two keys, '{}' and '{}'; keep one of them", kind,
          other, type));
    }
  };
  if (function) {
    const auto [entry, fresh] = names.by_function.try_emplace(function, type);
    if (!fresh) check_twice(entry->second);
  }
  if (implementation) {
    const auto [entry, fresh] = names.by_class.try_emplace(*implementation, type);
    if (!fresh) check_twice(entry->second);
  }
}

namespace {

// What cannot be registered is kept aside, so that the fine print of a refused registration has
// somewhere to go until freeze() reports the conflict.
template <typename Definition, typename Map>
Definition& insert(Map& definitions, std::vector<std::unique_ptr<Definition>>& refused,
                   const std::string& type, std::string implementation) {
  auto definition = std::make_unique<Definition>();
  definition->type = type;
  definition->implementation = std::move(implementation);
  if (type.empty() || definitions.contains(type)) {
    refused.push_back(std::move(definition));
    return *refused.back();
  }
  return *(definitions[type] = std::move(definition));
}

std::string name_of(const std::optional<std::type_index>& implementation, const std::string& type) {
  return implementation ? demangle(implementation->name()) : type;
}

}  // namespace

detail::WorkflowDefinition& Registry::add_workflow(std::string type, std::string declared,
                                                   detail::FunctionKey function,
                                                   std::optional<std::type_index> implementation) {
  if (type.empty()) type = declared;
  if (type == engine::standalone_type) {
    conflicts_.push_back(fmt::format(
        "workflow type '{}' is reserved for activities that stand alone; name it otherwise", type));
  }
  claim("workflow", workflow_names_, type, declared, function, implementation,
        workflows_.contains(type));
  return insert(workflows_, refused_workflows_, type, name_of(implementation, type));
}

detail::ActivityDefinition& Registry::add_activity(std::string type, std::string declared,
                                                   detail::FunctionKey function,
                                                   std::optional<std::type_index> implementation) {
  if (type.empty()) type = declared;
  claim("activity", activity_names_, type, declared, function, implementation,
        activities_.contains(type));
  return insert(activities_, refused_activities_, type, name_of(implementation, type));
}

namespace {

// What every dw::async() runs: looks its code up by name.
Payload run_callback(const std::map<std::string, detail::Invoke, std::less<>>& callbacks,
                     const Payload& payload) {
  auto given = detail::decode_arguments<std::tuple<std::string, Value>>(payload);
  if (!given) throw EngineError{std::move(given).error()};
  const auto& [name, arguments] = *given;
  const auto found = callbacks.find(name);
  if (found == callbacks.end()) {
    throw EngineError{
        {ErrorCode::not_found,
         fmt::format("no callback '{}' is registered; call registry.callback() with it", name)}};
  }
  return found->second(detail::encode_or_throw(arguments));
}

}  // namespace

void Registry::add_callback(std::string name, detail::FunctionKey function, detail::Invoke invoke) {
  if (!callbacks_) {
    callbacks_ = std::make_shared<Callbacks>();
    auto& definition = add_workflow(std::string{detail::async_type}, {}, nullptr, {});
    definition.invoke = [callbacks = callbacks_](void*, const Payload& arguments) {
      return run_callback(*callbacks, arguments);
    };
    definition.check_arguments = detail::check_arguments<std::tuple<std::string, Value>>;
  }
  if (name.empty()) conflicts_.push_back("a callback has no name; give it one");
  if (!callbacks_->try_emplace(name, std::move(invoke)).second) {
    conflicts_.push_back(fmt::format("two callbacks share the name '{}'", name));
  }
  const auto [known, fresh] = callback_names_.try_emplace(function, name);
  if (!fresh && known->second != name) {
    conflicts_.push_back(
        fmt::format("one callback stands under two names, '{}' and '{}'", known->second, name));
  }
}

std::string_view Registry::callback_name(detail::FunctionKey function) const {
  const auto found = callback_names_.find(function);
  if (found == callback_names_.end()) {
    throw UsageError{
        "this function is not registered as a callback; call registry.callback() with it"};
  }
  return found->second;
}

void Registry::add_exception(detail::ExceptionDefinition definition, const std::type_info& type) {
  if (frozen_) {
    throw UsageError{
        fmt::format("exception '{}' is registered after the registry was frozen", definition.type)};
  }
  if (definition.type.empty()) {
    conflicts_.push_back("an exception has no type key; name one when registering it");
    return;
  }
  const auto [known, fresh] = exception_types_.try_emplace(type, definition.type);
  if (!fresh && known->second != definition.type) {
    conflicts_.push_back(
        fmt::format("exception {} stands under two keys, '{}' and '{}'; keep one of them",
                    definition.exception_class, known->second, definition.type));
  }
  const std::string key = definition.type;
  const auto [other, first] = exceptions_.try_emplace(key, std::move(definition));
  if (!first && exception_types_.at(type) == key && fresh) {
    conflicts_.push_back(fmt::format("two exceptions share the key '{}'", key));
  }
}

void Registry::exception_class_alias(std::string recorded_class, std::string type) {
  exception_aliases_.insert_or_assign(std::move(recorded_class), std::move(type));
}

const detail::ExceptionDefinition* Registry::find_exception(const std::type_info& type) const {
  const auto found = exception_types_.find(type);
  return found == exception_types_.end() ? nullptr : find_exception(found->second);
}

const detail::ExceptionDefinition* Registry::find_exception(std::string_view type) const {
  const auto found = exceptions_.find(type);
  return found == exceptions_.end() ? nullptr : &found->second;
}

std::string_view Registry::exception_alias(std::string_view recorded_class) const {
  const auto found = exception_aliases_.find(recorded_class);
  return found == exception_aliases_.end() ? std::string_view{} : found->second;
}

namespace {

// Two signals of one name, a parameter without a type: what no caller could make sense of.
void check_declared(const detail::WorkflowDefinition& definition,
                    std::vector<std::string>& conflicts) {
  const auto check = [&](std::string_view kind, const std::vector<Contract>& contracts) {
    for (std::size_t i = 0; i < contracts.size(); ++i) {
      if (auto fine = engine::check(contracts[i]); !fine) {
        conflicts.push_back(fmt::format("workflow '{}', {} '{}': {}", definition.type, kind,
                                        contracts[i].name, fine.error().message));
      }
      for (std::size_t j = 0; j < i; ++j) {
        if (contracts[i].name == contracts[j].name) {
          conflicts.push_back(fmt::format("workflow '{}' declares the {} '{}' twice",
                                          definition.type, kind, contracts[i].name));
        }
      }
    }
  };
  check("query", definition.declared.queries);
  check("signal", definition.declared.signals);
  check("update", definition.declared.updates);
}

}  // namespace

void Registry::freeze() {
  if (frozen_) return;
  for (auto& [type, definition] : workflows_) {
    check_declared(*definition, conflicts_);
    definition->fingerprint =
        engine::definition_fingerprint(type, definition->revision, definition->declared);
    definition->snapshot = std::make_shared<const Declarations>(definition->declared);
  }
  if (!conflicts_.empty()) {
    throw UsageError{fmt::format("the registry cannot be used: {}", fmt::join(conflicts_, "; "))};
  }
  frozen_ = true;
}

const detail::WorkflowDefinition* Registry::find_workflow(std::string_view type) const {
  const auto found = workflows_.find(type);
  return found == workflows_.end() ? nullptr : found->second.get();
}

const detail::ActivityDefinition* Registry::find_activity(std::string_view type) const {
  const auto found = activities_.find(type);
  return found == activities_.end() ? nullptr : found->second.get();
}

namespace {

template <typename Definitions>
std::vector<std::string_view> types_in(const Definitions& definitions) {
  std::vector<std::string_view> types;
  for (const auto& [type, definition] : definitions) types.push_back(type);
  return types;
}

}  // namespace

std::vector<std::string_view> Registry::workflow_types() const {
  return types_in(workflows_);
}

std::vector<std::string_view> Registry::activity_types() const {
  return types_in(activities_);
}

std::string_view Registry::workflow_type(detail::FunctionKey function) const {
  const auto found = workflow_names_.by_function.find(function);
  if (found == workflow_names_.by_function.end()) {
    throw UsageError{
        "this function is not registered as a workflow; call registry.workflow() with it"};
  }
  return found->second;
}

std::string_view Registry::workflow_type(const std::type_info& type) const {
  const auto found = workflow_names_.by_class.find(std::type_index{type});
  if (found == workflow_names_.by_class.end()) {
    throw UsageError{
        fmt::format("class {} is not registered as a workflow; call "
                    "registry.workflow<…>() with it",
                    detail::demangled(type))};
  }
  return found->second;
}

std::string_view Registry::activity_type(detail::FunctionKey function) const {
  const auto found = activity_names_.by_function.find(function);
  if (found == activity_names_.by_function.end()) {
    throw UsageError{
        "this function is not registered as an activity; call registry.activity() with it"};
  }
  return found->second;
}

}  // namespace dw
