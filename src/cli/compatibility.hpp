// Do this client and that server speak the same protocol? Asked before anything is done, because
// half-understood commands are worse than refused ones. Pure: reads the server's /cluster/info.
#pragma once
#include "cli/failure.hpp"

#include <dw/value.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dw::cli {

struct Speaks {
  std::string version;  // of this binary
  std::string control_plane = "2";
  std::string worker_protocol = "1.0";
  bool worker_commands = false;  // the command at hand belongs to the worker protocol
};

// Why nothing can be done here; absent when everything fits.
std::optional<Failure> check_compatibility(const Value& cluster_info, const Speaks& speaks);

// What is odd, but no reason to stop.
std::vector<std::string> compatibility_warnings(const Value& cluster_info);

// ">=0.1,<3.0": every comparison holds. Pre-releases come before their release.
bool version_in_range(std::string_view version, std::string_view range);

// The server publishes which words it takes for a field of an operation ("list.status"). Refuses
// others, and names the word that stands for an alias. `fallback` serves when nothing is published.
std::optional<Failure> check_word(const Value& cluster_info, std::string_view contract,
                                  std::string_view option, std::string_view word,
                                  const std::vector<std::string_view>& fallback);

}  // namespace dw::cli
