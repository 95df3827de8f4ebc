// The commands of dw that talk to a server, and those about the places where servers are. main
// hands over the words of the command line; everything from there to the exit code happens here.
#pragma once
#include "cli/help.hpp"
#include "cli/profiles.hpp"
#include "cli/session.hpp"
#include "core/clock.hpp"

#include <chrono>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

namespace dw::cli {

struct Build {
  std::string version;
  std::string commit = "unknown";
  std::string built_at = "unknown";  // when the commit was made
};
// "dw 0.1.0 (7961e950579a, 2026-11-18T22:02:35Z)", or less where less is known.
std::string version_text(const Build& build);

// What a command touches of the world. Tests bring their own.
struct ClientIo {
  Build build;
  std::ostream& out;
  std::ostream& err;
  std::istream& in;
  bool in_is_terminal = false;
  bool out_is_terminal = false;
  Environment environment;
  // Throws EngineError when the options make no sense.
  std::function<Transport(const client::HttpClientOptions& options)> connect;
  std::function<void(std::chrono::milliseconds)> pause;
  std::function<std::string()> new_id;
  std::function<Timestamp()> now = [] { return SystemClock{}.now(); };
  std::vector<LocalCommand> local = {};  // what main runs itself
};

// Standard streams, the process's environment, real sockets and real time.
ClientIo process_io(Build build, std::vector<LocalCommand> local);

// Who answers to these words, and how they read once grouped forms, plurals and help are resolved.
struct Understood {
  bool for_client = false;              // run_client_command takes them, be it to refuse them
  std::vector<std::string> words = {};  // the command's name first, if there is one
  std::optional<Failure> refusal = {};  // no such command
};

// `local` are the names of the commands that main runs itself. A local command keeps its name;
// where both have one, naming a --store or a --data-dir means the local one. The names that artisan
// had for commands mean the same here.
Understood understand(int argc, const char* const* argv, const std::vector<std::string>& local,
                      bool interactive);

// The exit code. Never throws.
int run_client_command(const Understood& understood, const ClientIo& io);

// Every command with its summary, for the help of the binary as a whole.
std::string command_overview();

}  // namespace dw::cli
