// Which updates have a validator, as the workers that run them say. A worker's word outlives the
// worker: without it an update that came while nobody is there would be accepted unseen.
//
// The code that is there decides, not the code that was there when a run began: a run may begin
// before any worker has registered, or as a child, and both know no contract.
#pragma once
#include "server/workers.hpp"

#include <tuple>

namespace dw::server {

inline constexpr std::string_view update_validators_kind = "update_validators";
inline constexpr std::string_view update_validation_capability = "update_validation_tasks";

// An update, as far as it matters for who may validate it.
struct ValidationTarget {
  Namespace ns;
  std::string queue;
  std::string workflow_type;
  std::string compatibility;  // of the run; empty: any build will do
  std::string update_name;
};

// Why an update was not accepted, as its caller is told.
struct ValidationRefusal {
  int status = 409;
  std::string reason = {};
  std::string message = {};
  bool retryable = false;  // the same request may do better in a moment
  Value::Map more = {};
};

// What stands for the validator of an update among the types of a poll or an offer.
std::string validator_key(std::string_view workflow_type, std::string_view update_name);
// What a worker asks for when it polls for validations; one that cannot do any asks for nothing.
Poll validation_poll_of(const Worker& worker);

class DeclaredValidators {
 public:
  explicit DeclaredValidators(const Workers& workers) : workers_(workers) {}

  void restore(std::span<const store::Document> documents);
  // The namespace has left; the next of its name begins without any of this.
  void forget(const Namespace& ns);
  // A worker has registered. What has changed thereby is to be kept.
  std::vector<store::Document> note(const Worker& worker);

  // Has any workflow type of the namespace a validator for an update of that name? If not, nobody
  // need look at the run.
  bool anywhere(const Namespace& ns, const std::string& update_name) const;
  // Must a validator approve this one? Whoever is alive and has the type says so; if nobody is,
  // whoever was the last.
  bool required(const ValidationTarget& target) const;
  // Why nobody could approve it now; nothing when somebody can.
  std::optional<ValidationRefusal> refusal_of(const ValidationTarget& target) const;

 private:
  // Of one workflow type on one queue: the validators of each build, the newest at the end.
  struct Build {
    std::string build_id;
    std::vector<std::string> validators;
    friend bool operator==(const Build&, const Build&) = default;
  };
  using Builds = std::vector<Build>;
  using Key = std::tuple<Namespace, std::string, std::string>;  // namespace, queue, type

  static store::Document document_of(const Key& key, const Builds& builds);
  void remember(const Key& key, Builds builds);  // with mutex_ held
  bool recorded(const ValidationTarget& target) const;

  const Workers& workers_;
  mutable std::mutex mutex_;
  std::map<Key, Builds> builds_;                       // guarded by mutex_
  std::set<std::pair<Namespace, std::string>> names_;  // guarded by mutex_; stays till ns goes
};

}  // namespace dw::server
