// The calendars of each namespace, and those that ship with us, which everybody sees and nobody
// changes. What operators write down is durable before that is acknowledged; whoever judges a tick
// finds it compiled.
#pragma once
#include "core/clock.hpp"
#include "core/executor.hpp"
#include "core/ulid.hpp"
#include "machine/zone_files.hpp"
#include "schedule/calendar_value.hpp"
#include "server/front_desk.hpp"
#include "store/store.hpp"

#include <map>
#include <memory>
#include <mutex>

namespace dw::server {

inline constexpr std::string_view calendar_kind = "calendar";
inline constexpr std::size_t most_calendars = 1000;  // of one namespace

struct CalendarsParts {
  store::Store& store;
  Executor& writer;  // the thread that commits
  Executor& reader;
  const Clock& clock;
  Random& random;
  machine::ZoneFiles& zones;
  // The ids of the schedules that use a calendar. Asked on the reader's thread.
  std::function<Result<std::vector<std::string>>(const Namespace& ns,
                                                 const schedule::CalendarRecord& calendar)>
      attached_to = {};
  // Takes a calendar off these schedules for the one who calls, and says so when that is durable,
  // or why it cannot be. Whoever still names a calendar that is gone fires no more.
  std::function<void(const Call& call, const schedule::CalendarRecord& calendar,
                     std::vector<std::string> schedules,
                     std::function<void(std::optional<Answer> refused)> done)>
      detach = {};
};

// One version of a calendar; a change makes another.
struct KeptCalendar {
  schedule::CalendarRecord record;
  schedule::CompiledCalendar compiled;
};

class Calendars final : public Service {
 public:
  explicit Calendars(CalendarsParts parts);

  void restore(std::span<const store::Document> documents);

  // By id, else by name: one of the namespace, or one that ships with us. Null when there is none.
  // What was found stays as it is, whatever happens to the calendar meanwhile. From any thread.
  std::shared_ptr<const schedule::CompiledCalendar> find(const Namespace& ns,
                                                         std::string_view id_or_name) const;
  // The same with its record, for those who want to remember the id.
  std::shared_ptr<const KeptCalendar> find_kept(const Namespace& ns,
                                                std::string_view id_or_name) const;

  // Everything below /calendars.
  void serve(Call call, Reply reply) override;

  // The namespace is leaving, and one that comes with the same name must not inherit from it. On
  // the writer's thread. Gives their number.
  Result<std::int64_t> forget(const Namespace& ns);

 private:
  using Kept = std::shared_ptr<const KeptCalendar>;
  struct Shelf {
    std::map<std::string, Kept, std::less<>> by_id;
    std::map<std::string, Kept, std::less<>> by_name;
  };

  Answer list(const Call& call) const;
  Answer describe(const Call& call) const;
  Answer expand(const Call& call) const;
  void create(const Call& call, Reply reply);
  void import(Call call, Reply reply);
  void clone(const Call& call, Reply reply);
  void update(const Call& call, Reply reply);
  void remove(const Call& call, Reply reply);

  bool zone_exists(std::string_view name) const { return parts_.zones.find(name) != nullptr; }
  schedule::Checked<schedule::Calendar> checked(const Value& definition) const;
  Result<std::vector<std::string>> attached_to(const Call& call, const KeptCalendar& kept) const;
  Kept compiled(schedule::CalendarRecord record) const;

  // On the writer's thread, where one change follows the other.
  Answer add(const Namespace& ns, schedule::Calendar calendar, Value::Map more);
  Answer change(const Call& call);
  Answer let_go(const Call& call);
  Result<void> put(const Kept& kept);
  Result<void> drop(const Kept& kept);

  const CalendarsParts parts_;
  Shelf seeds_;       // never changes
  UlidSource ulids_;  // the writer's
  mutable std::mutex mutex_;
  std::map<Namespace, Shelf> shelves_;  // guarded by mutex_; the writer changes it
};

}  // namespace dw::server
