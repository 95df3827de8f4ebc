// The workflows and activities a program knows, each under one durable type key. The key, not the
// C++ name, is what history remembers: rename functions as you like, keep the keys.
//
//   dw::Registry registry;
//   registry.activity("payments.charge", charge).tries(5);
//   registry.workflow("shop.checkout", checkout).signal(approve);
//   registry.workflow<Subscription>("shop.subscription")
//       .signal(cancel)
//       .query("balance", &Subscription::balance)
//       .update("top-up", &Subscription::top_up, {"amount"});
#pragma once
#include <dw/contract.hpp>
#include <dw/workflow.hpp>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <typeindex>
#include <unordered_map>
#include <vector>

namespace dw {

namespace detail {

// Arguments in, result out; exceptions of user code pass through.
using Invoke = std::function<Payload(const Payload& arguments)>;
// The same on a workflow's object; null for a plain function.
using InvokeOn = std::function<Payload(void* object, const Payload& arguments)>;

using Members = std::map<std::string, InvokeOn, std::less<>>;
inline const InvokeOn* find_member(const Members* members, std::string_view name) {
  if (!members) return nullptr;
  const auto found = members->find(name);
  return found == members->end() ? nullptr : &found->second;
}

struct WorkflowDefinition {
  std::string type;
  std::string implementation;
  std::string revision;
  std::string connection;
  std::string queue;
  Declarations declared;
  std::function<std::shared_ptr<void>()> make;  // a fresh object for every run
  InvokeOn invoke;
  Members queries;
  Members updates;
  std::function<Result<void>(const Payload&)> check_arguments;
  // Since freeze():
  std::string fingerprint;
  std::shared_ptr<const Declarations> snapshot;
};

struct ActivityDefinition {
  std::string type;
  std::string implementation;
  std::string connection;
  std::string queue;
  int tries = 1;  // 0: for ever
  std::vector<std::chrono::seconds> backoff;
  Invoke invoke;
};

// How an exception goes into history and comes back out of it.
struct ExceptionDefinition {
  std::string type;  // the durable alias
  std::string exception_class;
  std::function<Value()> describe;  // of the exception being handled
  // Throws it again, marked as the activity's or the child's.
  std::function<void(const std::string& message, const Value& properties, const ActivityError*,
                     const ChildError*)>
      raise;
};

template <typename E, typename Mark>
struct Restored : E, Mark {
  Restored(E thrown, Mark mark) : E(std::move(thrown)), Mark(std::move(mark)) {}
};

template <typename E>
[[noreturn]] void raise_as(E thrown, const ActivityError* activity, const ChildError* child) {
  if constexpr (!std::is_final_v<E>) {
    if (activity) throw Restored<E, ActivityError>{std::move(thrown), *activity};
    if (child) throw Restored<E, ChildError>{std::move(thrown), *child};
  }
  throw thrown;
}

// The word of a contract for a C++ type.
template <typename T>
std::string type_word() {
  using U = std::remove_cvref_t<T>;
  if constexpr (std::same_as<U, bool>) {
    return "bool";
  } else if constexpr (Integer<U>) {
    return "int";
  } else if constexpr (Real<U>) {
    return "float";
  } else if constexpr (OneOf<U, std::string, std::string_view, const char*>) {
    return "string";
  } else if constexpr (DescribedStruct<U> || StringMap<U>) {
    return "object";
  } else if constexpr (Sequence<U>) {
    return "array";
  } else if constexpr (requires {
                         typename U::value_type;
                         requires std::same_as<U, std::optional<typename U::value_type>>;
                       }) {
    return "?" + type_word<typename U::value_type>();
  } else {
    return "mixed";
  }
}

template <typename... P>
Contract contract_of(std::string name, const std::vector<std::string>& names) {
  Contract contract{std::move(name), std::vector<Parameter>{}};
  [[maybe_unused]] const auto add = [&]<typename T>(std::type_identity<T>) {
    const auto position = contract.parameters->size();
    Parameter parameter;
    parameter.name =
        position < names.size() ? names[position] : "argument" + std::to_string(position + 1);
    parameter.type = type_word<T>();
    parameter.allows_null = parameter.type.starts_with('?') || parameter.type == "mixed";
    contract.parameters->push_back(std::move(parameter));
  };
  (add(std::type_identity<P>{}), ...);
  return contract;
}

template <typename Tuple>
struct ContractOf;
template <typename... P>
struct ContractOf<std::tuple<P...>> {
  static Contract make(std::string name, const std::vector<std::string>& names) {
    return contract_of<P...>(std::move(name), names);
  }
};

template <typename Args>
Result<Args> decode_arguments(const Payload& payload) {
  auto value = decode(payload);
  if (!value) return std::move(value).error();
  return from_arguments<Args>(*value);
}

template <typename Args>
Result<void> check_arguments(const Payload& payload) {
  auto args = decode_arguments<Args>(payload);
  if (!args) return std::move(args).error();
  return {};
}

template <typename Args, typename F>
Payload invoke_with(F&& function, const Payload& payload) {
  auto args = decode_arguments<Args>(payload);
  if (!args) throw EngineError{std::move(args).error()};
  using R = decltype(std::apply(function, *std::move(args)));
  if constexpr (std::is_void_v<R>) {
    std::apply(function, *std::move(args));
    return encode_or_throw(Value{});
  } else {
    return encode_or_throw(
        to_value<std::remove_cvref_t<R>>(std::apply(function, *std::move(args))));
  }
}

// The argument tuple of a callable: a function, a lambda, or a class with handle().
template <typename F>
struct Signature : Signature<decltype(&F::operator())> {};
template <typename R, typename... P>
struct Signature<R (*)(P...)> {
  using Args = std::tuple<std::remove_cvref_t<P>...>;
  using Returned = R;
};
template <typename C, typename R, typename... P>
struct Signature<R (C::*)(P...)> : Signature<R (*)(P...)> {};
template <typename C, typename R, typename... P>
struct Signature<R (C::*)(P...) const> : Signature<R (*)(P...)> {};

template <typename T>
concept HasHandle = requires {
  &T::handle;
};

// The key written in code, if the class has one: static constexpr std::string_view type = "…".
template <typename T>
std::string declared_type() {
  if constexpr (requires { std::string_view{T::type}; }) {
    return std::string{std::string_view{T::type}};
  } else {
    return {};
  }
}

std::string demangled(const std::type_info& type);

}  // namespace detail

// Fine print of a registration: `registry.activity(…).tries(3).queue("slow")`.
class ActivityRegistration {
 public:
  explicit ActivityRegistration(detail::ActivityDefinition& definition) : definition_(definition) {}
  // Attempts in all; 1 means no retry, 0 means for ever.
  ActivityRegistration& tries(int attempts) { return definition_.tries = attempts, *this; }
  ActivityRegistration& backoff(std::vector<std::chrono::seconds> delays) {
    return definition_.backoff = std::move(delays), *this;
  }
  ActivityRegistration& connection(std::string name) {
    return definition_.connection = std::move(name), *this;
  }
  ActivityRegistration& queue(std::string name) {
    return definition_.queue = std::move(name), *this;
  }

 private:
  detail::ActivityDefinition& definition_;
};

// Fine print of a workflow's registration.
template <typename Self>
class WorkflowFinePrint {
 public:
  explicit WorkflowFinePrint(detail::WorkflowDefinition& definition) : definition_(definition) {}
  // Names this version of the code; part of the fingerprint recorded with every run.
  Self& revision(std::string text) { return definition_.revision = std::move(text), self(); }
  Self& connection(std::string name) { return definition_.connection = std::move(name), self(); }
  Self& queue(std::string name) { return definition_.queue = std::move(name), self(); }
  // Declares a signal; others are refused when they come.
  template <typename... T>
  Self& signal(const Signal<T...>& signal) {
    definition_.declared.signals.push_back(
        detail::contract_of<T...>(signal.name, signal.parameters));
    return self();
  }

 protected:
  detail::WorkflowDefinition& definition_;

 private:
  Self& self() { return static_cast<Self&>(*this); }
};

class WorkflowRegistration : public WorkflowFinePrint<WorkflowRegistration> {
 public:
  using WorkflowFinePrint::WorkflowFinePrint;
};

// Of a class: it has state that others may ask for and change.
template <typename W>
class ClassRegistration : public WorkflowFinePrint<ClassRegistration<W>> {
 public:
  using WorkflowFinePrint<ClassRegistration<W>>::WorkflowFinePrint;

  // Answers from the state the workflow has reached; changes nothing, hence const.
  template <typename R, typename... P>
  ClassRegistration& query(std::string name, R (W::*member)(P...) const,
                           const std::vector<std::string>& parameters = {}) {
    add(this->definition_.declared.queries, this->definition_.queries, std::move(name), member,
        parameters);
    return *this;
  }
  // Changes the state; runs inside the workflow, between two of its steps, and must not take any.
  template <typename R, typename... P>
  ClassRegistration& update(std::string name, R (W::*member)(P...),
                            const std::vector<std::string>& parameters = {}) {
    add(this->definition_.declared.updates, this->definition_.updates, std::move(name), member,
        parameters);
    return *this;
  }

 private:
  template <typename Member>
  static void add(std::vector<Contract>& contracts, detail::Members& members, std::string name,
                  Member member, const std::vector<std::string>& parameters) {
    using Args = typename detail::Signature<Member>::Args;
    contracts.push_back(detail::ContractOf<Args>::make(name, parameters));
    members.insert_or_assign(std::move(name), [member](void* object, const Payload& arguments) {
      return detail::invoke_with<Args>(
          [&](auto&&... args) {
            return (static_cast<W*>(object)->*member)(std::forward<decltype(args)>(args)...);
          },
          arguments);
    });
  }
};

class Registry {
 public:
  Registry();

  template <typename R, typename... P>
  WorkflowRegistration workflow(std::string type, R (*function)(P...)) {
    auto& definition = add_workflow(std::move(type), {}, detail::function_key(function), {});
    using Args = std::tuple<std::remove_cvref_t<P>...>;
    definition.invoke = [function](void*, const Payload& arguments) {
      return detail::invoke_with<Args>(function, arguments);
    };
    definition.check_arguments = detail::check_arguments<Args>;
    return WorkflowRegistration{definition};
  }

  // A class with `R handle(Args…)`: every run gets a fresh object. The key may be given here, in
  // the class (`static constexpr std::string_view type`), or both if they agree.
  template <detail::HasHandle W>
  ClassRegistration<W> workflow(std::string type = {}) {
    auto& definition =
        add_workflow(std::move(type), detail::declared_type<W>(), nullptr, typeid(W));
    using Args = typename detail::Signature<decltype(&W::handle)>::Args;
    definition.make = [] { return std::static_pointer_cast<void>(std::make_shared<W>()); };
    definition.invoke = [](void* object, const Payload& arguments) {
      return detail::invoke_with<Args>(
          [&](auto&&... args) {
            return static_cast<W*>(object)->handle(std::forward<decltype(args)>(args)...);
          },
          arguments);
    };
    definition.check_arguments = detail::check_arguments<Args>;
    return ClassRegistration<W>{definition};
  }

  template <typename R, typename... P>
  ActivityRegistration activity(std::string type, R (*function)(P...)) {
    auto& definition = add_activity(std::move(type), {}, detail::function_key(function), {});
    definition.invoke = [function](const Payload& arguments) {
      return detail::invoke_with<std::tuple<std::remove_cvref_t<P>...>>(function, arguments);
    };
    return ActivityRegistration{definition};
  }

  // A callable object, for activities that need something of the program: a connection pool, a
  // client. Called from several threads at once.
  template <typename F>
  requires std::is_class_v<F> ActivityRegistration activity(std::string type, F callable) {
    auto& definition =
        add_activity(std::move(type), detail::declared_type<F>(), nullptr, typeid(F));
    definition.invoke = [callable = std::move(callable)](const Payload& arguments) {
      return detail::invoke_with<typename detail::Signature<F>::Args>(callable, arguments);
    };
    return ActivityRegistration{definition};
  }

  // Workflow code for dw::async(), by name.
  template <typename R, typename... P>
  void callback(std::string name, R (*function)(P...)) {
    add_callback(
        std::move(name), detail::function_key(function), [function](const Payload& arguments) {
          return detail::invoke_with<std::tuple<std::remove_cvref_t<P>...>>(function, arguments);
        });
  }

  // Gives an exception of yours a durable name: thrown by an activity or a child, it is caught in
  // the workflow as what it is, also after a restart, a rename or a move. It must convert like any
  // other value, or be made from its message alone.
  template <typename E>
  void exception(std::string type) {
    if constexpr (ToValue<E> && FromValue<E>) {
      exception<E>(
          std::move(type), [](const E& e) { return to_value(e); },
          [](const std::string&, const Value& properties) {
            auto made = from_value<E>(properties);
            if (!made) throw EngineError{std::move(made).error()};
            return *std::move(made);
          });
    } else {
      static_assert(std::constructible_from<E, std::string>,
                    "say how this exception is written and read: "
                    "exception<E>(type, to_value, from_message_and_value)");
      exception<E>(
          std::move(type), [](const E&) { return Value{}; },
          [](const std::string& message, const Value&) { return E{message}; });
    }
  }
  template <typename E, typename To, typename From>
  void exception(std::string type, To to, From from) {
    add_exception({std::move(type), detail::demangled(typeid(E)),
                   [to] {
                     try {
                       throw;
                     } catch (const E& e) {
                       return Value{to(e)};
                     }
                   },
                   [from](const std::string& message, const Value& properties,
                          const ActivityError* activity, const ChildError* child) {
                     detail::raise_as<E>(from(message, properties), activity, child);
                   }},
                  typeid(E));
  }
  // What another program, or an older one, called it.
  void exception_class_alias(std::string recorded_class, std::string type);

  // Ends registration and checks it. Throws UsageError when one implementation stands under two
  // keys, one key stands for two implementations, or a key in code differs from the one given.
  // The engine calls it; call it earlier to find mistakes earlier.
  void freeze();
  bool frozen() const { return frozen_; }

  const detail::WorkflowDefinition* find_workflow(std::string_view type) const;
  const detail::ActivityDefinition* find_activity(std::string_view type) const;
  // All that are registered, in alphabetical order.
  std::vector<std::string_view> workflow_types() const;
  std::vector<std::string_view> activity_types() const;
  // Throw UsageError with a hint when the function was never registered.
  std::string_view workflow_type(detail::FunctionKey function) const;
  std::string_view activity_type(detail::FunctionKey function) const;
  std::string_view workflow_type(const std::type_info& type) const;
  std::string_view callback_name(detail::FunctionKey function) const;

  const detail::ExceptionDefinition* find_exception(const std::type_info& type) const;
  const detail::ExceptionDefinition* find_exception(std::string_view type) const;
  // The alias that a recorded class was mapped to; empty when there is none.
  std::string_view exception_alias(std::string_view recorded_class) const;

 private:
  void add_exception(detail::ExceptionDefinition definition, const std::type_info& type);
  void add_callback(std::string name, detail::FunctionKey function, detail::Invoke invoke);
  detail::WorkflowDefinition& add_workflow(std::string type, std::string declared,
                                           detail::FunctionKey function,
                                           std::optional<std::type_index> implementation);
  detail::ActivityDefinition& add_activity(std::string type, std::string declared,
                                           detail::FunctionKey function,
                                           std::optional<std::type_index> implementation);

  // One kind's names: the key of every implementation, and what is wrong with them so far.
  struct Names {
    std::unordered_map<detail::FunctionKey, std::string> by_function;
    std::unordered_map<std::type_index, std::string> by_class;
  };
  void claim(std::string_view kind, Names& names, std::string& type, const std::string& declared,
             detail::FunctionKey function, std::optional<std::type_index> implementation,
             bool taken);

  std::map<std::string, std::unique_ptr<detail::WorkflowDefinition>, std::less<>> workflows_;
  std::map<std::string, std::unique_ptr<detail::ActivityDefinition>, std::less<>> activities_;
  std::vector<std::unique_ptr<detail::WorkflowDefinition>> refused_workflows_;
  std::vector<std::unique_ptr<detail::ActivityDefinition>> refused_activities_;
  Names workflow_names_, activity_names_;
  using Callbacks = std::map<std::string, detail::Invoke, std::less<>>;
  std::shared_ptr<Callbacks> callbacks_;  // shared with the workflow that runs them
  std::unordered_map<detail::FunctionKey, std::string> callback_names_;
  std::map<std::string, detail::ExceptionDefinition, std::less<>> exceptions_;
  std::unordered_map<std::type_index, std::string> exception_types_;
  std::map<std::string, std::string, std::less<>> exception_aliases_;
  std::vector<std::string> conflicts_;
  bool frozen_ = false;
};

}  // namespace dw
