// The people and programs outside. They start, reserve, cancel and wait; a crash takes their
// connection, not their memory, so whatever was not answered is asked again.
#pragma once
#include "dispatch/dispatch.hpp"
#include "sim/checker.hpp"
#include "sim/scheduler.hpp"
#include "sim/workload.hpp"

#include <map>
#include <string>
#include <vector>

namespace dw::sim {

class Clients {
 public:
  Clients(SimExecutor& outside, const Clock& clock, Random& random, Checker& checker, Trace& trace)
      : outside_(outside), clock_(clock), random_(random), checker_(checker), trace_(trace) {}

  // That many workflows, arriving one by one within that time.
  void arrive(std::size_t count, Duration within);
  void connected(dispatch::Dispatch& dispatch);
  void disconnected();

  // Everything was asked and answered.
  bool done() const;
  std::string describe_open() const;

 private:
  struct Client {
    store::InstanceKey key;
    Order order;
    RunId run;          // once a start was acknowledged
    bool told = false;  // that it closed
    bool reserves = false;
  };
  struct Request {
    enum class Kind { reserve, start, start_other_type, close, watch } kind;
    std::size_t client = 0;
    engine::DuplicateStartPolicy policy = engine::DuplicateStartPolicy::reject_duplicate;
    engine::CloseCommand::Kind close = engine::CloseCommand::Kind::cancel;
    bool duplicate = false;  // asked by somebody who knows nothing of the others
  };

  void later(Duration delay, Request request);
  void ask(const Request& request);
  // Nothing when the request has been answered before: nobody may be answered twice.
  std::optional<Request> take(std::uint64_t id);
  void refused(const Request& request, const Error& error);
  void started(const Request& request, const dispatch::StartReply& reply);
  engine::StartCommand start_command(const Client& client,
                                     engine::DuplicateStartPolicy policy) const;
  Duration up_to(Duration longest);
  static std::string_view word(const Request& request);

  SimExecutor& outside_;
  const Clock& clock_;
  Random& random_;
  Checker& checker_;
  Trace& trace_;
  dispatch::Dispatch* dispatch_ = nullptr;
  std::vector<Client> clients_;
  std::uint64_t ids_ = 0;
  std::map<std::uint64_t, Request> open_;
  std::vector<Request> backlog_;  // to be asked when there is somebody to ask
  std::size_t planned_ = 0;
};

}  // namespace dw::sim
