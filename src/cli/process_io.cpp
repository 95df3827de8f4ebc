// The world as a process has it.
#include "cli/client_commands.hpp"

#include "core/clock.hpp"
#include "core/random.hpp"
#include "core/ulid.hpp"

#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <thread>

namespace dw::cli {
namespace {

struct Ids {
  SystemClock clock;
  SeededRandom random{system_seed()};
  UlidSource source{random};
};

}  // namespace

ClientIo process_io(Build build, std::vector<LocalCommand> local) {
  auto ids = std::make_shared<Ids>();
  return {.build = std::move(build),
          .out = std::cout,
          .err = std::cerr,
          .in = std::cin,
          .in_is_terminal = ::isatty(STDIN_FILENO) == 1,
          .out_is_terminal = ::isatty(STDOUT_FILENO) == 1,
          .environment = [](std::string_view name) -> std::optional<std::string> {
            const char* value = std::getenv(std::string{name}.c_str());
            return value && *value ? std::optional<std::string>{value} : std::nullopt;
          },
          .connect = [](const client::HttpClientOptions& options) -> Transport {
            auto http = std::make_shared<client::HttpClient>(options);
            return [http](client::HttpRequest request) { return http->call(std::move(request)); };
          },
          .pause = [](std::chrono::milliseconds time) { std::this_thread::sleep_for(time); },
          .new_id = [ids] { return ids->source.next(ids->clock.now()); },
          .local = std::move(local)};
}

}  // namespace dw::cli
