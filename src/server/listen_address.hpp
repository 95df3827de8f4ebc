// Where a server listens, as people write it, and who can reach that.
#pragma once
#include <dw/result.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace dw::server {

struct ListenAddress {
  std::string host;  // an address without brackets, a name, or empty for every address there is
  std::uint16_t port = 0;
};

// "127.0.0.1:8080", "[::1]:8080", "name:8080". Fails with invalid_argument.
Result<ListenAddress> parse_listen_address(std::string_view text);

// The addresses of a name, as this machine knows them; none when it does not.
using Resolve = std::function<std::vector<std::string>(const std::string& name)>;
std::vector<std::string> resolve_name(const std::string& name);

// Does the host stand for this machine alone? A name does when none of its addresses leads
// elsewhere; how it is spelled says nothing.
bool is_loopback(const std::string& host, const Resolve& resolve = resolve_name);

}  // namespace dw::server
