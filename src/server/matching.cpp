#include "server/matching.hpp"

#include "server/deadlines.hpp"
#include "server/waiting_offers.hpp"

#include <map>
#include <mutex>
#include <tuple>
#include <unordered_map>

namespace dw::server {
namespace {

std::string queue_or_default(std::string_view queue) {
  return std::string{queue.empty() ? "default" : queue};
}

}  // namespace

// Polls that can do the same are alike to every task. They are kept together, so that a search
// meets each sort once, however many wait.
struct Matching::State {
  using Need = WaitingOffers::Need;
  struct Skill {
    std::set<std::string, std::less<>> types;
    bool any_type = false;
    std::string build_id;
    friend auto operator<=>(const Skill&, const Skill&) = default;
  };
  // Skill or poll alike.
  template <typename Able>
  static bool suits(const Able& able, const Need& need) {
    return (able.any_type || able.types.contains(need.type)) &&
           (need.compatibility.empty() || need.compatibility == able.build_id);
  }
  // Neither a crowd nor a lane is ever empty: queue names and types come from outside, and nobody
  // else would remove what they leave behind.
  using Crowd = std::set<std::uint64_t>;  // by order of arrival
  struct Lane {
    WaitingOffers offers;
    std::map<Skill, Crowd> crowds;
  };
  using LaneKey = std::tuple<Namespace, std::string, WorkKind>;
  using Lanes = std::map<LaneKey, Lane>;
  struct Place {
    Lanes::iterator lane;
    std::map<Skill, Crowd>::iterator crowd;
  };
  struct Waiting {
    std::vector<Place> places;
    std::string worker_id;
    Reply reply;
  };

  explicit State(const Clock& now_from) : clock(now_from) {}

  static LaneKey lane_of(const Poll& poll) {
    return {poll.ns, queue_or_default(poll.queue), poll.kind};
  }
  static Skill skill_of(const Poll& poll) { return {poll.types, poll.any_type, poll.build_id}; }

  Reply take_poll(const LaneKey& key, const Need& need);
  std::optional<dispatch::Offer> take_offer(const Poll& poll);
  void keep_poll(const std::vector<Poll>& polls, Timestamp until, Reply reply);
  Reply leave(std::uint64_t number);
  void expire(std::uint64_t number);
  void forget_if_idle(Lanes::iterator lane) {
    if (lane->second.offers.empty() && lane->second.crowds.empty()) lanes.erase(lane);
  }

  const Clock& clock;
  std::mutex mutex;  // guards all below; never held while a reply is called
  Lanes lanes;
  std::unordered_map<std::uint64_t, Waiting> waiting;
  std::uint64_t arrivals = 0;
  bool stopped = false;
  std::optional<Deadlines> deadlines;  // always there
};

// The poll that has waited longest; empty when nobody is waiting for this.
Matching::Reply Matching::State::take_poll(const LaneKey& key, const Need& need) {
  const auto lane = lanes.find(key);
  // Those who could take a task that waits would not be waiting.
  if (lane == lanes.end() || lane->second.offers.contains(need)) return {};
  std::optional<std::uint64_t> first;
  for (const auto& [skill, crowd] : lane->second.crowds) {
    const std::uint64_t arrived = *crowd.begin();
    if ((!first || arrived < *first) && suits(skill, need)) first = arrived;
  }
  return first ? leave(*first) : Reply{};
}

std::optional<dispatch::Offer> Matching::State::take_offer(const Poll& poll) {
  const auto lane = lanes.find(lane_of(poll));
  if (lane == lanes.end()) return std::nullopt;
  auto offer = lane->second.offers.take([&](const Need& need) { return suits(poll, need); });
  forget_if_idle(lane);
  return offer;
}

void Matching::State::keep_poll(const std::vector<Poll>& polls, Timestamp until, Reply reply) {
  const std::uint64_t number = ++arrivals;
  Waiting poll{{}, polls.front().worker_id, std::move(reply)};
  for (const Poll& wanted : polls) {
    const auto lane = lanes.try_emplace(lane_of(wanted)).first;
    const auto crowd = lane->second.crowds.try_emplace(skill_of(wanted)).first;
    crowd->second.insert(number);
    poll.places.push_back({lane, crowd});
  }
  waiting.emplace(number, std::move(poll));
  deadlines->set(number, until);
}

// Takes a poll out; empty when it was answered already.
Matching::Reply Matching::State::leave(std::uint64_t number) {
  auto found = waiting.extract(number);
  if (found.empty()) return {};
  deadlines->call_off(number);
  for (const auto& [lane, crowd] : found.mapped().places) {
    crowd->second.erase(number);
    if (crowd->second.empty()) lane->second.crowds.erase(crowd);
    forget_if_idle(lane);
  }
  return std::move(found.mapped().reply);
}

void Matching::State::expire(std::uint64_t number) {
  Reply reply;
  {
    const std::lock_guard lock{mutex};
    reply = leave(number);
  }
  if (reply) reply({});
}

Matching::Matching(Executor& time, const Clock& clock) : state_(std::make_shared<State>(clock)) {
  state_->deadlines.emplace(time, [weak = std::weak_ptr{state_}](std::uint64_t number) {
    if (const auto state = weak.lock()) state->expire(number);
  });
}

Matching::~Matching() {
  stop();
}

void Matching::offered(dispatch::Offer offered) {
  const WorkKind kind = offered.activity.empty() ? WorkKind::workflow : WorkKind::activity;
  offer(kind, std::move(offered));
}

void Matching::offer(WorkKind kind, dispatch::Offer offer) {
  State::LaneKey lane{offer.run.instance.ns, queue_or_default(offer.queue), kind};
  Reply reply;
  {
    const std::lock_guard lock{state_->mutex};
    if (state_->stopped) return;
    reply = state_->take_poll(lane, WaitingOffers::need_of(offer));
    if (!reply) return state_->lanes[std::move(lane)].offers.keep(std::move(offer));
  }
  reply({std::move(offer), false, kind});
}

void Matching::withdraw(WorkKind kind, const dispatch::Offer& offer) {
  const std::lock_guard lock{state_->mutex};
  const auto lane =
      state_->lanes.find({offer.run.instance.ns, queue_or_default(offer.queue), kind});
  if (lane == state_->lanes.end()) return;
  lane->second.offers.remove(offer);
  state_->forget_if_idle(lane);
}

void Matching::poll(Poll asked, Timestamp until, Reply reply) {
  poll_any({std::move(asked)}, until, std::move(reply));
}

void Matching::poll_any(std::vector<Poll> polls, Timestamp until, Reply reply) {
  const bool patient = until > state_->clock.now();
  Found found;
  {
    const std::lock_guard lock{state_->mutex};
    found.stopped = state_->stopped;
    for (const Poll& wanted : polls) {
      if (found.stopped || found.offer) break;
      found.offer = state_->take_offer(wanted);
      found.kind = wanted.kind;
    }
    if (patient && !found.stopped && !found.offer) {
      return state_->keep_poll(polls, until, std::move(reply));
    }
  }
  reply(std::move(found));
}

std::optional<dispatch::Offer> Matching::take(const Poll& wanted) {
  const std::lock_guard lock{state_->mutex};
  if (state_->stopped) return std::nullopt;
  return state_->take_offer(wanted);
}

void Matching::recall(const Namespace& ns, std::string_view worker_id) {
  std::vector<Reply> recalled;
  {
    const std::lock_guard lock{state_->mutex};
    std::vector<std::uint64_t> numbers;
    for (const auto& [number, poll] : state_->waiting) {
      const Namespace& asked = std::get<Namespace>(poll.places.front().lane->first);
      if (poll.worker_id == worker_id && asked == ns) numbers.push_back(number);
    }
    for (const std::uint64_t number : numbers) recalled.push_back(state_->leave(number));
  }
  for (const Reply& reply : recalled) reply({});
}

void Matching::stop() {
  std::unordered_map<std::uint64_t, State::Waiting> waiting;
  {
    const std::lock_guard lock{state_->mutex};
    state_->stopped = true;
    state_->lanes.clear();
    waiting.swap(state_->waiting);
  }
  for (const auto& [number, poll] : waiting) {
    state_->deadlines->call_off(number);
    poll.reply({std::nullopt, true});
  }
}

Matching::Stats Matching::stats(const Namespace& ns, std::string_view queue) const {
  Stats stats;
  const std::lock_guard lock{state_->mutex};
  for (const WorkKind kind : {WorkKind::workflow, WorkKind::activity}) {
    const auto lane = state_->lanes.find({ns, queue_or_default(queue), kind});
    if (lane == state_->lanes.end()) continue;
    (kind == WorkKind::workflow ? stats.workflow_tasks : stats.activity_tasks) =
        lane->second.offers.size();
    for (const auto& [skill, crowd] : lane->second.crowds) stats.polls += crowd.size();
  }
  return stats;
}

}  // namespace dw::server
