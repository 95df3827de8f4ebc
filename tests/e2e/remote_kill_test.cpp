// kill -9 of the server, again and again, while a worker and a client in this process use it. Both
// live on, and in the end the store is held to what they were told.
//
//   DW_BINARY=build/release/bin/dw DW_KILLS=50 dw_remote_kill_test
#include "support.hpp"

#include "store/sqlite/sqlite_store.hpp"

#include <dw/client.hpp>
#include <dw/worker.hpp>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

namespace dw::e2e {
namespace {

std::string touch(std::string what) {
  return what;
}

std::string steps_in_a_row(std::string name) {
  std::string text = name;
  for (int i = 0; i < 3; ++i) text += dw::activity(touch, fmt::format("-{}", i));
  return text;
}

std::string steps_at_once(std::string name) {
  const auto [first, second] = dw::all(dw::call(touch, "-a"), dw::call(touch, "-b"));
  return name + first + second;
}

Registry shop() {
  Registry registry;
  registry.activity("touch", touch);
  registry.workflow("steps_in_a_row", steps_in_a_row);
  registry.workflow("steps_at_once", steps_at_once);
  return registry;
}

// The dw binary on a store, at an address that stays the same.
class Server {
 public:
  explicit Server(std::string store) : store_(std::move(store)) { start("127.0.0.1:0"); }

  const std::string& url() const { return url_; }
  void kill_and_start_again() {
    process_->kill_hard();
    start(url_.substr(std::string_view{"http://"}.size()));
  }
  void kill() { process_->kill_hard(); }

 private:
  void start(const std::string& address) {
    process_ = std::make_unique<ChildProcess>(std::vector<std::string>{
        "--as-server", "server:start", "--listen", address, "--store", store_});
    const auto until = std::chrono::steady_clock::now() + patience;
    while (url_.empty() && std::chrono::steady_clock::now() < until) {
      const auto soon = std::chrono::steady_clock::now() + std::chrono::milliseconds{20};
      for (const auto& line : process_->read_lines(soon)) {
        const auto begin = line.find("http://");
        if (begin == std::string::npos) continue;
        const auto port = line.find(':', begin + 7);
        url_ = line.substr(begin, line.find_first_not_of("0123456789", port + 1) - begin);
      }
    }
  }

  const std::string store_;
  std::string url_;
  std::unique_ptr<ChildProcess> process_;
};

TEST(RemoteKill, WorkerAndClientLiveOnAndEveryStepIsRecordedOnce) {
  const auto kills = number_from_environment("DW_KILLS", long_test() ? 50 : 5);
  const std::size_t batch = 60;
  TempDir dir;
  Server server{dir.file("store.db")};
  ASSERT_FALSE(server.url().empty()) << "the server did not say where it is";
  Worker worker{shop(), {.server = server.url()}};
  Client client{shop(), {.server = server.url(), .retry_for = patience}};

  std::set<std::string> told;
  for (std::uint64_t kill = 0; kill <= kills; ++kill) {
    std::vector<Handle<std::string>> under_way;
    for (std::size_t i = 0; i < batch; ++i) {
      const auto id = fmt::format("run-{}-{}", kill, i);
      // A start that was carried out and not heard of is repeated.
      const StartOptions once{.id = id, .on_duplicate = DuplicateStart::attach};
      under_way.push_back(client.start(i % 3 == 0 ? steps_at_once : steps_in_a_row, once, id));
    }
    // Some are done, some have hardly begun.
    under_way[batch * kill / (kills + 1)].wait();
    if (kill < kills) server.kill_and_start_again();
    for (std::size_t i = 0; i < batch; ++i) {
      const auto id = fmt::format("run-{}-{}", kill, i);
      EXPECT_EQ(under_way[i].result(), id + (i % 3 == 0 ? "-a-b" : "-0-1-2"));
      told.insert(id);
    }
  }
  EXPECT_TRUE(worker.drain(patience));
  server.kill();

  auto store = sqlite::open_sqlite_read_only(dir.file("store.db"));
  ASSERT_TRUE(store) << store.error().message;
  Auditor auditor;
  EXPECT_EQ(auditor.look_at(**store), std::vector<std::string>{});
  for (const auto& [id, run] : auditor.runs()) {
    EXPECT_EQ(run.row.status, history::RunStatus::completed) << id;
    told.erase(id);
  }
  EXPECT_EQ(told, std::set<std::string>{}) << "they were told of ends that are not recorded";
}

}  // namespace
}  // namespace dw::e2e

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view{argv[1]} == "--as-server") {
    argv[1] = std::getenv("DW_BINARY");
    if (argv[1]) execv(argv[1], argv + 1);
    return 127;
  }
  spdlog::set_level(spdlog::level::err);
  testing::InitGoogleTest(&argc, argv);
  if (!std::getenv("DW_BINARY")) {
    fmt::print(stderr, "set DW_BINARY to the dw program that is to be killed\n");
    return 2;
  }
  return RUN_ALL_TESTS();
}
