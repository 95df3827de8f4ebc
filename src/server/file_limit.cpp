#include "server/file_limit.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>

namespace dw::server {
namespace {

// For 256 clients at a time who are being told to come back, and for the store's readers and
// writer, logs, token files, buckets of payloads and what threads wait on.
constexpr std::size_t files_for_the_rest = 384;

rlimit file_limits() {
  rlimit limits{};
  getrlimit(RLIMIT_NOFILE, &limits);
  return limits;
}

}  // namespace

std::size_t raise_file_limit() {
  rlimit limits = file_limits();
  limits.rlim_cur = limits.rlim_max;
  // Not every system lets it be raised so far; what counts is what is allowed afterwards.
  setrlimit(RLIMIT_NOFILE, &limits);
  return static_cast<std::size_t>(file_limits().rlim_cur);
}

std::size_t highest_file_limit() {
  return static_cast<std::size_t>(file_limits().rlim_max);
}

std::size_t connections_within(std::size_t files, std::size_t wanted) {
  const std::size_t rest = std::min(files_for_the_rest, files / 2);
  return std::min(wanted, std::max<std::size_t>(1, files - rest));
}

std::string too_few_files(std::size_t files, std::size_t wanted) {
  return fmt::format(
      "{} open files are allowed, so {} connections are served instead of {}; allow {} files "
      "(LimitNOFILE= of systemd, --ulimit nofile= of containers, ulimit -Hn in a shell), or lower "
      "DW_MAX_CONNECTIONS",
      files, connections_within(files, wanted), wanted, wanted + files_for_the_rest);
}

}  // namespace dw::server
