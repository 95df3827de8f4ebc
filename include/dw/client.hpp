// Durable workflows on a server elsewhere: what dw::Engine does in this process, over HTTP.
//
//   dw::Client client{std::move(registry), {.server = "http://127.0.0.1:8080"}};
//   auto order = client.start(checkout, {.id = "order-42"}, Order{…});
//   std::cout << order.result();
//
// The registry gives names to functions and says which queue a workflow's tasks go to; the code
// itself runs on the server, or in workers (dw/worker.hpp). A type that is not registered can be
// started by its name: its arguments are then checked by whoever runs it.
#pragma once
#include <dw/handle.hpp>

namespace dw {

namespace remote {
class ClientImpl;
}

struct ClientOptions {
  std::string server = "http://127.0.0.1:8080";  // https://… speaks TLS; a path goes before /api
  std::string token = {};                        // sent with every request
  std::string ns = {};                           // default namespace; empty: the server's own
  std::string ca_file = {};                      // PEM, instead of the system's authorities
  bool verify_tls = true;
  std::size_t max_connections = 256;  // for calls; those beyond wait for a free one
  std::size_t max_waits = 512;        // runs whose end is waited for at once; others take turns
  std::chrono::milliseconds request_timeout{30'000};
  std::chrono::milliseconds update_timeout{10'000};  // how long update() waits, in whole seconds
  // How long calls are repeated while the server cannot be reached. Commands carry a request id,
  // so that the server takes a repeated one for what it is; start_with() is not repeated.
  std::chrono::milliseconds retry_for{10'000};
};

// Callbacks (start_async, send_async, on_closed) come from a thread of the client, and must not
// wait for another answer there: that throws UsageError. runs() gives the current run of every
// instance in the client's namespace.
class Client final : public Workflows {
 public:
  // Does not connect yet. Throws EngineError(invalid_argument) when the address or the certificate
  // file cannot be used, UsageError for a bad registry.
  explicit Client(Registry registry, ClientOptions options = {});
  // Whoever still waits learns that the client is shutting down. Workflows go on.
  ~Client() override;

 private:
  explicit Client(std::shared_ptr<remote::ClientImpl> impl);

  std::shared_ptr<remote::ClientImpl> impl_;
};

}  // namespace dw
