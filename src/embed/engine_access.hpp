// An engine on a store of the caller's making: one on a disk that loses power, for instance. For
// tests; programs name a file in EngineOptions.
#pragma once
#include "store/store.hpp"

#include <dw/engine.hpp>

#include <memory>

namespace dw::detail {

struct EngineAccess {
  static std::unique_ptr<Engine> open(Registry registry, EngineOptions options,
                                      std::unique_ptr<store::Store> store);
};

}  // namespace dw::detail
