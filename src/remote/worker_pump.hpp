// Decides what a worker says to its server, and when. Reports go out as soon as there are any, a
// few requests at a time, each with everything that waits: the busier the worker, the more of them
// share a request. Beside those one empty request always waits for work, as long as there is room
// for it. Pure: no sockets, no clock, no threads.
#pragma once
#include "remote/exchange.hpp"

#include <deque>
#include <map>
#include <unordered_set>

namespace dw::remote {

struct PumpLimits {
  Counts capacity{256, 256, 16};  // tasks held at a time
  std::size_t lanes = 4;          // requests with reports under way at a time
  std::size_t reports_per_exchange = 256;
  std::size_t bytes_per_exchange = 1024 * 1024;  // about half of what a server takes by default
  std::chrono::milliseconds wait{30'000};
  std::chrono::milliseconds first_pause{100};
  std::chrono::milliseconds last_pause{5'000};
};

// What became of what workflow code did.
struct Settled {
  RunId run_id;
  std::uint64_t serial = 0;
  Verdict verdict;
};

// What an answer means for whoever asked.
struct Answered {
  std::vector<Settled> settled;
  Tasks tasks;
  std::string trouble = {};  // why some reports could not be recorded and are sent again, later
};

class Pump {
 public:
  explicit Pump(PumpLimits limits) : limits_(limits) {}

  // Nothing is sent before the worker is registered.
  void registered() { registered_ = true; }
  // One of the tasks it was given has come to an end.
  void report(Report report) { waiting_.push_back({std::move(report)}); }
  // Asks for nothing more, and has the server answer what waits for work; what is held is still
  // reported.
  void drain() { draining_ = true; }

  // What is to be sent now; null when there is nothing. Ask until then. It stays where it is until
  // its end is told.
  const Exchange* next(Timestamp now);
  // When next() will say more though nothing else has happened.
  std::optional<Timestamp> paused_until() const { return paused_until_; }

  // The ends of an exchange. `answered` fails when the answer is not one to what was asked; then it
  // counts as lost. A server gives activities once more when it is told something once more: those
  // that are here are left out.
  Result<Answered> answered(std::uint64_t id, ExchangeAnswer answer, Timestamp now);
  void lost(std::uint64_t id, Timestamp now);  // no answer, or none that helps: again, later
  // Again, each report alone, then with an end that is easier to tell. Gives the task about which
  // nothing will be reported any more, if it comes to that: its lease ends by itself.
  std::optional<std::string> not_understood(std::uint64_t id, Timestamp now);
  void not_registered(std::uint64_t id);  // again, once it is registered
  void told_to_drain(std::uint64_t id, Timestamp now);

  bool is_registered() const { return registered_; }
  // Everything that was held is reported, and heard. When it drains, nothing can come any more
  // either: what waits for work may be answered with a task until it is answered at all.
  bool idle() const {
    return held_ == Counts{} && waiting_.empty() && reporting_ == 0 && !(draining_ && parked_);
  }
  Counts held() const { return held_; }
  Counts free() const;

 private:
  struct Waiting {
    Report report;
    bool alone = false;     // together with others it was not understood
    bool replaced = false;  // it stands for one that was not understood by itself
  };
  struct UnderWay {
    Exchange exchange;
    std::vector<Waiting> kept;  // how its reports waited; their content is in the exchange
    Counts reported;
  };

  bool must_say_that_it_drains() const;
  const Exchange* next_with_reports();
  const Exchange* next_parked();
  const Exchange* send(UnderWay under_way);
  std::vector<Waiting> take_batch();
  Counts room(const Counts& returned) const;
  UnderWay end(std::uint64_t id);
  void put_back(std::vector<Waiting> reports);
  void pause(Timestamp now);
  bool in_trouble() const { return pause_.count() > 0; }

  const PumpLimits limits_;
  std::deque<Waiting> waiting_;
  std::map<std::uint64_t, UnderWay> under_way_;
  std::uint64_t last_id_ = 0;
  std::size_t reporting_ = 0;               // exchanges with reports under way
  bool parked_ = false;                     // one without is
  Counts held_;                             // tasks given to us and not settled
  std::unordered_set<AttemptId> attempts_;  // of them, the activities
  Counts asked_;                            // by exchanges under way
  Counts returning_;  // of those held, how many the exchanges under way report
  bool registered_ = false;
  bool draining_ = false;
  bool said_so_ = false;                // to the server, which has heard it
  std::chrono::milliseconds pause_{0};  // since the last answer, if there was trouble
  // The server answers and cannot record: whether that is over only reports can tell.
  bool busy_ = false;
  std::optional<Timestamp> paused_until_;
};

}  // namespace dw::remote
