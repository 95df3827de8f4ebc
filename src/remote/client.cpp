// The public face of one client.
#include <dw/client.hpp>

#include "remote/client_impl.hpp"

namespace dw {
namespace {

Registry frozen_for_client(Registry registry) {
  registry.freeze();
  return registry;
}

}  // namespace

Client::Client(std::shared_ptr<remote::ClientImpl> impl)
    : Workflows(impl), impl_(std::move(impl)) {}

Client::Client(Registry registry, ClientOptions options)
    : Client(std::make_shared<remote::ClientImpl>(frozen_for_client(std::move(registry)),
                                                  std::move(options))) {}

// Handles may outlive the client object; its threads and connections do not.
Client::~Client() {
  impl_->stop();
}

}  // namespace dw
