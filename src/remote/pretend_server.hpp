// For tests of the client: a server whose answers the test writes itself, on a real socket.
#pragma once
#include "core/base64.hpp"
#include "core/payload_blob.hpp"
#include "core/unwrap.hpp"

#include <dw/client.hpp>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <mutex>
#include <thread>

namespace dw::remote {

// Something to start and to talk to; nobody here runs it.
struct Account {
  int handle(int goal) { return goal; }
};
inline int tally(int goal) {
  return goal;
}
inline const Signal<int> add_amount{"add", {"amount"}};

inline Registry known_workflows() {
  Registry registry;
  registry.workflow<Account>("account").queue("banking");
  registry.workflow("tally", tally).signal(add_amount);
  return registry;
}

struct Heard {
  std::string method, target, head;
  Value body;

  std::string text(std::string_view field) const {
    const Value* value = body.find(field);
    return value && value->if_string() ? *value->if_string() : std::string{};
  }
  // What was sent as an envelope in that field.
  Value decoded(std::string_view field) const {
    const Value* envelope = body.find(field);
    if (!envelope) return {};
    return unwrap(decode(unwrap(payload_from_blob(*envelope->find("codec")->if_string(),
                                                  *envelope->find("blob")->if_string()))));
  }
};

struct Scripted {
  int status = 200;
  std::string body = "{}";
  bool hangs_up = false;  // instead of an answer
};
inline const Scripted no_answer{0, {}, true};

inline std::string envelope_json(const Value& value) {
  const auto payload = unwrap(encode(value));
  return to_json(Value::Map{{"codec", payload.codec}, {"blob", encode_base64(payload.bytes)}});
}

class PretendServer {
 public:
  using Script = std::function<Scripted(const Heard&)>;

  explicit PretendServer(Script script) : script_(std::move(script)) {
    listening_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const bound = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(listening_, bound, size), 0);
    EXPECT_EQ(::listen(listening_, 64), 0);
    EXPECT_EQ(::getsockname(listening_, bound, &size), 0);
    port_ = ntohs(address.sin_port);
    accepting_ = std::thread{[this] { accept_all(); }};
  }
  ~PretendServer() {
    ::shutdown(listening_, SHUT_RDWR);
    accepting_.join();
    for (const int connection : connections_) ::shutdown(connection, SHUT_RDWR);
    for (auto& thread : serving_) thread.join();
    for (const int connection : connections_) ::close(connection);
    ::close(listening_);
  }
  PretendServer(const PretendServer&) = delete;

  std::string url() const { return fmt::format("http://127.0.0.1:{}", port_); }
  std::vector<Heard> heard() const {
    const std::lock_guard lock{mutex_};
    return heard_;
  }
  // "GET /api/workflows/a", in the order they came.
  std::vector<std::string> lines() const {
    std::vector<std::string> list;
    for (const Heard& request : heard()) list.push_back(request.method + " " + request.target);
    return list;
  }

 private:
  void accept_all() {
    for (int connection = 0; (connection = ::accept(listening_, nullptr, nullptr)) >= 0;) {
      connections_.push_back(connection);
      serving_.emplace_back([this, connection] { serve(connection); });
    }
  }
  void serve(int connection) {
    std::string input;
    while (auto request = read(connection, input)) {
      {
        const std::lock_guard lock{mutex_};
        heard_.push_back(*request);
      }
      const Scripted answer = script_(*request);
      if (answer.hangs_up) break;
      const auto text = fmt::format("HTTP/1.1 {} Scripted\r\nContent-Length: {}\r\n\r\n{}",
                                    answer.status, answer.body.size(), answer.body);
      ::send(connection, text.data(), text.size(), MSG_NOSIGNAL);
    }
    ::shutdown(connection, SHUT_RDWR);
  }
  static bool receive(int connection, std::string& input) {
    char piece[16 * 1024];
    const auto got = ::recv(connection, piece, sizeof piece, 0);
    if (got > 0) input.append(piece, static_cast<std::size_t>(got));
    return got > 0;
  }
  static std::optional<Heard> read(int connection, std::string& input) {
    std::size_t end = 0;
    while ((end = input.find("\r\n\r\n")) == std::string::npos) {
      if (!receive(connection, input)) return std::nullopt;
    }
    Heard heard;
    heard.head = input.substr(0, end);
    input.erase(0, end + 4);
    const auto first = heard.head.find(' '), second = heard.head.find(' ', first + 1);
    heard.method = heard.head.substr(0, first);
    heard.target = heard.head.substr(first + 1, second - first - 1);
    std::size_t length = 0;
    const std::string field = "Content-Length: ";
    if (const auto at = heard.head.find(field); at != std::string::npos) {
      const char* text = heard.head.data() + at + field.size();
      std::from_chars(text, heard.head.data() + heard.head.size(), length);
    }
    while (input.size() < length) {
      if (!receive(connection, input)) return std::nullopt;
    }
    if (length > 0) heard.body = unwrap(parse_json(std::string_view{input}.substr(0, length)));
    input.erase(0, length);
    return heard;
  }

  const Script script_;
  int listening_ = -1;
  unsigned short port_ = 0;
  std::vector<int> connections_;      // of the accepting thread, then of the destructor
  std::vector<std::thread> serving_;  // likewise
  mutable std::mutex mutex_;
  std::vector<Heard> heard_;  // guarded by mutex_
  std::thread accepting_;
};

inline Scripted started_answer(std::string_view id, std::string_view run = "run-1") {
  return {201, fmt::format(R"({{"workflow_id":"{}","run_id":"{}","workflow_type":"account",)"
                           R"("namespace":"default","outcome":"started_new"}})",
                           id, run)};
}

inline Scripted described_answer(std::string_view id, std::string_view run,
                                 std::string_view type = "account") {
  return {200, fmt::format(R"({{"workflow_id":"{}","run_id":"{}","workflow_type":"{}",)"
                           R"("namespace":"default","status":"waiting","run_number":2,)"
                           R"("history_event_count":7,"closed_reason":null,"closed_at":null,)"
                           R"("started_at":"2026-04-10T12:00:00.000000Z"}})",
                           id, run, type)};
}

inline Scripted refused_answer(int status, std::string_view reason,
                               std::string_view message = "no") {
  return {status, fmt::format(R"({{"reason":"{}","message":"{}"}})", reason, message)};
}

// Whether `act` throws an EngineError with that code.
template <typename Act>
std::optional<ErrorCode> code_thrown_by(const Act& act, std::string* message = nullptr) {
  try {
    act();
  } catch (const EngineError& error) {
    if (message) *message = error.what();
    return error.code();
  }
  return std::nullopt;
}

}  // namespace dw::remote
