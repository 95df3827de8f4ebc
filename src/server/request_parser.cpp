#include "server/request_parser.hpp"

#include "client/half_an_end.hpp"

#include <fmt/format.h>
#include <boost/asio/buffer.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace dw::server {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;

// A body whose length we cannot tell would be read as the next request, and one that is compressed
// as well would be taken for what it is not.
bool is_encoded_otherwise(const http::request_parser<http::string_body>& parser) {
  const auto& head = parser.get();
  const auto count = head.count(http::field::transfer_encoding);
  if (count == 0) return false;
  return count > 1 || !parser.chunked() ||
         !boost::beast::iequals(head[http::field::transfer_encoding], "chunked");
}

// Some name the server in full, as to a proxy: http://host/path.
std::string_view without_server(std::string_view target) {
  const auto scheme = target.find("://");
  if (target.starts_with('/') || scheme == std::string_view::npos) return target;
  const auto end = target.find_first_of("/?", scheme + 3);
  return end != std::string_view::npos && target[end] == '/' ? target.substr(end) : target;
}

}  // namespace

// A request of which some bytes have come.
struct RequestParser::UnderWay {
  explicit UnderWay(const HttpOptions& options) {
    parser.header_limit(static_cast<std::uint32_t>(options.max_header_bytes));
    parser.body_limit(options.max_body_bytes);
  }
  bool between_chunks() const { return parser.is_header_done() && parser.chunked(); }

  // As they stood before the body: what comes behind it is no part of them.
  void read_headers() {
    const auto& head = parser.get();
    constexpr std::size_t spare = 1;  // for the request's id
    headers.reserve(static_cast<std::size_t>(std::distance(head.begin(), head.end())) + spare);
    for (const auto& field : head) {
      headers.push_back({std::string{field.name_string()}, std::string{field.value()}});
    }
  }

  http::request_parser<http::string_body> parser;
  bool head_seen = false;
  decltype(Request::headers) headers;
};

RequestParser::RequestParser() = default;
RequestParser::~RequestParser() = default;

RequestParser::Found RequestParser::receive(std::string_view bytes, const HttpOptions& options,
                                            const std::function<bool()>& on_head) {
  if (input_.empty()) return parse(bytes, options, on_head);
  input_ += bytes;
  if (under_way_ && under_way_->between_chunks() && client::is_half_an_end(input_)) return More{};
  return parse(input_, options, on_head);
}

// `bytes` are somebody's buffer or input_, and what is left of them is input_ afterwards.
RequestParser::Found RequestParser::parse(std::string_view bytes, const HttpOptions& options,
                                          const std::function<bool()>& on_head) {
  if (!under_way_) under_way_ = std::make_unique<UnderWay>(options);
  auto& parser = under_way_->parser;
  std::size_t used = 0;
  error_code error;
  while (used < bytes.size() && !parser.is_done() && !error) {
    used += parser.put(asio::buffer(bytes.substr(used)), error);
    if (error || under_way_->head_seen || !parser.is_header_done()) continue;
    under_way_->head_seen = true;
    if (is_encoded_otherwise(parser)) {
      return Refusal{400, "bad_request", "chunked is the only Transfer-Encoding taken here"};
    }
    // Who reads another one than we do would take the request for another's.
    const auto hosts = parser.get().count(http::field::host);
    if (hosts > 1 || (hosts == 0 && parser.get().version() > 10)) {
      return Refusal{400, "bad_request", "a request names one Host"};
    }
    under_way_->read_headers();
    if (!on_head()) return Stopped{};
  }
  if (bytes.data() == input_.data()) {
    input_.erase(0, used);
  } else {
    input_ = bytes.substr(used);
  }
  if (input_.empty()) input_ = {};  // gives the memory back

  if (error == http::error::body_limit) return take(true);
  // The parser bounds the head; the lines between chunks are bounded here.
  if (error == http::error::header_limit ||
      (error == http::error::need_more && input_.size() > options.max_header_bytes)) {
    return Refusal{431, "headers_too_large",
                   fmt::format("a request's head may have {} bytes", options.max_header_bytes)};
  }
  if (error && error != http::error::need_more) {
    return Refusal{400, "bad_request", "this is not an HTTP/1.1 request: " + error.message()};
  }
  if (parser.is_done()) return take(false);
  return More{};
}

RequestParser::Whole RequestParser::take(bool too_large) {
  auto& parser = under_way_->parser;
  auto& message = parser.get();
  Whole whole;
  Request& request = whole.request;
  request.method = message.method_string();
  const auto target = message.target();
  request.target = without_server({target.data(), target.size()});
  request.too_large = too_large;
  request.headers = std::move(under_way_->headers);
  if (!too_large) request.body = std::move(message.body());
  whole.keep_alive = !too_large && parser.keep_alive();
  whole.old_client = message.version() < 11;
  whole.wants_body = message.method() != http::verb::head;
  under_way_.reset();
  return whole;
}

std::size_t RequestParser::room_for_body(const HttpOptions& options) const {
  const auto most = options.max_body_bytes;
  const auto& parser = under_way_->parser;
  const auto told = parser.content_length();
  return parser.chunked() ? most : told ? std::min<std::uint64_t>(*told, most) : 0;
}

bool RequestParser::waits_to_be_asked() const {
  const auto& parser = under_way_->parser;
  const auto& head = parser.get();
  return !parser.is_done() && head.version() > 10 &&
         boost::beast::iequals(head[http::field::expect], "100-continue");
}

void RequestParser::clear() {
  under_way_.reset();
  input_ = {};
}

}  // namespace dw::server
