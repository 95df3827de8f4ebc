#include "remote/attempt_beats.hpp"

#include <algorithm>

namespace dw::remote {
namespace {

using namespace std::chrono_literals;

// Often enough to hear of a cancellation soon, whatever the lease.
constexpr std::chrono::microseconds longest_silence = 30s;

}  // namespace

void AttemptBeats::begin(const ActivityTask& task, Flag cancelled, Timestamp now) {
  Attempt attempt{task.task_id, std::move(cancelled), 1s, {}, now};
  if (task.heartbeat_timeout) {
    // Nobody may answer for an activity that is to time out when it falls silent.
    attempt.at_most_every = std::min<std::chrono::microseconds>(1s, *task.heartbeat_timeout / 3);
  } else {
    attempt.keep_every = std::clamp<std::chrono::microseconds>((task.lease_expires_at - now) / 3,
                                                               1s, longest_silence);
  }
  attempts_.insert_or_assign(task.attempt_id, std::move(attempt));
}

bool AttemptBeats::end(const AttemptId& id) {
  const auto ended = attempts_.extract(id);
  return !ended.empty() && !ended.mapped().ever_sent;
}

Beat AttemptBeats::send(const AttemptId& id, Attempt& attempt, Timestamp now) {
  attempt.under_way = attempt.ever_sent = true;
  attempt.news = false;
  attempt.sent_at = now;
  return {attempt.task_id, id, attempt.progress};
}

std::optional<Beat> AttemptBeats::alive(const AttemptId& id, std::optional<Value> progress,
                                        Timestamp now) {
  const auto found = attempts_.find(id);
  if (found == attempts_.end()) return std::nullopt;
  Attempt& attempt = found->second;
  if (progress && progress != attempt.progress) {
    attempt.progress = std::move(progress);
    attempt.news = true;
  }
  if (attempt.under_way) return std::nullopt;
  if (!attempt.news && now - attempt.sent_at < attempt.at_most_every) return std::nullopt;
  return send(id, attempt, now);
}

std::vector<Beat> AttemptBeats::due(Timestamp now) {
  std::vector<Beat> beats;
  for (auto& [id, attempt] : attempts_) {
    const bool silent = attempt.keep_every && now - attempt.sent_at >= *attempt.keep_every;
    if (!attempt.under_way && (attempt.news || silent)) beats.push_back(send(id, attempt, now));
  }
  return beats;
}

std::optional<Beat> AttemptBeats::heard(const AttemptId& id, bool wanted, Timestamp now) {
  const auto found = attempts_.find(id);
  if (found == attempts_.end()) return std::nullopt;
  Attempt& attempt = found->second;
  attempt.under_way = false;
  if (!wanted) *attempt.cancelled = true;
  if (!wanted || !attempt.news) return std::nullopt;
  return send(id, attempt, now);
}

void AttemptBeats::not_heard(const AttemptId& id) {
  const auto found = attempts_.find(id);
  if (found == attempts_.end()) return;
  found->second.under_way = false;
  found->second.news = true;
}

void AttemptBeats::cancel_all() {
  for (auto& [id, attempt] : attempts_) *attempt.cancelled = true;
}

}  // namespace dw::remote
