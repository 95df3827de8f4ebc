// Exceptions on their way into history, and back out of it.
#pragma once
#include "history/events.hpp"

#include <dw/registry.hpp>

namespace dw::runtime {

// What the exception being handled leaves behind. Call inside a catch block.
history::Failure describe_current_exception(const Registry& registry);

// How a recorded failure would be thrown again.
struct Resolution {
  enum class Source {
    exception_type,  // its alias is registered
    class_alias,     // its class is mapped to one that is
    recorded_class,  // a standard exception, or one of ours
    foreign,         // recorded by a worker in another language, unknown here
    unresolved,      // nobody registered it
    misconfigured    // mapped to an alias that nobody registered
  } source;
  const dw::detail::ExceptionDefinition* definition = nullptr;
  std::string problem;  // what to register, for people
};
Resolution resolve(const Registry& registry, const history::Failure& failure);
std::string_view to_string(Resolution::Source source);

// Throws it, marked as the activity's or the child's. Throws EngineError when what was recorded no
// longer reads as that exception.
[[noreturn]] void throw_again(const Resolution& resolution, const history::Failure& failure,
                              const ActivityError* activity, const ChildError* child);

}  // namespace dw::runtime
