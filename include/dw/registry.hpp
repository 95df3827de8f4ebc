// The workflows and activities a program knows, each under one durable type key. The key, not the
// C++ name, is what history remembers: rename functions as you like, keep the keys.
//
//   dw::Registry registry;
//   registry.activity("payments.charge", charge).tries(5);
//   registry.workflow("shop.checkout", checkout);
#pragma once
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

struct WorkflowDefinition {
  std::string type;
  std::string implementation;
  std::string revision;
  std::string connection;
  std::string queue;
  Invoke invoke;
  std::function<Result<void>(const Payload&)> check_arguments;
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

class WorkflowRegistration {
 public:
  explicit WorkflowRegistration(detail::WorkflowDefinition& definition) : definition_(definition) {}
  // Names this version of the code; part of the fingerprint recorded with every run.
  WorkflowRegistration& revision(std::string text) {
    return definition_.revision = std::move(text), *this;
  }
  WorkflowRegistration& connection(std::string name) {
    return definition_.connection = std::move(name), *this;
  }
  WorkflowRegistration& queue(std::string name) {
    return definition_.queue = std::move(name), *this;
  }

 private:
  detail::WorkflowDefinition& definition_;
};

class Registry {
 public:
  Registry();

  template <typename R, typename... P>
  WorkflowRegistration workflow(std::string type, R (*function)(P...)) {
    auto& definition = add_workflow(std::move(type), {}, detail::function_key(function), {});
    bind<std::tuple<std::remove_cvref_t<P>...>>(definition, [function] { return function; });
    return WorkflowRegistration{definition};
  }

  // A class with `R handle(Args…)`: every run gets a fresh object. The key may be given here, in
  // the class (`static constexpr std::string_view type`), or both if they agree.
  template <detail::HasHandle W>
  WorkflowRegistration workflow(std::string type = {}) {
    auto& definition =
        add_workflow(std::move(type), detail::declared_type<W>(), nullptr, typeid(W));
    using Args = typename detail::Signature<decltype(&W::handle)>::Args;
    bind<Args>(definition, [] {
      return [object = std::make_shared<W>()](auto&&... args) {
        return object->handle(std::forward<decltype(args)>(args)...);
      };
    });
    return WorkflowRegistration{definition};
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

  // Ends registration and checks it. Throws UsageError when one implementation stands under two
  // keys, one key stands for two implementations, or a key in code differs from the one given.
  // The engine calls it; call it earlier to find mistakes earlier.
  void freeze();
  bool frozen() const { return frozen_; }

  const detail::WorkflowDefinition* find_workflow(std::string_view type) const;
  const detail::ActivityDefinition* find_activity(std::string_view type) const;
  // Throw UsageError with a hint when the function was never registered.
  std::string_view workflow_type(detail::FunctionKey function) const;
  std::string_view activity_type(detail::FunctionKey function) const;
  std::string_view workflow_type(const std::type_info& type) const;

 private:
  template <typename Args, typename Make>
  static void bind(detail::WorkflowDefinition& definition, Make make) {
    definition.invoke = [make](const Payload& arguments) {
      return detail::invoke_with<Args>(make(), arguments);
    };
    definition.check_arguments = detail::check_arguments<Args>;
  }
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
  std::vector<std::string> conflicts_;
  bool frozen_ = false;
};

}  // namespace dw
