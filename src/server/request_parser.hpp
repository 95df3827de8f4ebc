// Finds the requests in what a connection receives, wherever that is cut. Sockets, time and the
// room that bodies take are the connection's business.
#pragma once
#include "server/http_server.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

namespace dw::server {

class RequestParser {
 public:
  struct More {};     // no request is whole yet
  struct Stopped {};  // on_head said no
  struct Whole {
    Request request;  // without client and remote
    bool keep_alive = true;
    bool old_client = false;  // speaks HTTP/1.0
    bool wants_body = true;   // false: HEAD
  };
  struct Refusal {  // no request, and what follows would make no sense either
    int status = 400;
    std::string_view reason;
    std::string message;
  };
  using Found = std::variant<More, Stopped, Whole, Refusal>;

  RequestParser();
  ~RequestParser();

  // Goes on with what was kept and then with these. `on_head` is called once for each request, with
  // its head known and its body not yet read. When it says no, nothing is touched after it: it may
  // even have cleared the parser. What lies behind a request is kept.
  Found receive(std::string_view bytes, const HttpOptions& options,
                const std::function<bool()>& on_head);

  // For on_head: what the body may grow to, which is its length if that was told, and otherwise the
  // longest that is taken.
  std::size_t room_for_body(const HttpOptions& options) const;
  // Also for on_head: its sender waits to be asked for the body.
  bool waits_to_be_asked() const;

  // Sent ahead, for later.
  void keep(std::string_view bytes) { input_ += bytes; }
  std::size_t kept() const { return input_.size(); }
  void clear();

 private:
  struct UnderWay;

  Found parse(std::string_view bytes, const HttpOptions& options,
              const std::function<bool()>& on_head);
  Whole take(bool too_large);

  std::unique_ptr<UnderWay> under_way_;  // none: a connection that waits does not pay for it
  std::string input_;  // received and not parsed: half a head, or what was sent ahead
};

}  // namespace dw::server
