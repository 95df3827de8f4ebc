// The public face of one engine.
#include "embed/engine_access.hpp"
#include "embed/engine_impl.hpp"

namespace dw {
namespace {

Registry frozen(Registry registry) {
  registry.freeze();
  return registry;
}

}  // namespace

Engine::Engine(std::shared_ptr<detail::EngineImpl> impl)
    : Workflows(impl), impl_(std::move(impl)) {}

Engine::Engine(Registry registry, EngineOptions options)
    : Engine(std::make_shared<detail::EngineImpl>(frozen(std::move(registry)), std::move(options),
                                                  nullptr)) {}

std::unique_ptr<Engine> detail::EngineAccess::open(Registry registry, EngineOptions options,
                                                   std::unique_ptr<store::Store> store) {
  return std::unique_ptr<Engine>{new Engine{std::make_shared<EngineImpl>(
      frozen(std::move(registry)), std::move(options), std::move(store))}};
}

// Handles may outlive the engine object; the threads do not.
Engine::~Engine() {
  impl_->stop();
}

std::string Engine::reserve(std::string_view type, const StartOptions& options) {
  return impl_->reserve(type, options);
}

RepairPassReport Engine::repair_pass(const RepairPass& options) {
  return impl_->repair_pass(options);
}

RetentionReport Engine::retention_pass(const RetentionPass& options) {
  return impl_->retention_pass(options);
}

RebuildReport Engine::rebuild_projections(const RebuildProjections& options) {
  return impl_->rebuild_projections(options);
}

EngineStats Engine::stats() const {
  const auto counted = impl_->counters();
  return {counted.commits, counted.transitions, counted.rows, counted.bytes, counted.fsyncs};
}

}  // namespace dw
