// One HTTP exchange, without the sockets.
#pragma once
#include "server/routes.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dw::server {

struct Header {
  std::string name;
  std::string value;
};

struct Request {
  std::string method;  // GET, POST, …
  std::string target;  // path and query as they were sent, percent-escapes and all
  std::vector<Header> headers;
  std::string body;
  bool too_large = false;  // the body was longer than the limit and has not been read
  std::optional<std::weak_ptr<const void>> client = {};  // expires when the caller hangs up
  std::string remote = {};                               // the caller's address; empty: unknown
  std::optional<Match> match = {};                       // where it leads, once somebody looked

  // The value of the first header of that name, in any case; empty when there is none.
  std::string_view header(std::string_view name) const;
};

// What the caller, or else this server, calls the request.
inline constexpr std::string_view request_id_header = "X-Request-Id";

struct Response {
  int status = 200;
  std::vector<Header> headers;  // beside Content-Length, Date, Server and Connection
  std::string body;
};

// Called once, from any thread, now or after a long poll. The caller may have hung up by then.
using Respond = std::function<void(Response response)>;

class Handler {
 public:
  virtual ~Handler() = default;
  // On a thread that serves many connections: must not block.
  virtual void handle(Request request, Respond respond) = 0;
};

}  // namespace dw::server
