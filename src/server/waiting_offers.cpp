#include "server/waiting_offers.hpp"

#include <algorithm>

namespace dw::server {
namespace {

// What a turn takes a key of weight 1: a multiple of every small weight, so that these come out
// exactly, and few enough for a clock that is never set back.
constexpr std::uint64_t longest_turn = 720'720;

}  // namespace

WaitingOffers::Turn WaitingOffers::turn_after_now(const history::Precedence& precedence) {
  const auto weight = std::max<std::int64_t>(precedence.fairness_weight, 1);
  const auto takes = longest_turn / static_cast<std::uint64_t>(weight);
  return {precedence.priority, clocks_[precedence.priority] + takes, ++turns_};
}

bool WaitingOffers::any(const std::function<bool(const Need&)>& suits) const {
  return std::ranges::any_of(piles_, [&](const auto& pile) { return suits(pile.first); });
}

bool WaitingOffers::keep(dispatch::Offer offer) {
  Offers::key_type standing{offer.precedence.priority, offer.task};
  if (offers_.contains(standing)) return true;
  const bool full = offers_.size() >= most;
  if (full) {
    const auto last = std::prev(offers_.end());
    if (last->first.first <= offer.precedence.priority) return false;
    extract(last);
  }
  const Need need = need_of(offer);
  const Tenant tenant = tenant_of(offer);
  const auto kept = offers_.emplace(std::move(standing), std::move(offer)).first;
  const auto share = shares_.try_emplace(tenant).first;
  Turn& next = share->second.next;
  if (share->second.waiting++ == 0) next = turn_after_now(kept->second.precedence);
  Pile& pile = piles_[need];
  const auto [line, added] = pile.lines.try_emplace(tenant, Line{share, next, {}});
  if (added) pile.by_turn.emplace(next, line);
  line->second.offers.insert(kept);
  return !full;
}

void WaitingOffers::remove(const dispatch::Offer& offer) {
  const auto found = offers_.find({offer.precedence.priority, offer.task});
  if (found != offers_.end()) extract(found);
}

// Turns only ever come later, so whoever is first and listed rightly is first.
WaitingOffers::Lines::iterator WaitingOffers::next_line(Pile& pile) {
  for (;;) {
    const auto first = pile.by_turn.begin();
    Line& line = first->second->second;
    if (line.listed == line.share->second.next) return first->second;
    line.listed = line.share->second.next;
    auto moved = pile.by_turn.extract(first);
    moved.key() = line.listed;
    pile.by_turn.insert(std::move(moved));
  }
}

std::optional<dispatch::Offer> WaitingOffers::take(const std::function<bool(const Need&)>& suits) {
  std::optional<std::pair<Turn, Offers::iterator>> best;
  for (auto& [need, pile] : piles_) {
    if (!suits(need)) continue;
    const Line& line = next_line(pile)->second;
    const auto oldest = *line.offers.begin();
    const bool before = !best || line.listed < best->first ||
                        (line.listed == best->first && Older{}(oldest, best->second));
    if (before) best.emplace(line.listed, oldest);
  }
  if (!best) return std::nullopt;
  const auto [turn, which] = *best;
  const Tenant tenant = tenant_of(which->second);
  dispatch::Offer taken = extract(which);
  // A turn that nobody could take for a while does not set the clock back.
  std::uint64_t& clock = clocks_[turn.priority];
  clock = std::max(clock, turn.at);
  if (const auto share = shares_.find(tenant); share != shares_.end()) {
    share->second.next = turn_after_now(taken.precedence);
  }
  return taken;
}

dispatch::Offer WaitingOffers::extract(Offers::iterator which) {
  const Tenant tenant = tenant_of(which->second);
  const auto pile = piles_.find(need_of(which->second));
  const auto line = pile->second.lines.find(tenant);
  const auto share = line->second.share;
  line->second.offers.erase(which);
  if (line->second.offers.empty()) {
    pile->second.by_turn.erase(line->second.listed);
    pile->second.lines.erase(line);
    if (pile->second.lines.empty()) piles_.erase(pile);
  }
  if (--share->second.waiting == 0) shares_.erase(share);
  return std::move(offers_.extract(which).mapped());
}

}  // namespace dw::server
