// Takes every request, in this order: is there such a route, is it JSON of a size we take, who
// asks, may they, do we speak the same version, does the namespace exist. Only then is it anybody's
// job.
#pragma once
#include "server/answer.hpp"
#include "server/auth.hpp"
#include "server/cluster_info.hpp"
#include "server/credentials.hpp"
#include "server/guests.hpp"

#include <dw/ids.hpp>

namespace dw::server {

// Who sent a request, for those who write down who did what.
struct Caller {
  Principal principal = {};
  std::string request_id = {};  // empty: nobody named it
};

// A request that passed the desk.
struct Call {
  Match match;
  std::string query;
  Namespace ns;
  Value::Map body;
  std::optional<std::weak_ptr<const void>> client = {};  // expires when the caller hangs up
  Caller caller = {};
  bool is_event = false;  // from outside: it may not know what its target names its arguments
  Stay stay = {};         // of who makes something, until that is answered

  Operation operation() const { return match.route->operation; }
  std::optional<std::string> parameter(std::string_view name) const {
    return query_value(query, name);
  }
  bool hung_up() const { return client && client->expired(); }
  // Null when the body has no such field, or has null there.
  const Value* field(std::string_view name) const;
  // Whom it is about, for those who have read the rest.
  Call without_body() const { return {match, {}, ns, {}, client, caller, is_event}; }
};

// 403 where nobody is asked for a credential and the request calls this machine by a name that
// anybody may have given it: a page in a browser would get at it by a name of its own.
std::optional<Answer> misnamed(const Auth& auth, const Request& request,
                               std::string_view listens_as);

using Reply = std::function<void(Answer answer)>;

// Whoever does what a request asks for. Must not block; replies once, from any thread.
class Service {
 public:
  virtual ~Service() = default;
  virtual void serve(Call call, Reply reply) = 0;
};

struct DeskOptions {
  Auth auth;
  About about;
  std::function<bool(std::string_view name)> namespace_exists;
  std::size_t max_payload_bytes = 2 * 1024 * 1024;
  std::string listens_as = {};  // the name or number it was told
  // Those who make something in a namespace; absent: nobody removes any.
  Guests* guests = nullptr;
};

class FrontDesk final : public Handler {
 public:
  FrontDesk(DeskOptions options, Service& control, Service& worker);

  void handle(Request request, Respond respond) override;

  // Who is let in; what is replaced there counts from the next request on.
  Credentials& credentials() { return credentials_; }

 private:
  std::optional<Answer> refused(const Request& request, const Match& match, Call& call) const;
  std::optional<Answer> misread(const Request& request, std::optional<Value>* body) const;
  std::optional<Answer> unwelcome(const Request& request, Call& call) const;
  std::optional<Answer> misaddressed(const Request& request, const Match& match, Call& call) const;

  const DeskOptions options_;
  Credentials credentials_;
  const std::string cluster_info_;
  Service& control_;
  Service& worker_;
};

}  // namespace dw::server
