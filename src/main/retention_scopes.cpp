#include "main/retention_scopes.hpp"

#include "core/unwrap.hpp"
#include "server/namespaces.hpp"

#include <algorithm>
#include <map>

namespace dw::app {
namespace {

using DaysOf = std::map<Namespace, std::int64_t>;

// Read without a server's Namespaces, which would write its default one into the store.
DaysOf days_as_said(store::Store& store) {
  DaysOf days;
  for (const auto& document : unwrap(store.documents(server::namespace_kind))) {
    days.emplace(Namespace{document.id}, server::retention_days_in(document));
  }
  return days;
}

// Those of an embedded engine have no document; their runs tell that they are there.
void add_namespaces_of_runs(DaysOf& days, store::Store& store, Timestamp now) {
  store::ClosedFilter filter{.before = now - std::chrono::days{server::usual_retention_days},
                             .limit = upkeep::rows_at_once};
  for (;;) {
    const auto rows = unwrap(store.closed_runs(filter));
    for (const store::RunRow& row : rows) days.try_emplace(row.ns, server::usual_retention_days);
    if (rows.size() < upkeep::rows_at_once) return;
    filter.after = rows.back().run_id;
  }
}

std::int64_t days_for(const DaysOf& days, const Namespace& ns) {
  const auto found = days.find(ns);
  return found == days.end() ? server::usual_retention_days : found->second;
}

}  // namespace

std::vector<RetentionPart> retention_parts(store::Store& store, const RetentionQuestion& asked,
                                           Timestamp now) {
  const auto part = [&](std::int64_t days, std::optional<Namespace> ns,
                        std::vector<RunId> run_ids) {
    return RetentionPart{days,
                         {.before = now - std::chrono::days{days},
                          .run_ids = std::move(run_ids),
                          .ns = std::move(ns),
                          .limit = asked.limit}};
  };
  if (asked.days) return {part(*asked.days, asked.ns, asked.run_ids)};
  DaysOf days = days_as_said(store);
  std::vector<RetentionPart> parts;
  if (!asked.run_ids.empty()) {
    std::map<Namespace, std::vector<RunId>> named;
    for (const RunId& id : asked.run_ids) {
      const auto row = unwrap(store.find_run(id));
      named[row ? row->ns : Namespace{}].push_back(id);  // the pass tells of one that is not there
    }
    for (auto& [ns, ids] : named) parts.push_back(part(days_for(days, ns), ns, std::move(ids)));
    return parts;
  }
  if (asked.ns) return {part(days_for(days, *asked.ns), asked.ns, {})};
  add_namespaces_of_runs(days, store, now);
  if (days.empty()) return {part(server::usual_retention_days, {}, {})};
  for (const auto& [ns, kept] : days) parts.push_back(part(kept, ns, {}));
  // What was said to runs that went earlier is looked for once.
  for (std::size_t i = 1; i < parts.size(); ++i) parts[i].scope.only_if_any = true;
  return parts;
}

void share_limit(store::Store& store, std::vector<RetentionPart>& parts, std::size_t limit) {
  std::vector<std::pair<std::size_t, RetentionPart*>> wishes;
  for (RetentionPart& part : parts) {
    part.scope.limit = limit;
    wishes.emplace_back(unwrap(upkeep::expired_runs(store, part.scope)).size(), &part);
  }
  std::ranges::sort(wishes, {}, &std::pair<std::size_t, RetentionPart*>::first);
  std::size_t sharing = wishes.size();
  for (auto& [wish, part] : wishes) {
    const std::size_t share = (limit + sharing - 1) / sharing;
    part->scope.limit = std::min(wish, share);
    limit -= part->scope.limit;
    --sharing;
  }
}

}  // namespace dw::app
