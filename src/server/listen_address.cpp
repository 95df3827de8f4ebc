#include "server/listen_address.hpp"

#include <fmt/format.h>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <algorithm>
#include <charconv>

namespace dw::server {
namespace {

namespace ip = boost::asio::ip;

bool leads_back(const ip::address& address) {
  if (address.is_v6() && address.to_v6().is_v4_mapped()) {
    return ip::make_address_v4(ip::v4_mapped, address.to_v6()).is_loopback();
  }
  return address.is_loopback();
}

}  // namespace

Result<ListenAddress> parse_listen_address(std::string_view text) {
  const auto colon = text.rfind(':');
  const auto digits = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  std::uint16_t port = 0;
  const auto [end, wrong] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (wrong != std::errc{} || end != digits.data() + digits.size()) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("'{}' is no address; write host:port, such as 127.0.0.1:8080", text)};
  }
  auto host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return ListenAddress{std::string{host}, port};
}

std::vector<std::string> resolve_name(const std::string& name) {
  boost::asio::io_context io;
  boost::system::error_code error;
  std::vector<std::string> addresses;
  for (const auto& found : ip::tcp::resolver{io}.resolve(name, "", error)) {
    addresses.push_back(found.endpoint().address().to_string());
  }
  return addresses;
}

bool is_loopback(const std::string& host, const Resolve& resolve) {
  if (host.empty()) return false;
  if (host == "localhost") return true;
  boost::system::error_code no_address;
  const auto written = ip::make_address(host, no_address);
  if (!no_address) return leads_back(written);
  const auto addresses = resolve(host);
  return !addresses.empty() && std::ranges::all_of(addresses, [](const std::string& text) {
    boost::system::error_code error;
    const auto address = ip::make_address(text, error);
    return !error && leads_back(address);
  });
}

}  // namespace dw::server
