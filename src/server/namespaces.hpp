// The namespaces there are. The default one always is; others are made, changed and removed by
// administrators, and are durable before that is acknowledged.
#pragma once
#include "core/clock.hpp"
#include "core/executor.hpp"
#include "server/guests.hpp"
#include "server/storage_policy.hpp"
#include "store/store.hpp"

#include <map>
#include <mutex>

namespace dw::server {

inline constexpr std::string_view namespace_kind = "namespace";
// How long runs are kept where nobody has said anything.
inline constexpr std::int64_t usual_retention_days = 30;

// As the document of a namespace has it.
std::int64_t retention_days_in(const store::Document& document);

// What a namespace has besides its workflows: documents of a kind, and whoever knows them by heart.
struct Belongings {
  std::string_view kind;
  std::string_view counted_as;  // in the answer to whoever removes the namespace
  // Called on the writer's thread, when the documents are gone.
  std::function<void(const Namespace& ns)> forget;
};

struct NamespacesParts {
  store::Store& store;
  Executor& writer;  // the thread that commits
  const Clock& clock;
  std::string default_name = "default";
  // Takes along what a leaving namespace has registered, on the writer's thread; gives its number.
  std::function<Result<std::int64_t>(const Namespace& ns)> forget_search_attributes = {};
  std::function<Result<std::int64_t>(const Namespace& ns)> forget_calendars = {};
  // Some of the deleted schedules at a time; 0: there are no more.
  std::function<Result<std::int64_t>(const Namespace& ns)> forget_some_schedules = {};
  std::vector<Belongings> belongings = {};
};

class Namespaces {
 public:
  explicit Namespaces(NamespacesParts parts);

  // What is in the store; a default namespace that is not yet is written there before this returns,
  // so that it stays as it is when another becomes the default, or after a crash.
  void restore(std::span<const store::Document> documents);
  bool exists(std::string_view name) const;
  // Who is about to make something in them.
  Guests& guests() { return guests_; }
  std::vector<Namespace> names() const;
  // How long its closed runs are kept.
  std::chrono::days retention(std::string_view name) const;
  // Where its large payloads are kept; absent when nobody has said so.
  std::optional<StoragePolicy> storage(std::string_view name) const;

  Answer list() const;
  Answer describe(const Call& call) const;
  void create(const Call& call, Reply reply);
  void update(const Call& call, Reply reply);
  void set_storage(const Call& call, Reply reply);
  // Only one that holds nothing: what is in it would be lost.
  void remove(const Call& call, Reply reply);

 private:
  struct Entry {
    std::string description = {};
    std::int64_t retention_days = usual_retention_days;
    std::optional<StoragePolicy> storage = {};
    Timestamp created_at = {};
    Timestamp updated_at = {};
  };

  void read(std::span<const store::Document> documents);
  static Value::Map shown(const std::string& name, const Entry& entry);
  static std::string written(const Entry& entry);
  Answer unknown(std::string_view name) const;
  // On the writer's thread, one change after the other.
  void change(const Call& call, Reply reply, std::function<Answer(const Call& call)> apply);
  std::optional<Entry> find_entry(std::string_view name) const;
  Answer put(const std::string& name, const Entry& entry, int status);
  std::optional<Answer> stays(const std::string& name) const;
  Result<std::int64_t> forget_some_schedules(const Namespace& ns) const;
  void let_go(const std::string& name, std::int64_t schedules, Reply reply);
  Answer take_all_along(const std::string& name, std::int64_t schedules);
  Result<std::int64_t> take_along(const Belongings& belongings, const Namespace& ns) const;

  const NamespacesParts parts_;
  Guests guests_;
  mutable std::mutex mutex_;
  std::map<std::string, Entry, std::less<>> entries_;  // guarded by mutex_
};

}  // namespace dw::server
