// What handles ask, asked of a server.
#pragma once
#include "core/ulid.hpp"
#include "remote/client_watches.hpp"
#include "remote/client_words.hpp"

namespace dw::remote {

class ClientImpl final : public detail::Backend, public std::enable_shared_from_this<ClientImpl> {
 public:
  using RunRef = detail::RunRef;
  template <typename T>
  using Reply = detail::Reply<T>;

  // The registry is frozen.
  ClientImpl(Registry registry, ClientOptions options);
  ~ClientImpl() override { stop(); }
  ClientImpl(const ClientImpl&) = delete;

  void stop();

  const Registry& registry() const override { return registry_; }
  void start(std::string type, const StartOptions& options, Payload arguments,
             Reply<WorkflowHandle> reply) override;
  WorkflowHandle start_with(SignalCall signal, std::string type, const StartOptions& options,
                            Payload arguments) override;
  WorkflowHandle attach(std::string_view id, const std::optional<std::string>& ns) override;
  std::vector<RunInfo> runs(std::size_t limit) override;

  RunInfo info(const RunRef& run) override;
  CommandReply close(const RunRef& run, detail::CloseKind kind, std::string reason) override;
  CommandReply repair(const RunRef& run) override;
  CommandReply archive(const RunRef& run, std::string reason) override;
  void signal(const RunRef& run, SignalCall signal, Reply<CommandReply> reply) override;
  Payload query(const RunRef& run, std::string_view name, Payload arguments) override;
  UpdateInfo update(const RunRef& run, const UpdateOptions& options, std::string_view name,
                    Payload arguments) override;
  UpdateInfo update_info(const RunRef& run, std::string_view update_id) override;
  void watch(const RunRef& run, std::optional<std::chrono::milliseconds> patience,
             Reply<detail::Closed> reply) override;

 private:
  // A start on its way.
  struct Start {
    engine::StartCommand command;
    bool attaches = false;  // a closed run will do as well
    bool own_id = false;    // minted here, so that nobody else can have taken it
    Reply<WorkflowHandle> reply;
  };
  using StartPtr = std::shared_ptr<Start>;

  engine::StartCommand start_command(std::string type, const StartOptions& options,
                                     Payload arguments);
  void find_or_start(const StartPtr& start);
  void start(const StartPtr& start);
  Result<WorkflowHandle> started(const Start& start, const Said& said);
  CommandReply command(const RunRef& run, std::string_view verb, std::string_view reason);
  std::string current_run(const RunRef& run);
  // All pages of it. False when there is no such run any more.
  bool read_history(const RunRef& run, UpdateStory& story);
  // Blocks; throws EngineError when there is no answer.
  Said asked(Question question);
  std::string new_id();

  const Registry registry_;
  const ClientOptions options_;
  const Namespace namespace_;
  const SystemClock clock_;
  std::mutex ids_;
  SeededRandom random_;  // guarded by ids_
  UlidSource ulids_;     // guarded by ids_
  ClientLine line_;
  ClientWatches watches_;
};

}  // namespace dw::remote
