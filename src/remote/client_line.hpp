// The line to a server: questions go out, answers come back as JSON. What may be asked twice is
// asked again while the server cannot be reached; nobody's thread sleeps meanwhile.
#pragma once
#include "client/http_client.hpp"
#include "core/clock.hpp"
#include "core/random.hpp"
#include "dispatch/thread_executor.hpp"

#include <dw/client.hpp>

#include <set>
#include <shared_mutex>

namespace dw::remote {

struct Question {
  std::string about;  // what is tried, for messages: "start 'order-42'"
  std::string method = "GET";
  std::string path = {};  // below /api, escaped: "/workflows/order-42"
  std::string ns = {};    // empty: the server's own
  std::string body = {};  // JSON
  bool repeatable = false;
  // How long the server may take on purpose.
  std::optional<std::chrono::seconds> long_poll = {};
};

struct Said {
  int status = 0;
  Value body = {};        // an object
  bool repeated = false;  // an earlier attempt got no answer, and may have been heard

  bool fine() const { return status >= 200 && status < 300; }
  // Empty when there is no such text.
  std::string text(std::string_view field) const;
};

class ClientLine {
 public:
  using Done = std::function<void(Result<Said>)>;

  // Throws EngineError(invalid_argument) when the address cannot be used.
  explicit ClientLine(const ClientOptions& options);
  ~ClientLine() { stop(); }
  ClientLine(const ClientLine&) = delete;

  // Calls back once, on a thread of the line. Any status is an answer; errors are unavailable,
  // timed_out and shutting_down.
  void ask(Question question, Done done);
  // Whoever still waits is told `shutting_down`; so is whoever asks later.
  void stop();

 private:
  struct Asked {
    Question question;
    Done done;
    std::optional<std::chrono::steady_clock::time_point> failing_since = {};
    int failures = 0;
  };
  using AskedPtr = std::shared_ptr<Asked>;

  void attempt(const AskedPtr& asked);
  void hear(const AskedPtr& asked, Result<client::HttpReply> reply);
  bool ask_again(const AskedPtr& asked);
  void attempt_later(const AskedPtr& asked);
  Result<Said> read(const Asked& asked, const Result<client::HttpReply>& reply) const;
  client::HttpRequest request_for(const Question& question) const;

  const ClientOptions options_;
  const SystemClock clock_;
  std::shared_mutex gate_;
  // Callers hold gate_; gone once stopped. Waits have connections of their own: however many
  // there are, a call does not queue behind them.
  std::unique_ptr<client::HttpClient> calls_, waits_;
  std::mutex mutex_;
  SeededRandom random_;         // guarded by mutex_
  std::set<AskedPtr> delayed_;  // guarded by mutex_
  bool stopping_ = false;       // guarded by mutex_
  dispatch::ThreadExecutor time_;
};

}  // namespace dw::remote
