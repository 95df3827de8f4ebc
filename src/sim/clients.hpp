// The people and programs outside. They start, reserve, talk, ask, cancel, repair and wait; a crash
// takes their connection, not their memory, so whatever was not answered is asked again. What they
// say they say in words of its own every time, so that whoever hears something twice is found out.
#pragma once
#include "dispatch/dispatch.hpp"
#include "machine/scheduler.hpp"
#include "sim/checker.hpp"
#include "sim/faults.hpp"
#include "sim/workload.hpp"

#include <map>
#include <string>
#include <vector>

namespace dw::sim {

using machine::SimExecutor;

class Clients {
 public:
  Clients(const Registry& registry, Plant plant, SimExecutor& outside, const Clock& clock,
          Random& random, Checker& checker, Trace& trace)
      : registry_(registry),
        plant_(plant),
        outside_(outside),
        clock_(clock),
        random_(random),
        checker_(checker),
        trace_(trace) {}

  // That many workflows, arriving one by one within that time.
  void arrive(std::size_t count, Duration within);
  // Whoever asks asks any node that is up.
  void connected(std::size_t node, dispatch::Dispatch& dispatch);
  void disconnected(std::size_t node);
  // An operator sees that this instance is stuck, and has it repaired.
  void stuck(const store::InstanceKey& instance);

  // Everything was asked and answered.
  bool done() const;
  std::string describe_open() const;

 private:
  struct Client {
    store::InstanceKey key;
    Order order;
    RunId run;                // once a start was acknowledged
    std::set<RunId> watched;  // runs whose end it wants to hear of
    std::size_t open = 0;     // those it has not heard of yet
    std::size_t said = 0;
    bool started = false;  // by a start of its own; once is enough
    bool talking = false;
    bool reserves = false;
  };
  struct Request {
    enum class Kind {
      reserve,
      start,
      start_other_type,
      close,
      watch,
      signal,
      update,
      query,
      signal_with_start,
      repair
    } kind;
    std::size_t client = 0;
    engine::DuplicateStartPolicy policy = engine::DuplicateStartPolicy::reject_duplicate;
    engine::CloseCommand::Kind close = engine::CloseCommand::Kind::cancel;
    bool duplicate = false;            // asked by somebody who knows nothing of the others
    bool talks_on = false;             // more of the kind follows, as long as it runs
    RunId run = {};                    // to watch
    store::InstanceKey instance = {};  // to repair
    std::string text = {};             // what was said, this time
    Checker::Standing asked_at = {};   // of a query
    Checker::Presence presence = {};   // of the instance, when it was asked
    std::size_t node = 0;              // that was asked
  };

  void later(Duration delay, Request request);
  void ask(const Request& request);
  // Nothing when the request has been answered before: nobody may be answered twice.
  std::optional<Request> take(std::uint64_t id);
  void refused(const Request& request, const Error& error);
  void judge(const Request& asked, const engine::CommandOutcome& outcome);
  void started(const Request& request, const dispatch::StartReply& reply);
  engine::StartCommand start_command(const Client& client,
                                     engine::DuplicateStartPolicy policy) const;
  Duration up_to(Duration longest);
  static std::string_view kind_of(const Request& request);
  void watch(std::size_t client, const RunId& run);
  void talk(std::size_t client);
  void talk_on(const Request& request);
  void say(dispatch::Dispatch& node, std::uint64_t id, Request& request);

  const Registry& registry_;
  const Plant plant_;
  SimExecutor& outside_;
  const Clock& clock_;
  Random& random_;
  Checker& checker_;
  Trace& trace_;
  std::map<std::size_t, dispatch::Dispatch*> nodes_;
  std::vector<Client> clients_;
  std::uint64_t ids_ = 0;
  std::uint64_t texts_ = 0;
  std::map<std::uint64_t, Request> open_;
  std::vector<Request> backlog_;  // to be asked when there is somebody to ask
  std::size_t planned_ = 0;
};

}  // namespace dw::sim
