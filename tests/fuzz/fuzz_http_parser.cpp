// Anybody can open a connection and send anything, in any pieces. How it is cut makes no
// difference to what is found in it; what is found is whole, within its limits, and cannot be taken
// for anything else by whoever reads it next.
//   The first byte tells how to cut the rest, and whether answers keep up with requests.
#include "fuzz.hpp"
#include "server/request_parser.hpp"

#include <algorithm>
#include <vector>

using dw::fuzz::must_hold;
using namespace dw::server;

namespace {

// Small enough that a short input reaches them.
HttpOptions small_limits() {
  HttpOptions options;
  options.max_header_bytes = 512;
  options.max_body_bytes = 256;
  return options;
}
const HttpOptions options = small_limits();

// ---- a connection, without its socket

struct Heard {
  std::vector<RequestParser::Whole> requests = {};
  std::optional<RequestParser::Refusal> refusal = {};  // the last word
};

class Listener {
 public:
  void receive(std::string_view bytes) {
    if (over_) return;
    if (thinking_) return parser_.keep(bytes);
    parse(bytes);
  }

  // False when there was nothing to answer.
  bool answer() {
    if (!thinking_ || over_) return false;
    thinking_ = false;
    if (parser_.kept() > 0) parse({});
    return true;
  }

  Heard heard() && {
    while (answer()) {
    }
    return std::move(heard_);
  }

 private:
  void parse(std::string_view bytes) {
    auto found = parser_.receive(bytes, options, [this] { return look_at_head(); });
    if (auto* whole = std::get_if<RequestParser::Whole>(&found)) {
      expect_room_for(*whole);
      over_ = !whole->keep_alive;
      thinking_ = true;
      heads_ = 0;
      heard_.requests.push_back(std::move(*whole));
    } else if (auto* no = std::get_if<RequestParser::Refusal>(&found)) {
      over_ = true;
      heard_.refusal = std::move(*no);
    } else {
      must_hold(std::holds_alternative<RequestParser::More>(found), "nobody stopped it");
      must_hold(parser_.kept() <= options.max_header_bytes, "what is kept has a limit");
    }
  }

  bool look_at_head() {
    ++heads_;
    room_ = parser_.room_for_body(options);
    must_hold(room_ <= options.max_body_bytes, "nobody asks for more room than the longest body");
    parser_.waits_to_be_asked();
    return true;
  }

  void expect_room_for(const RequestParser::Whole& whole) const {
    if (whole.request.too_large) {
      must_hold(whole.request.body.empty() && !whole.keep_alive, "too much is not read");
      return;
    }
    must_hold(heads_ == 1, "a head is looked at once");
    must_hold(whole.request.body.size() <= room_, "a body stays within the room made for it");
  }

  RequestParser parser_;
  Heard heard_;
  int heads_ = 0;
  std::size_t room_ = 0;
  bool thinking_ = false;
  bool over_ = false;
};

Heard heard_at_once(std::string_view bytes) {
  Listener listener;
  listener.receive(bytes);
  return std::move(listener).heard();
}

Heard heard_in_pieces(std::string_view bytes, std::uint8_t manner) {
  Listener listener;
  const bool late = (manner & 0x80) != 0;
  const std::uint32_t longest = 1 + (manner & 0x3fU);
  std::uint32_t state = manner;
  while (!bytes.empty()) {
    state = state * 1664525 + 1013904223;
    const auto size = std::min<std::size_t>(bytes.size(), 1 + (state >> 24) % longest);
    listener.receive(bytes.substr(0, size));
    bytes.remove_prefix(size);
    // One who answers late finds the next requests waiting.
    while (listener.answer() && !late) {
    }
  }
  return std::move(listener).heard();
}

// Says no to every head, and forgets it as a connection does that ends.
void expect_no_more_after_no(std::string_view bytes) {
  RequestParser parser;
  const auto found = parser.receive(bytes, options, [&] {
    parser.clear();
    return false;
  });
  if (!std::holds_alternative<RequestParser::Stopped>(found)) return;
  must_hold(parser.kept() == 0, "what was said no to is gone");
}

// ---- what must hold

bool is_printable(char c) {
  return c > ' ' && c != 0x7f;  // char is signed: neither are bytes beyond ASCII
}

bool is_sane(std::string_view value) {
  return value.find_first_of(std::string_view{"\r\n\0", 3}) == std::string_view::npos;
}

void expect_sane(const Request& request) {
  must_hold(!request.method.empty() && std::ranges::all_of(request.method, is_printable),
            "a method is a word");
  must_hold(!request.target.empty() && is_sane(request.target) &&
                request.target.find(' ') == std::string::npos,
            "a target is in one piece");
  for (const auto& [name, value] : request.headers) {
    must_hold(!name.empty() && std::ranges::all_of(name, is_printable) &&
                  name.find(':') == std::string::npos,
              "a header's name is a word");
    must_hold(is_sane(value), "a header's value is a line");
  }
  must_hold(request.header("Transfer-Encoding").empty() ||
                request.header("Content-Length").empty() || request.too_large,
            "a body has one length");
}

std::string told(const RequestParser::Whole& whole) {
  const Request& request = whole.request;
  std::string text = request.method + ' ' + request.target + '\n';
  for (const auto& [name, value] : request.headers)
    text.append(name).append(":").append(value).append("\n");
  text += {whole.keep_alive ? 'k' : '-', whole.old_client ? 'o' : '-', whole.wants_body ? 'w' : '-',
           request.too_large ? 'l' : '-', '\n'};
  return text + request.body;
}

bool hit_a_limit(const Heard& heard) {
  if (heard.refusal) return heard.refusal->status == 431;
  return !heard.requests.empty() && heard.requests.back().request.too_large;
}

void expect_the_same(const Heard& one, const Heard& other) {
  const auto both = std::min(one.requests.size(), other.requests.size());
  for (std::size_t i = 0; i < both; ++i) {
    must_hold(told(one.requests[i]) == told(other.requests[i]), "a request is the same in pieces");
  }
  // Limits may be reached in pieces alone. A line between chunks fits if it comes whole, and Beast
  // counts a chunk once more each time that a quote in its line does not end yet.
  if (hit_a_limit(one) || hit_a_limit(other)) return;
  must_hold(one.requests.size() == other.requests.size(), "as many requests are found in pieces");
  must_hold(one.refusal.has_value() == other.refusal.has_value(),
            "what is no request is none in pieces either");
  if (one.refusal)
    must_hold(one.refusal->message == other.refusal->message, "and for the same reason");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  // Half a head is judged when it ends: what comes slowly may be wrong for longer.
  const std::string bytes = std::string{dw::fuzz::text_of(data + 1, size - 1)} + "\r\n\r\n";
  const Heard at_once = heard_at_once(bytes);
  for (const auto& whole : at_once.requests) expect_sane(whole.request);
  if (at_once.refusal) {
    must_hold(at_once.refusal->status == 400 || at_once.refusal->status == 431,
              "a mistake is the sender's");
    must_hold(is_sane(at_once.refusal->message) &&
                  at_once.refusal->message.find_first_of("\"\\") == std::string::npos,
              "why can be sent as JSON");
  }
  expect_the_same(at_once, heard_in_pieces(bytes, data[0]));
  expect_no_more_after_no(bytes);
  return 0;
}
