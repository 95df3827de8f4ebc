// Histories, page by page. Whoever follows one that is still being written waits here for its next
// event: nobody is told of every commit, so rows are looked at now and then while somebody waits.
#pragma once
#include "core/clock.hpp"
#include "core/executor.hpp"
#include "server/front_desk.hpp"
#include "server/run_look.hpp"

namespace dw::server {

class HistoryWaits {
 public:
  // The reader is one thread: what waits is touched nowhere else.
  HistoryWaits(store::Store& store, Executor& reader, Executor& time, const Clock& clock);

  // GET …/runs/{run}/history
  void serve(Call call, Reply reply);
  // Whoever waits is told what there is, and so is whoever comes later.
  void stop();

 private:
  struct Wish {
    std::int64_t after = 0;
    std::int64_t size = 0;
    bool follow = false;
  };
  struct Waiting {
    Call call;
    Wish wish;
    Timestamp until;
    Reply reply;
  };

  static std::optional<Answer> read_wish(const Call& call, Wish& wish);
  // Absent: there is nothing to say yet.
  std::optional<Answer> news_for(const Waiting& one) const;
  Answer page(const Call& call, const Wish& wish) const;
  void look();
  void look_later();

  store::Store& store_;
  Executor& reader_;
  Executor& time_;
  const Clock& clock_;
  std::vector<Waiting> waiting_;
  bool stopped_ = false;
};

}  // namespace dw::server
