// One request in which a native worker reports whatever it has done and takes whatever there is to
// do. Published clients never see it: they have a route for each of these.
#pragma once
#include "dispatch/dispatch.hpp"
#include "server/exchange_reports.hpp"
#include "server/held_tasks.hpp"
#include "server/query_tasks.hpp"

namespace dw::server {

struct ExchangeParts {
  dispatch::Dispatch& dispatch;
  const Clock& clock;
  Matching& matching;
  QueryTasks& queries;
  HeldTasks& held;
  Workers& workers;
};

class Exchange {
 public:
  explicit Exchange(ExchangeParts parts) : parts_(parts) {}

  void serve(Call call, Worker worker, Reply reply);

 private:
  struct Round;
  using RoundPtr = std::shared_ptr<Round>;

  // Reports first: what they lead to may be this worker's next task.
  void report(const RoundPtr& round);
  void report_task(const RoundPtr& round, std::size_t index);
  void report_activity(const RoundPtr& round, std::size_t index);
  void report_query(const RoundPtr& round, std::size_t index);
  void take_on(Round& round, Heard& heard, dispatch::FollowUp then);
  void is_over(const TaskId& task);
  // Then everything that waits, as much as it can take.
  void gather(const RoundPtr& round);
  void wait(const RoundPtr& round);
  void claim(const RoundPtr& round, WorkKind kind, dispatch::Offer offer);
  template <typename Claimed>
  void could_not_claim(const RoundPtr& round, WorkKind kind, const dispatch::Offer& offer,
                       const Claimed& claimed);
  void settled(const RoundPtr& round);
  void answer(const RoundPtr& round);

  const ExchangeParts parts_;
};

}  // namespace dw::server
