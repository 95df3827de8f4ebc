// Decides when the server hears that an activity is alive. Activities may say so as often as they
// like, and some never do: the first are not passed on every time, the others are kept alive here,
// unless they promised to speak up themselves. Pure: no sockets, no clock.
#pragma once
#include "remote/exchange.hpp"

#include <atomic>
#include <memory>
#include <unordered_map>

namespace dw::remote {

struct Beat {
  std::string task_id;
  AttemptId attempt_id;
  std::optional<Value> progress = {};
};

class AttemptBeats {
 public:
  using Flag = std::shared_ptr<std::atomic<bool>>;

  // `cancelled` is set once nobody waits for the outcome any more.
  void begin(const ActivityTask& task, Flag cancelled, Timestamp now);
  // True if the server has heard nothing of it since it began.
  bool end(const AttemptId& attempt);

  // The activity says that it is alive. Gives what is to be sent on, if it is.
  std::optional<Beat> alive(const AttemptId& attempt, std::optional<Value> progress, Timestamp now);
  // What is to be sent without being asked; to be called every second or so.
  std::vector<Beat> due(Timestamp now);
  // The server's answer to one: does it still want the outcome? Gives what was held back meanwhile.
  std::optional<Beat> heard(const AttemptId& attempt, bool wanted, Timestamp now);
  // There was no answer: it will be tried again.
  void not_heard(const AttemptId& attempt);

  void cancel_all();

 private:
  struct Attempt {
    std::string task_id;
    Flag cancelled;
    std::chrono::microseconds at_most_every;
    std::optional<std::chrono::microseconds> keep_every;  // absent: it must speak for itself
    Timestamp sent_at;
    bool under_way = false;
    bool ever_sent = false;
    std::optional<Value> progress = {};  // as it was told last
    bool news = false;                   // and it was not sent yet
  };

  static Beat send(const AttemptId& id, Attempt& attempt, Timestamp now);

  std::unordered_map<AttemptId, Attempt> attempts_;
};

}  // namespace dw::remote
