// The public face of one worker.
#include <dw/worker.hpp>

#include "remote/client_impl.hpp"
#include "remote/worker_impl.hpp"

namespace dw {
namespace {

Registry frozen_for_worker(Registry registry) {
  registry.freeze();
  if (registry.workflow_types().empty() && registry.activity_types().empty()) {
    throw UsageError{
        "a worker needs something to run: register a workflow or an activity, or use dw::Client"};
  }
  return registry;
}

ClientOptions client_options(const WorkerOptions& options) {
  ClientOptions client;
  client.server = options.server;
  client.token = options.token;
  client.ns = options.ns;
  client.ca_file = options.ca_file;
  client.verify_tls = options.verify_tls;
  client.update_timeout = options.update_timeout;
  return client;
}

}  // namespace

Worker::Worker(std::shared_ptr<remote::ClientImpl> client, const WorkerOptions& options)
    : Workflows(client),
      client_(std::move(client)),
      worker_(std::make_unique<remote::WorkerImpl>(client_->registry(), options)) {}

Worker::Worker(Registry registry, WorkerOptions options)
    : Worker(std::make_shared<remote::ClientImpl>(frozen_for_worker(std::move(registry)),
                                                  client_options(options)),
             options) {}

// Workflow code may still ask the client for something while the worker finishes it.
Worker::~Worker() {
  worker_.reset();
  client_->stop();
}

bool Worker::drain(std::chrono::milliseconds patience) {
  return worker_->drain(patience);
}

void Worker::drain() {
  worker_->drain(std::nullopt);
}

const std::string& Worker::worker_id() const {
  return worker_->worker_id();
}

}  // namespace dw
