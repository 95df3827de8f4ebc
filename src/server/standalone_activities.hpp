// Activities without a workflow around them: started, listed, looked at. Each is hosted by a run of
// its own (engine/standalone.hpp) whose workflow id is the activity's id, so that its history, its
// cancellation and its repair are those of that workflow.
#pragma once
#include "core/clock.hpp"
#include "core/ulid.hpp"
#include "dispatch/requests.hpp"
#include "server/search_attributes.hpp"

#include <mutex>

namespace dw::server {

using StartRun =
    std::function<void(engine::StartCommand command, dispatch::Reply<dispatch::StartReply> reply)>;

struct StandaloneActivitiesParts {
  store::Store& store;
  Executor& reader;
  const Clock& clock;
  Random& random;
  const SearchAttributes& attributes;
  StartRun start;  // dispatch's
};

class StandaloneActivities final : public Service {
 public:
  explicit StandaloneActivities(StandaloneActivitiesParts parts);

  void serve(Call call, Reply reply) override;

 private:
  void start(const Call& call, Reply reply);
  void answer_start(const Call& call, const InstanceId& id, const dispatch::StartReply& started,
                    Reply reply);
  Answer list(const Call& call) const;
  Answer describe(const Call& call) const;
  std::string new_id();

  const StandaloneActivitiesParts parts_;
  std::mutex mutex_;
  UlidSource ulids_;  // guarded by mutex_
};

}  // namespace dw::server
