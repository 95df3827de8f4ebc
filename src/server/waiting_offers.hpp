// Work of one kind that waits on one queue, and which of it goes next: the lowest priority first,
// within a priority each fairness key in turn, within a key the oldest task.
//
// A key's turn comes when a clock gets there that turns alone move: after the one it had, or after
// now if it had none, by a span that is shorter the more it weighs. Who has nothing waiting is
// forgotten and begins at the clock as everybody does, so turns cannot be saved up.
#pragma once
#include "dispatch/offer.hpp"

#include <functional>
#include <map>
#include <set>
#include <tuple>

namespace dw::server {

class WaitingOffers {
 public:
  // Beyond it, the least urgent is left to the task table (server/table_search.hpp).
  static constexpr std::size_t most = 10'000;

  // What a task asks of whoever takes it. Tasks that need the same are alike to every poll; they
  // are kept together, so that a search meets each sort once, however many wait.
  struct Need {
    std::string type;
    std::string compatibility;
    friend auto operator<=>(const Need&, const Need&) = default;
  };
  static Need need_of(const dispatch::Offer& offer) { return {offer.type, offer.compatibility}; }

  bool empty() const { return offers_.empty(); }
  std::size_t size() const { return offers_.size(); }
  bool contains(const Need& need) const { return piles_.contains(need); }
  bool any(const std::function<bool(const Need&)>& suits) const;

  // One that waits already is not kept twice. Where there is no room, the newest of the least
  // urgent makes way for one that is more urgent; false when one was left out.
  [[nodiscard]] bool keep(dispatch::Offer offer);
  void remove(const dispatch::Offer& offer);
  // The next one of those that suit.
  std::optional<dispatch::Offer> take(const std::function<bool(const Need&)>& suits);

 private:
  using Offers = std::map<std::pair<std::int64_t, engine::TaskKey>, dispatch::Offer>;
  struct Older {
    bool operator()(Offers::const_iterator a, Offers::const_iterator b) const {
      return a->first.second < b->first.second;
    }
  };
  // Of two that come at the same time, the one that was given out first.
  struct Turn {
    std::int64_t priority = 0;
    std::uint64_t at = 0;
    std::uint64_t number = 0;
    friend auto operator<=>(const Turn&, const Turn&) = default;
  };
  using Tenant = std::pair<std::int64_t, std::string>;  // priority and fairness key
  struct Share {
    Turn next;
    std::size_t waiting = 0;  // on all piles
  };
  using Shares = std::map<Tenant, Share>;
  // What a tenant has on one pile. Its turn may have been taken on another since it was listed.
  struct Line {
    Shares::iterator share;
    Turn listed;
    std::set<Offers::iterator, Older> offers;
  };
  using Lines = std::map<Tenant, Line>;
  struct Pile {
    Lines lines;
    std::map<Turn, Lines::iterator> by_turn;
  };

  static Tenant tenant_of(const dispatch::Offer& offer) {
    return {offer.precedence.priority, offer.precedence.fairness_key};
  }
  Turn turn_after_now(const history::Precedence& precedence);
  static Lines::iterator next_line(Pile& pile);
  dispatch::Offer extract(Offers::iterator which);

  // Neither a pile, nor a line, nor a share is ever empty: types and keys come from outside, and
  // nobody else would remove what they leave behind.
  Offers offers_;  // the least urgent last, and of those the newest
  std::map<Need, Pile> piles_;
  Shares shares_;
  std::map<std::int64_t, std::uint64_t> clocks_;  // of each priority
  std::uint64_t turns_ = 0;
};

}  // namespace dw::server
