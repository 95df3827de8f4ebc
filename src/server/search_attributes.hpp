// The search attributes that operators registered, by namespace: what lists may be asked for
// besides the attributes every run has. Durable before that is acknowledged.
#pragma once
#include "core/executor.hpp"
#include "server/fields.hpp"
#include "store/store.hpp"
#include "views/visibility_query.hpp"

#include <map>
#include <mutex>

namespace dw::server {

inline constexpr std::string_view search_attribute_kind = "search_attribute";
inline constexpr std::size_t most_search_attributes = 100;  // of one namespace

struct SearchAttributesParts {
  store::Store& store;
  Executor& writer;  // the thread that commits
};

class SearchAttributes {
 public:
  explicit SearchAttributes(SearchAttributesParts parts) : parts_(parts) {}

  void restore(std::span<const store::Document> documents);
  // Without those that every run has.
  views::AttributeTypes types(const Namespace& ns) const;

  Answer list(const Call& call) const;
  void create(const Call& call, Reply reply);
  void remove(const Call& call, Reply reply);

  // The namespace is leaving, and one that comes with the same name must not inherit from it. On
  // the writer's thread. Gives their number.
  Result<std::int64_t> forget(const Namespace& ns);

 private:
  Answer put(const Namespace& ns, const std::string& name, views::AttributeType type);
  Answer erase(const Namespace& ns, const std::string& name);
  Result<void> drop(const Namespace& ns, const std::string& name);

  const SearchAttributesParts parts_;
  mutable std::mutex mutex_;
  std::map<Namespace, views::AttributeTypes> types_;  // guarded by mutex_; the writer changes it
};

}  // namespace dw::server
