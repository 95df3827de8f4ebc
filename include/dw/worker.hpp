// A process that runs a registry's workflows and activities for a server elsewhere, and starts and
// asks them like any other client:
//
//   dw::Worker worker{std::move(registry), {.server = "http://127.0.0.1:8080"}};
//   std::cout << worker.start(checkout, {.id = "order-42"}, Order{…}).result();
//
// What dw::Engine does in one process, with the store on the server: code that was written for one
// works with the other, for both are dw::Workflows.
#pragma once
#include <dw/client.hpp>

namespace dw {

namespace remote {
class WorkerImpl;
}

struct WorkerOptions {
  std::string server = "http://127.0.0.1:8080";  // https://… speaks TLS; a path goes before /api
  std::string token = {};                        // sent with every request
  std::string ns = {};                           // namespace; empty: the server's own
  std::string ca_file = {};                      // PEM, instead of the system's authorities
  bool verify_tls = true;

  std::string task_queue = "default";
  std::string build_id = {};   // names this build: it takes runs marked with it, and no others
  std::string worker_id = {};  // empty: one is made up; no two workers may share one
  int workflow_threads = 0;    // 0: as many as make sense here
  int max_concurrent_activities = 256;
  int max_concurrent_workflow_tasks = 256;
  std::size_t max_warm_workflows = 2048;  // suspended fibers kept; others replay
  std::size_t workflow_stack_bytes = 256 * 1024;
  std::optional<std::chrono::seconds> heartbeat_interval = {};  // unset: as the server wishes
  std::chrono::milliseconds update_timeout{10'000};  // how long update() waits for its answer
  // How long the destructor waits for what is under way. Activities that take longer are told that
  // nobody waits for them, and waited for all the same; the server gives them to others.
  std::chrono::milliseconds drain_timeout{10'000};
};

class Worker final : public Workflows {
 public:
  // Works from now on, and registers as soon as the server can be reached. Throws
  // EngineError(invalid_argument) when the address or the certificate file cannot be used,
  // UsageError for a bad registry or an empty one.
  explicit Worker(Registry registry, WorkerOptions options = {});
  ~Worker() override;

  // Takes no new tasks but those on their way to it, finishes and reports what it holds, and says
  // goodbye. False when that was not done in time; what is left goes on. Workflows can still be
  // started and asked afterwards.
  bool drain(std::chrono::milliseconds patience);
  void drain();

  // How the server knows it.
  const std::string& worker_id() const;

 private:
  Worker(std::shared_ptr<remote::ClientImpl> client, const WorkerOptions& options);

  std::shared_ptr<remote::ClientImpl> client_;
  std::unique_ptr<remote::WorkerImpl> worker_;
};

}  // namespace dw
