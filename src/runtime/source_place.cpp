#include "runtime/source_place.hpp"

#include <fmt/format.h>
#define BOOST_STACKTRACE_LINK  // the linked backend reads debug information, the inline one does
                               // not
#include <boost/stacktrace/stacktrace.hpp>

#include <string_view>
#include <utility>

namespace dw::runtime {
namespace {

constexpr std::size_t most_calls = 48;

bool is_ours(std::string_view file) {
  const auto has = [&](std::string_view part) { return file.find(part) != file.npos; };
  return has("/include/dw/") || has("/include/c++/") || has("src/runtime/source_place") ||
         (has("src/runtime/execution") && !file.ends_with("_test.cpp"));
}

}  // namespace

struct SourcePlace::Calls {
  boost::stacktrace::stacktrace trace{1, most_calls};
};

SourcePlace::SourcePlace(std::shared_ptr<const Calls> calls) : calls_(std::move(calls)) {}

SourcePlace SourcePlace::here() {
  return SourcePlace{std::make_shared<const Calls>()};
}

std::string SourcePlace::text() const {
  for (const auto& call : calls_->trace) {
    // A return address may already belong to the next line.
    const boost::stacktrace::frame frame{static_cast<const char*>(call.address()) - 1};
    const std::string file = frame.source_file();
    if (file.empty() || is_ours(file)) continue;
    return fmt::format("{}:{} in {}", file.substr(file.find_last_of('/') + 1), frame.source_line(),
                       frame.name());
  }
  return {};
}

}  // namespace dw::runtime
