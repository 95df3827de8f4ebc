#include "server/matching.hpp"

#include "core/assert.hpp"
#include "server/deadlines.hpp"
#include "server/task_budgets.hpp"
#include "server/waiting_offers.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <unordered_map>

namespace dw::server {
namespace {

// After which things are tried, or looked at, once more.
constexpr std::chrono::seconds moment{1};
// Below it a lane has room for what was left out.
constexpr std::size_t half_full = WaitingOffers::most / 2;
// How much of the task table is looked through for polls that nothing in a full lane suits.
constexpr std::size_t most_in_vain = 500;

std::string queue_or_default(std::string_view queue) {
  return std::string{queue.empty() ? "default" : queue};
}

LaneName lane_of(WorkKind kind, const dispatch::Offer& offer) {
  return {offer.run.instance.ns, queue_or_default(offer.queue), kind};
}

}  // namespace

LaneName lane_of(const Poll& poll) {
  return {poll.ns, queue_or_default(poll.queue), poll.kind};
}

Timestamp counts_until(const history::OpenActivity& activity) {
  const auto& heartbeat = activity.retry_policy.heartbeat_timeout;
  if (!heartbeat) return activity.lease_expires_at;
  return std::min(activity.lease_expires_at, history::later(activity.started_at, *heartbeat));
}

// Polls that can do the same are alike to every task. They are kept together, so that a search
// meets each sort once, however many wait.
struct Matching::State : std::enable_shared_from_this<State> {
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
  // Offers that a lane had no room for, and how far the search for them has come.
  struct LeftOut {
    bool since = false;  // the search began at the table's beginning: it may have passed them
    bool searching = false;
    std::optional<engine::TaskKey> from = {};  // where it goes on
    Timestamp not_before = {};                 // for those who ask in vain
    bool any() const { return since || from; }
  };
  // No crowd is ever empty, and no lane idle: queue names and types come from outside, and nobody
  // else would remove what they leave behind.
  using Crowd = std::set<std::uint64_t>;  // by order of arrival
  struct Lane {
    WaitingOffers offers;
    std::map<Skill, Crowd> crowds;
    LeftOut left_out;
    bool lets_others_go = false;  // in a moment
    bool idle() const {
      return offers.empty() && crowds.empty() && !left_out.any() && !left_out.searching &&
             !lets_others_go;
    }
  };
  using Lanes = std::map<LaneName, Lane>;
  struct Place {
    Lanes::iterator lane;
    std::map<Skill, Crowd>::iterator crowd;
  };
  struct Waiting {
    std::vector<Place> places;
    std::string worker_id;
    Reply reply;
    Timestamp since;
    std::optional<Poll> instead;
  };

  State(Executor& when, const Clock& now_from, BudgetSettings settings)
      : time(when), clock(now_from), budgets(std::move(settings)), limited(budgets.limited()) {}

  static Skill skill_of(const Poll& poll) { return {poll.types, poll.any_type, poll.build_id}; }

  void offer(WorkKind kind, dispatch::Offer offer);
  Reply take_poll(const LaneName& name, const Need& need);
  std::optional<dispatch::Offer> take_offer(const Poll& poll);
  void keep_poll(const std::vector<Poll>& polls, Timestamp until, Reply reply,
                 std::optional<Poll> instead);
  Reply leave(std::uint64_t number);
  void expire(std::uint64_t number);
  void look_for_left_out(Lanes::iterator lane, bool in_vain);
  void looked(const LaneName& name, std::optional<engine::TaskKey> stopped_at);
  bool throttled(const LaneName& name);
  void wait_for_room();
  void match_throttled();
  // After throttled() has said no, under the same lock.
  void reserve(const LaneName& name) {
    if (!limited) return;
    DW_ASSERT(budgets.reserve(name, clock.now()), "a task beyond its budget");
    served_last = name;
  }
  void let_others_go_soon(Lanes::iterator lane);
  void let_others_go(const LaneName& name);
  void forget_if_idle(Lanes::iterator lane) {
    if (lane->second.idle()) lanes.erase(lane);
  }

  Executor& time;
  const Clock& clock;
  std::mutex mutex;  // guards all below; never held while a reply is called
  Lanes lanes;
  std::unordered_map<std::uint64_t, Waiting> waiting;
  std::size_t one_at_a_time = 0;  // of those: could do something else instead
  std::uint64_t arrivals = 0;
  bool stopped = false;
  Look look;
  TaskBudgets budgets;
  const bool limited;  // else they are neither asked nor told anything
  // Lanes where both sides wait because nothing may go out, and when somebody looks at them.
  std::set<LaneName> without_room;
  LaneName served_last;
  std::optional<Timestamp> next_look;
  std::optional<Deadlines> deadlines;  // always there
};

// The poll that has waited longest; empty when nobody is waiting for this.
Matching::Reply Matching::State::take_poll(const LaneName& name, const Need& need) {
  const auto lane = lanes.find(name);
  // Those who could take a task that waits would not be waiting.
  if (lane == lanes.end() || lane->second.offers.contains(need)) return {};
  if (lane->second.crowds.empty() || throttled(name)) return {};
  std::optional<std::uint64_t> first;
  for (const auto& [skill, crowd] : lane->second.crowds) {
    const std::uint64_t arrived = *crowd.begin();
    if ((!first || arrived < *first) && suits(skill, need)) first = arrived;
  }
  if (!first) return {};
  reserve(name);
  return leave(*first);
}

std::optional<dispatch::Offer> Matching::State::take_offer(const Poll& poll) {
  const auto lane = lanes.find(lane_of(poll));
  if (lane == lanes.end()) return std::nullopt;
  if (!lane->second.offers.empty() && throttled(lane->first)) return std::nullopt;
  auto offer = lane->second.offers.take([&](const Need& need) { return suits(poll, need); });
  if (offer) reserve(lane->first);
  look_for_left_out(lane, !offer);
  forget_if_idle(lane);
  return offer;
}

void Matching::State::keep_poll(const std::vector<Poll>& polls, Timestamp until, Reply reply,
                                std::optional<Poll> instead) {
  const std::uint64_t number = ++arrivals;
  if (instead) {
    ++one_at_a_time;
    const auto other = lanes.find(lane_of(*instead));
    if (other != lanes.end() && !other->second.offers.empty()) let_others_go_soon(other);
  }
  Waiting poll{{}, polls.front().worker_id, std::move(reply), clock.now(), std::move(instead)};
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
  if (found.mapped().instead) --one_at_a_time;
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

// ---- what there was no room for

// Where there is room again; where there is none, for whoever asked in vain, and little by little.
void Matching::State::look_for_left_out(Lanes::iterator lane, bool in_vain) {
  LeftOut& left_out = lane->second.left_out;
  if (!left_out.any() || left_out.searching || !look) return;
  const bool room = lane->second.offers.size() <= half_full;
  if (!room && (!in_vain || clock.now() < left_out.not_before)) return;
  left_out.searching = true;
  if (!left_out.from) left_out.since = false;
  time.post([state = shared_from_this(), search = look, name = lane->first, from = left_out.from,
             most = room ? half_full : most_in_vain] {
    search(name, from, most, [state, name](std::optional<engine::TaskKey> stopped_at) {
      state->looked(name, std::move(stopped_at));
    });
  });
}

void Matching::State::looked(const LaneName& name, std::optional<engine::TaskKey> stopped_at) {
  const std::lock_guard lock{mutex};
  const auto lane = lanes.find(name);
  if (stopped || lane == lanes.end()) return;
  LeftOut& left_out = lane->second.left_out;
  left_out.searching = false;
  left_out.from = std::move(stopped_at);
  left_out.not_before = clock.now() + moment;
  look_for_left_out(lane, false);
  if (left_out.any() && !left_out.searching) {
    time.post_at(left_out.not_before, [weak = weak_from_this(), name] {
      const auto state = weak.lock();
      if (!state) return;
      const std::lock_guard again{state->mutex};
      const auto found = state->lanes.find(name);
      if (found == state->lanes.end()) return;
      state->look_for_left_out(found, !found->second.crowds.empty());
    });
  }
  forget_if_idle(lane);
}

// ---- budgets

bool Matching::State::throttled(const LaneName& name) {
  if (!limited || budgets.room(name, clock.now()) > 0) return false;
  without_room.insert(name);
  wait_for_room();
  return true;
}

// A lease that runs out, or the next minute, makes room without anybody's doing.
void Matching::State::wait_for_room() {
  const auto change = without_room.empty() ? std::nullopt : budgets.next_change(clock.now());
  if (!change || (next_look && *next_look <= *change)) return;
  next_look = change;
  time.post_at(*change, [weak = weak_from_this(), at = *change] {
    const auto state = weak.lock();
    if (!state) return;
    {
      const std::lock_guard lock{state->mutex};
      if (state->next_look == at) state->next_look.reset();
    }
    state->match_throttled();
  });
}

void Matching::State::match_throttled() {
  std::vector<std::pair<Reply, Found>> matched;
  {
    const std::lock_guard lock{mutex};
    const auto throttled_lanes = std::exchange(without_room, {});
    std::vector<LaneName> names{throttled_lanes.begin(), throttled_lanes.end()};
    // Lanes that share a budget take turns.
    std::rotate(names.begin(), std::ranges::upper_bound(names, served_last), names.end());
    for (const LaneName& name : names) {
      for (;;) {
        const auto lane = lanes.find(name);
        if (lane == lanes.end() || lane->second.offers.empty() || throttled(name)) break;
        std::optional<std::pair<std::uint64_t, Skill>> first;
        for (const auto& [skill, crowd] : lane->second.crowds) {
          const auto suited = [&able = skill](const Need& need) { return suits(able, need); };
          if (first && first->first < *crowd.begin()) continue;
          if (lane->second.offers.any(suited)) first.emplace(*crowd.begin(), skill);
        }
        if (!first) break;
        Found found;
        found.kind = name.kind;
        found.offer =
            lane->second.offers.take([&](const Need& need) { return suits(first->second, need); });
        reserve(name);
        matched.emplace_back(leave(first->first), std::move(found));
      }
      const auto lane = lanes.find(name);
      if (lane == lanes.end()) continue;
      look_for_left_out(lane, !lane->second.crowds.empty());
      forget_if_idle(lane);
    }
  }
  for (auto& [reply, found] : matched) reply(std::move(found));
}

// ---- workers that ask for one kind of work at a time

void Matching::State::let_others_go_soon(Lanes::iterator lane) {
  if (std::exchange(lane->second.lets_others_go, true)) return;
  time.post_at(clock.now() + moment, [weak = weak_from_this(), name = lane->first] {
    if (const auto state = weak.lock()) state->let_others_go(name);
  });
}

void Matching::State::let_others_go(const LaneName& name) {
  std::vector<Reply> let_go;
  {
    const std::lock_guard lock{mutex};
    const auto lane = lanes.find(name);
    if (lane == lanes.end()) return;
    lane->second.lets_others_go = false;
    if (limited && budgets.room(name, clock.now()) == 0) {  // nobody would be given any
      if (one_at_a_time > 0) let_others_go_soon(lane);
      return;
    }
    const Timestamp before = clock.now() - moment;
    std::set<std::string_view> asking;
    for (const auto& [number, poll] : waiting) {
      const bool here =
          std::ranges::any_of(poll.places, [&](const Place& place) { return place.lane == lane; });
      if (here) asking.insert(poll.worker_id);
    }
    std::vector<std::uint64_t> numbers;
    bool others = false;
    for (const auto& [number, poll] : waiting) {
      if (!poll.instead || lane_of(*poll.instead) != name) continue;
      const auto suited = [&other = *poll.instead](const Need& need) { return suits(other, need); };
      if (asking.contains(poll.worker_id) || !lane->second.offers.any(suited)) continue;
      others = true;
      if (poll.since <= before) numbers.push_back(number);
    }
    if (others) let_others_go_soon(lane);
    for (const std::uint64_t number : numbers) let_go.push_back(leave(number));
    forget_if_idle(lane);
  }
  for (const Reply& reply : let_go) reply({});
}

// ---- for everybody else

Matching::Matching(Executor& time, const Clock& clock) : Matching(time, clock, {}) {}

Matching::Matching(Executor& time, const Clock& clock, BudgetSettings budgets)
    : state_(std::make_shared<State>(time, clock, std::move(budgets))) {
  state_->deadlines.emplace(time, [weak = std::weak_ptr{state_}](std::uint64_t number) {
    if (const auto state = weak.lock()) state->expire(number);
  });
}

Matching::~Matching() {
  stop();
}

void Matching::look_with(Look look) {
  const std::lock_guard lock{state_->mutex};
  state_->look = std::move(look);
}

void Matching::offered(dispatch::Offer offered) {
  const WorkKind kind = offered.activity.empty() ? WorkKind::workflow : WorkKind::activity;
  // Whoever held it does so no longer.
  ended(offered.task.id);
  state_->offer(kind, std::move(offered));
}

void Matching::offer(WorkKind kind, dispatch::Offer offer) {
  state_->offer(kind, std::move(offer));
}

void Matching::offer_again(WorkKind kind, dispatch::Offer offer) {
  state_->time.post_at(state_->clock.now() + moment,
                       [weak = std::weak_ptr{state_}, kind, offer = std::move(offer)]() mutable {
                         if (const auto state = weak.lock()) state->offer(kind, std::move(offer));
                       });
}

// Later, and not from here: of many who are gone, each would give it to the next.
void Matching::give_back(WorkKind kind, dispatch::Offer offer) {
  state_->time.post([state = state_, kind, offer = std::move(offer)]() mutable {
    if (state->limited) {
      const std::lock_guard lock{state->mutex};
      state->budgets.cancel(lane_of(kind, offer));
    }
    state->offer(kind, std::move(offer));
    state->match_throttled();
  });
}

void Matching::State::offer(WorkKind kind, dispatch::Offer offer) {
  Reply reply;
  {
    const std::lock_guard lock{mutex};
    if (stopped) return;
    LaneName name = lane_of(kind, offer);
    reply = take_poll(name, WaitingOffers::need_of(offer));
    if (!reply) {
      const auto lane = lanes.try_emplace(std::move(name)).first;
      const bool in_table = kind == WorkKind::workflow || kind == WorkKind::activity;
      if (!lane->second.offers.keep(std::move(offer)) && in_table) {
        lane->second.left_out.since = true;
      }
      if (kind == WorkKind::activity && one_at_a_time > 0) let_others_go_soon(lane);
      return;
    }
  }
  reply({std::move(offer), false, kind});
}

void Matching::withdraw(WorkKind kind, const dispatch::Offer& offer) {
  const std::lock_guard lock{state_->mutex};
  const auto lane = state_->lanes.find(lane_of(kind, offer));
  if (lane == state_->lanes.end()) return;
  lane->second.offers.remove(offer);
  state_->look_for_left_out(lane, false);
  state_->forget_if_idle(lane);
}

void Matching::poll(Poll asked, Timestamp until, Reply reply) {
  poll_any({std::move(asked)}, until, std::move(reply));
}

void Matching::poll_any(std::vector<Poll> polls, Timestamp until, Reply reply,
                        std::optional<Poll> instead) {
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
      return state_->keep_poll(polls, until, std::move(reply), std::move(instead));
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
      const Namespace& asked = poll.places.front().lane->first.ns;
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

void Matching::leased(WorkKind kind, const dispatch::Offer& offer, const TaskId& task,
                      Timestamp until) {
  if (!state_->limited) return;
  const std::lock_guard lock{state_->mutex};
  const Timestamp now = state_->clock.now();
  state_->budgets.bind(lane_of(kind, offer), task, until - now, now);
  state_->wait_for_room();
}

void Matching::not_leased(WorkKind kind, const dispatch::Offer& offer) {
  if (!state_->limited) return;
  {
    const std::lock_guard lock{state_->mutex};
    state_->budgets.cancel(lane_of(kind, offer));
  }
  state_->match_throttled();
}

std::int64_t Matching::reserve(const Poll& poll, std::int64_t wanted) {
  if (!state_->limited) return wanted;
  const LaneName lane = lane_of(poll);
  const std::lock_guard lock{state_->mutex};
  std::int64_t granted = 0;
  while (granted < wanted && state_->budgets.reserve(lane, state_->clock.now())) ++granted;
  return granted;
}

void Matching::leased(const Poll& poll, const TaskId& task, Timestamp until) {
  if (!state_->limited) return;
  const std::lock_guard lock{state_->mutex};
  const Timestamp now = state_->clock.now();
  state_->budgets.bind(lane_of(poll), task, until - now, now);
  state_->wait_for_room();
}

void Matching::hand_back(const Poll& poll, std::int64_t count) {
  if (!state_->limited || count <= 0) return;
  {
    const LaneName lane = lane_of(poll);
    const std::lock_guard lock{state_->mutex};
    while (count-- > 0) state_->budgets.cancel(lane);
  }
  state_->match_throttled();
}

void Matching::renewed(const TaskId& task) {
  if (!state_->limited) return;
  const std::lock_guard lock{state_->mutex};
  state_->budgets.renew(task, state_->clock.now());
  state_->wait_for_room();
}

void Matching::ended(const TaskId& task) {
  if (!state_->limited) return;
  {
    const std::lock_guard lock{state_->mutex};
    if (!state_->budgets.release(task)) return;
  }
  state_->match_throttled();
}

BudgetStanding Matching::standing(const LaneName& lane) {
  const std::lock_guard lock{state_->mutex};
  return state_->budgets.standing(lane, state_->clock.now());
}

std::int64_t Matching::most_pending_queries(const Namespace& ns, std::string_view queue) const {
  return state_->budgets.most_pending_queries(ns, queue);
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
