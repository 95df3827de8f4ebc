#include "main/server_log.hpp"

#include "core/json_writer.hpp"

#include <dw/exceptions.hpp>

#include <fmt/format.h>
#include <spdlog/async.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <mutex>

namespace dw::app {
namespace {

constexpr std::size_t lines_in_flight = 8192;

class JsonLines final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& to) override {
    const auto level = spdlog::level::to_string_view(message.level);
    std::string line;
    JsonWriter{line}
        .begin_object()
        .field("event", "log")
        .field("time", std::chrono::floor<Duration>(message.time))
        .field("level", std::string_view{level.data(), level.size()})
        .field("message", std::string_view{message.payload.data(), message.payload.size()})
        .end_object();
    line += '\n';
    to.append(line.data(), line.data() + line.size());
  }
  std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<JsonLines>();
  }
};

Result<spdlog::sink_ptr> open_sink(const std::string& path) {
  try {
    if (path.empty()) return spdlog::sink_ptr{std::make_shared<spdlog::sinks::stderr_sink_mt>()};
    return spdlog::sink_ptr{std::make_shared<spdlog::sinks::basic_file_sink_mt>(path)};
  } catch (const spdlog::spdlog_ex& failure) {
    return Error{ErrorCode::unavailable,
                 fmt::format("cannot write the access log {}: {}; name a file that this user may "
                             "write",
                             path, failure.what())};
  }
}

}  // namespace

void configure_logging(const std::string& level, server::LogFormat format) {
  spdlog::set_level(spdlog::level::from_str(level));
  if (format == server::LogFormat::json) spdlog::set_formatter(std::make_unique<JsonLines>());
}

struct AccessOutput::Impl {
  std::shared_ptr<spdlog::logger> logger() {
    const std::lock_guard lock{mutex};
    return current;
  }
  Result<void> open() {
    auto fresh = std::make_shared<spdlog::async_logger>(
        "access", DW_TRY(open_sink(path)), pool, spdlog::async_overflow_policy::overrun_oldest);
    fresh->set_pattern("%v");
    fresh->flush_on(spdlog::level::info);
    const std::lock_guard lock{mutex};
    current = std::move(fresh);
    return {};
  }

  std::string path;
  std::shared_ptr<spdlog::details::thread_pool> pool =
      std::make_shared<spdlog::details::thread_pool>(lines_in_flight, 1);
  std::mutex mutex;
  std::shared_ptr<spdlog::logger> current;  // guarded by mutex
};

AccessOutput::AccessOutput(std::string path) : impl_(std::make_unique<Impl>()) {
  impl_->path = std::move(path);
  if (auto opened = impl_->open(); !opened) throw EngineError{opened.error()};
}

AccessOutput::~AccessOutput() = default;

void AccessOutput::write(std::string_view line) {
  impl_->logger()->info(spdlog::string_view_t{line.data(), line.size()});
}

Result<void> AccessOutput::reopen() {
  return impl_->path.empty() ? Result<void>{} : impl_->open();
}

}  // namespace dw::app
