#include "server/calendars.hpp"

#include "schedule/calendar_ics.hpp"
#include "schedule/calendar_seeds.hpp"
#include "server/addressed.hpp"
#include "server/calendar_answers.hpp"
#include "server/fields.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

namespace dw::server {
namespace {

namespace chrono = std::chrono;

int year_of(Timestamp at) {
  return static_cast<int>(chrono::year_month_day{chrono::floor<chrono::days>(at)}.year());
}

bool asks_for(const Call& call, std::string_view name) {
  const auto given = call.parameter(name);
  return given && (*given == "true" || *given == "1");
}

// What clocks in one zone show while those in another show `wall`.
std::optional<chrono::local_seconds> shown_elsewhere(machine::ZoneFiles& zones,
                                                     chrono::local_seconds wall,
                                                     std::string_view from, std::string_view to) {
  const auto here = zones.find(from);
  const auto there = zones.find(to);
  if (!here || !there) return std::nullopt;
  const auto instants = here->instants_of(wall);
  if (instants.kind == schedule::LocalMapping::Kind::gap) return std::nullopt;
  return there->local_at(instants.first);
}

schedule::IcsOptions ics_options(Fields& fields) {
  schedule::IcsOptions options;
  options.name = fields.text("name", schedule::longest_calendar_name);
  options.timezone = fields.text("timezone", schedule::longest_calendar_name);
  options.kind = fields.word("kind", {"skip_dates", "only_dates"}) == "only_dates"
                     ? schedule::CalendarKind::only_dates
                     : schedule::CalendarKind::skip_dates;
  options.take_what_is_understood = fields.flag("take_what_is_understood");
  return options;
}

}  // namespace

Calendars::Calendars(CalendarsParts parts) : parts_(std::move(parts)), ulids_(parts_.random) {
  for (const schedule::Calendar& calendar : schedule::seed_calendars()) {
    const Kept seed = compiled({.id = calendar.name, .calendar = calendar, .is_seed = true});
    seeds_.by_id.emplace(calendar.name, seed);
    seeds_.by_name.emplace(calendar.name, seed);
  }
}

void Calendars::restore(std::span<const store::Document> documents) {
  // A zone may be gone from this machine since. The calendar stays, and denies every tick.
  const auto any_zone = [](std::string_view) { return true; };
  const std::lock_guard lock{mutex_};
  for (const store::Document& document : documents) {
    const auto body = parse_json(document.body);
    auto record = body ? schedule::read_calendar_record(*body, any_zone)
                       : schedule::Checked<schedule::CalendarRecord>{};
    if (!record || record->id != document.id) {
      spdlog::warn("a calendar's document cannot be read and is left out: namespace={} calendar={}",
                   document.ns.view(), document.id);
      continue;
    }
    const Kept kept = compiled(*std::move(record));
    Shelf& shelf = shelves_[document.ns];
    shelf.by_id.insert_or_assign(kept->record.id, kept);
    shelf.by_name.insert_or_assign(kept->record.calendar.name, kept);
  }
}

// ---- finding

std::shared_ptr<const KeptCalendar> Calendars::find_kept(const Namespace& ns,
                                                         std::string_view id_or_name) const {
  if (const auto seed = seeds_.by_id.find(id_or_name); seed != seeds_.by_id.end()) {
    return seed->second;
  }
  const std::lock_guard lock{mutex_};
  const auto shelf = shelves_.find(ns);
  if (shelf == shelves_.end()) return nullptr;
  for (const auto* by : {&shelf->second.by_id, &shelf->second.by_name}) {
    if (const auto found = by->find(id_or_name); found != by->end()) return found->second;
  }
  return nullptr;
}

std::shared_ptr<const schedule::CompiledCalendar> Calendars::find(
    const Namespace& ns, std::string_view id_or_name) const {
  const auto kept = find_kept(ns, id_or_name);
  return kept ? std::shared_ptr<const schedule::CompiledCalendar>{kept, &kept->compiled} : nullptr;
}

Calendars::Kept Calendars::compiled(schedule::CalendarRecord record) const {
  schedule::CompiledCalendar years{record.calendar, year_of(parts_.clock.now())};
  return std::make_shared<KeptCalendar>(KeptCalendar{std::move(record), std::move(years)});
}

schedule::Checked<schedule::Calendar> Calendars::checked(const Value& definition) const {
  auto calendar = schedule::check_calendar(
      definition, [this](std::string_view name) { return zone_exists(name); });
  const Value* name = definition.find("name");
  const std::string* text = name ? name->if_string() : nullptr;
  const bool speakable = text && !text->empty() && std::ranges::none_of(*text, [](char c) {
                           return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
                         });
  if (!speakable) {
    calendar.value.reset();
    calendar.problems.push_back(
        {"invalid_value", "name", "a calendar needs a name, without control characters"});
  }
  return calendar;
}

// ---- showing

void Calendars::serve(Call call, Reply reply) {
  switch (call.operation()) {
    case Operation::list_calendars:
      return reply(list(call));
    case Operation::describe_calendar:
      return parts_.reader.post(
          [this, call = std::move(call), reply = std::move(reply)] { reply(describe(call)); });
    case Operation::expand_calendar:
      return reply(expand(call));
    case Operation::create_calendar:
      return create(call, std::move(reply));
    case Operation::import_calendar:
      return import(std::move(call), std::move(reply));
    case Operation::clone_calendar:
      return clone(call, std::move(reply));
    case Operation::update_calendar:
      return update(call, std::move(reply));
    case Operation::remove_calendar:
      return remove(call, std::move(reply));
    default:
      return reply(refusal(404, "not_found", "nobody here does that"));
  }
}

Answer Calendars::list(const Call& call) const {
  Value::Array rows;
  if (!asks_for(call, "seeds_only")) {
    const std::lock_guard lock{mutex_};
    if (const auto shelf = shelves_.find(call.ns); shelf != shelves_.end()) {
      for (const auto& [name, kept] : shelf->second.by_name) {
        rows.emplace_back(calendar_row(kept->record));
      }
    }
  }
  if (!asks_for(call, "mine_only")) {
    for (const schedule::Calendar& seed : schedule::seed_calendars()) {
      rows.emplace_back(calendar_row(seeds_.by_id.at(seed.name)->record));
    }
  }
  const auto count = static_cast<std::int64_t>(rows.size());
  return {200, {{"calendars", std::move(rows)}, {"calendar_count", count}}};
}

Result<std::vector<std::string>> Calendars::attached_to(const Call& call,
                                                        const KeptCalendar& kept) const {
  if (!parts_.attached_to) return std::vector<std::string>{};
  return parts_.attached_to(call.ns, kept.record);
}

Answer Calendars::describe(const Call& call) const {
  const auto kept = find_kept(call.ns, call.match["calendar"]);
  if (!kept) return no_such_calendar(call.ns.view(), call.match["calendar"]);
  const auto attached = attached_to(call, *kept);
  if (!attached) return failed(attached.error(), call);
  Value::Array schedules;
  for (const auto& id : *attached) schedules.emplace_back(id);
  Answer answer{200, shown_calendar(kept->record)};
  answer.body.emplace_back("attached_schedules", std::move(schedules));
  return answer;
}

Answer Calendars::expand(const Call& call) const {
  const auto kept = find_kept(call.ns, call.match["calendar"]);
  if (!kept) return no_such_calendar(call.ns.view(), call.match["calendar"]);
  Value::Map given;
  if (auto year = call.parameter("year")) given.emplace_back("year", *std::move(year));
  Fields fields{given, {}};
  const auto year = fields.whole("year", 1, 9999).value_or(year_of(parts_.clock.now()));
  if (!fields.fine()) return fields.errors();
  const auto& [record, compiled_calendar] = *kept;
  Answer answer{200,
                {{"id", record.id},
                 {"name", record.calendar.name},
                 {"kind", schedule::to_string(record.calendar.kind)},
                 {"timezone", record.calendar.timezone}}};
  Value expansion = schedule::to_value(schedule::expand(record.calendar, static_cast<int>(year)));
  for (auto& entry : *expansion.if_map()) answer.body.push_back(std::move(entry));
  return answer;
}

// ---- changing

void Calendars::create(const Call& call, Reply reply) {
  if (call.field("ics")) return import(call, std::move(reply));
  auto calendar = checked(definition_in(call.body));
  if (!calendar) return reply(refused_calendar(calendar.problems));
  parts_.writer.post([this, ns = call.ns, calendar = *std::move(calendar),
                      reply = std::move(reply)] { reply(add(ns, calendar, {})); });
}

void Calendars::clone(const Call& call, Reply reply) {
  const auto source = find_kept(call.ns, call.match["calendar"]);
  if (!source) return reply(no_such_calendar(call.ns.view(), call.match["calendar"]));
  Value::Map definition = merged_definition(source->record.calendar, call.body);
  // The name is what a clone must not share.
  if (!call.field("name")) {
    std::erase_if(definition, [](const auto& entry) { return entry.first == "name"; });
  }
  auto calendar = checked(std::move(definition));
  if (!calendar) return reply(refused_calendar(calendar.problems));
  parts_.writer.post([this, ns = call.ns, calendar = *std::move(calendar), from = source->record.id,
                      reply = std::move(reply)] {
    reply(add(ns, calendar, {{"cloned_from", from}}));
  });
}

// A file may be long, so it is read where reading may take its time.
void Calendars::import(Call call, Reply reply) {
  parts_.reader.post([this, call = std::move(call), reply = std::move(reply)] {
    Fields fields{call};
    const auto options = ics_options(fields);
    const auto text = fields.required_text("ics", schedule::longest_ics);
    if (!fields.fine()) return reply(fields.errors());
    auto file = schedule::import_ics(
        text, options,
        [this](chrono::local_seconds wall, std::string_view from, std::string_view to) {
          return shown_elsewhere(parts_.zones, wall, from, to);
        });
    if (!file.calendar) return reply(refused_ics(file.findings));
    auto calendar = checked(schedule::to_value(*file.calendar));
    if (!calendar) return reply(refused_calendar(calendar.problems));
    parts_.writer.post([this, ns = call.ns, calendar = *std::move(calendar),
                        findings = findings_value(file.findings), reply] {
      reply(add(ns, calendar, {{"findings", findings}}));
    });
  });
}

void Calendars::update(const Call& call, Reply reply) {
  parts_.writer.post([this, call, reply = std::move(reply)] { reply(change(call)); });
}

// Who uses it takes a while to find out, and nothing is kept waiting meanwhile. A schedule that
// takes it up in that time is denied its ticks, as whoever names a calendar that is gone.
void Calendars::remove(const Call& call, Reply reply) {
  const bool force =
      asks_for(call, "force") || (call.field("force") && *call.field("force") == Value{true});
  parts_.reader.post([this, call = call.without_body(), force, reply = std::move(reply)] {
    const auto kept = find_kept(call.ns, call.match["calendar"]);
    if (!kept) return reply(no_such_calendar(call.ns.view(), call.match["calendar"]));
    if (kept->record.is_seed) return reply(calendar_is_seed(kept->record.id));
    const auto schedules = attached_to(call, *kept);
    if (!schedules) return reply(failed(schedules.error(), call));
    if (!schedules->empty() && !force) return reply(calendar_in_use(kept->record, *schedules));
    const auto last = [this, call, reply] {
      parts_.writer.post([this, call, reply] { reply(let_go(call)); });
    };
    if (schedules->empty() || !parts_.detach) return last();
    // The calendar goes last: between the two, no schedule names one that is gone.
    parts_.detach(call, kept->record, *schedules, [last, reply](std::optional<Answer> refused) {
      refused ? reply(*std::move(refused)) : last();
    });
  });
}

// ---- on the writer's thread

Answer Calendars::add(const Namespace& ns, schedule::Calendar calendar, Value::Map more) {
  if (const auto taken = find_kept(ns, calendar.name)) {
    return calendar_exists(ns.view(), taken->record);
  }
  {
    const std::lock_guard lock{mutex_};
    if (shelves_[ns].by_id.size() >= most_calendars) {
      return refusal(422, "calendar_limit_reached",
                     fmt::format("namespace '{}' has {} calendars and may have no more; delete one "
                                 "that nobody needs",
                                 ns.view(), most_calendars),
                     {{"limit", static_cast<std::int64_t>(most_calendars)}});
    }
  }
  const Timestamp now = parts_.clock.now();
  const auto kept = compiled({.id = ulids_.next(now),
                              .namespace_name = ns.str(),
                              .calendar = std::move(calendar),
                              .created_at = now,
                              .updated_at = now});
  if (const auto done = put(kept); !done) return failed(done.error(), {});
  Answer answer{201, shown_calendar(kept->record)};
  for (auto& entry : more) answer.body.push_back(std::move(entry));
  return answer;
}

Answer Calendars::change(const Call& call) {
  const auto before = find_kept(call.ns, call.match["calendar"]);
  if (!before) return no_such_calendar(call.ns.view(), call.match["calendar"]);
  if (before->record.is_seed) return calendar_is_seed(before->record.id);
  auto calendar = checked(merged_definition(before->record.calendar, call.body));
  if (!calendar) return refused_calendar(calendar.problems);
  if (const auto taken = find_kept(call.ns, calendar->name); taken && taken != before) {
    return calendar_exists(call.ns.view(), taken->record);
  }
  schedule::CalendarRecord record = before->record;
  record.calendar = *std::move(calendar);
  record.updated_at = parts_.clock.now();
  const auto kept = compiled(std::move(record));
  if (const auto done = put(kept); !done) return failed(done.error(), call);
  return {200, shown_calendar(kept->record)};
}

Answer Calendars::let_go(const Call& call) {
  const auto kept = find_kept(call.ns, call.match["calendar"]);
  if (!kept) return no_such_calendar(call.ns.view(), call.match["calendar"]);
  if (const auto gone = drop(kept); !gone) return failed(gone.error(), call);
  return {200,
          {{"id", kept->record.id}, {"name", kept->record.calendar.name}, {"outcome", "deleted"}}};
}

Result<void> Calendars::put(const Kept& kept) {
  const auto& record = kept->record;
  const Namespace ns{*record.namespace_name};
  DW_TRY_VOID(parts_.store.put_document(
      {std::string{calendar_kind}, ns, record.id, to_json(schedule::to_value(record))}));
  const std::lock_guard lock{mutex_};
  Shelf& shelf = shelves_[ns];
  if (const auto before = shelf.by_id.find(record.id); before != shelf.by_id.end()) {
    shelf.by_name.erase(before->second->record.calendar.name);
  }
  shelf.by_id.insert_or_assign(record.id, kept);
  shelf.by_name.insert_or_assign(record.calendar.name, kept);
  return {};
}

Result<void> Calendars::drop(const Kept& kept) {
  const auto& record = kept->record;
  const Namespace ns{*record.namespace_name};
  DW_TRY_VOID(parts_.store.put_document({std::string{calendar_kind}, ns, record.id, {}}));
  const std::lock_guard lock{mutex_};
  Shelf& shelf = shelves_[ns];
  // By the name it has now: somebody may have changed it since it was looked up.
  if (const auto last = shelf.by_id.find(record.id); last != shelf.by_id.end()) {
    shelf.by_name.erase(last->second->record.calendar.name);
    shelf.by_id.erase(last);
  }
  return {};
}

Result<std::int64_t> Calendars::forget(const Namespace& ns) {
  std::vector<Kept> leaving;
  {
    const std::lock_guard lock{mutex_};
    for (const auto& [id, kept] : shelves_[ns].by_id) leaving.push_back(kept);
  }
  for (const auto& kept : leaving) DW_TRY_VOID(drop(kept));
  const std::lock_guard lock{mutex_};
  shelves_.erase(ns);
  return static_cast<std::int64_t>(leaving.size());
}

}  // namespace dw::server
