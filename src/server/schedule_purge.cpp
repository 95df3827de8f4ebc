// Deleted schedules leave the store, once an administrator wants the room: with their ledger, and
// with their audit stream only if that is asked for.
#include "schedule/record_codec.hpp"
#include "server/addressed.hpp"
#include "server/schedule_detail.hpp"
#include "server/schedule_fields.hpp"
#include "server/schedules.hpp"

#include <spdlog/spdlog.h>

namespace dw::server {
namespace {

constexpr std::size_t purged_at_once = 200;

Value::Map purged_value(const store::ScheduleRow& row) {
  return {{"namespace", row.ns.view()},
          {"schedule_id", row.schedule_id},
          {"schedule_ulid", row.ulid.view()},
          {"deleted_at", instant_or_null(schedule::read_schedule(row.record)->deleted_at)}};
}

}  // namespace

struct Schedules::Purge {
  Call call;
  Reply reply;
  Timestamp deleted_before;
  bool with_history = false;
  std::optional<store::ScheduleCursor> after = {};
  bool more = true;
  Value::Array gone = {};
};

void Schedules::purge(const Call& call, Reply reply) {
  Fields fields{call};
  const auto before = instant_in(fields, "deleted_before");
  const bool with_history = fields.flag("with_history");
  if (!fields.fine()) return reply(fields.errors());
  purge_next(
      std::make_shared<Purge>(Purge{call.without_body(), std::move(reply), *before, with_history}));
}

// One page is read, then let go of; whoever else commits gets in between.
void Schedules::purge_next(const std::shared_ptr<Purge>& purge) {
  parts_.reader.post([this, purge] {
    auto leaving = find_purgeable(*purge);
    if (!leaving) return purge->reply(failed(leaving.error(), purge->call));
    parts_.writer.post([this, purge, leaving = *std::move(leaving)] {
      const auto gone = let_go(leaving, purge->with_history);
      if (!gone) return purge->reply(failed(gone.error(), purge->call));
      for (const auto& row : *gone) purge->gone.emplace_back(purged_value(row));
      if (purge->more) return purge_next(purge);
      const auto count = static_cast<std::int64_t>(purge->gone.size());
      purge->reply({200,
                    {{"outcome", "purged"},
                     {"purged", count},
                     {"with_history", purge->with_history},
                     {"schedules", std::move(purge->gone)}}});
    });
  });
}

Result<std::vector<store::ScheduleRow>> Schedules::find_purgeable(Purge& purge) {
  store::ScheduleFilter filter{.statuses = {std::string{store::schedule_deleted}},
                               .after = purge.after,
                               .limit = purged_at_once};
  auto page = DW_TRY(parts_.store.list_schedules(filter));
  purge.more = page.size() == filter.limit;
  if (purge.more) {
    const auto& last = page.back();
    purge.after = store::ScheduleCursor{last.created_at, last.schedule_id, last.ulid};
  }
  std::erase_if(page, [&](const store::ScheduleRow& row) {
    const auto known = schedule::read_schedule(row.record);
    if (!known) {
      spdlog::warn("a deleted schedule cannot be read and stays: {} schedule={} namespace={}",
                   known.error().message, row.schedule_id, row.ns.view());
    }
    return !known || !known->deleted_at || *known->deleted_at >= purge.deleted_before;
  });
  return page;
}

// Those that are gone; what somebody changed since it was read stays.
Result<std::vector<store::ScheduleRow>> Schedules::let_go(std::vector<store::ScheduleRow> leaving,
                                                          bool with_history) {
  std::vector<store::Transition> batch;
  for (const auto& row : leaving) {
    store::Transition transition;
    transition.id = CommitId{new_id()};
    transition.recorded_at = parts_.clock.now();
    transition.reads = {{row.ulid, row.version}};
    transition.purged_schedules = {{row.ulid, with_history}};
    batch.push_back(std::move(transition));
  }
  if (batch.empty()) return leaving;
  const auto outcomes = parts_.store.commit(batch);
  std::vector<store::ScheduleRow> gone;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (const auto* failed = std::get_if<store::Failed>(&outcomes[i])) return failed->error;
    if (std::holds_alternative<store::Won>(outcomes[i])) gone.push_back(std::move(leaving[i]));
  }
  return gone;
}

Result<std::int64_t> Schedules::forget_some(const Namespace& ns) {
  auto page = DW_TRY(parts_.store.list_schedules(
      {.ns = ns, .statuses = {std::string{store::schedule_deleted}}, .limit = purged_at_once}));
  return std::ssize(DW_TRY(let_go(std::move(page), true)));
}

}  // namespace dw::server
