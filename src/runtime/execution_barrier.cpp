// Barriers: several calls at once, each a step of its own.
#include "runtime/execution.hpp"

#include <algorithm>

namespace dw::runtime {
namespace {

using namespace dw::history;

std::int64_t leaves_of(const dw::detail::CallTree& tree) {
  if (tree.leaf) return 1;
  std::int64_t count = 0;
  for (const auto& member : tree.members) count += leaves_of(member);
  return count;
}

Group::Kind kind_of(const dw::detail::CallTree& tree) {
  if (tree.leaf) return tree.child ? Group::Kind::child : Group::Kind::activity;
  std::optional<Group::Kind> kind;
  for (const auto& member : tree.members) {
    if (leaves_of(member) == 0) continue;
    const auto next = kind_of(member);
    if (kind && *kind != next) return Group::Kind::mixed;
    kind = next;
  }
  return kind.value_or(Group::Kind::activity);
}

struct Leaf {
  const dw::detail::CallTree* call;
  GroupPath group;
};

// Depth first; a leaf at step base + offset, its barriers outermost first.
void collect(const dw::detail::CallTree& tree, std::int64_t base, const GroupPath& outside,
             std::vector<Leaf>& leaves) {
  GroupPath path = outside;
  path.push_back({kind_of(tree), base, leaves_of(tree), 0});
  const auto at = path.size() - 1;
  for (const auto& member : tree.members) {
    const auto step = path[at].base + path[at].index;
    if (member.leaf) {
      leaves.push_back({&member, path});
    } else {
      collect(member, step, path, leaves);
    }
    const auto taken = leaves_of(member);
    for (Group& barrier : path) barrier.index += taken;
  }
}

}  // namespace

std::vector<Payload> Execution::all(const dw::detail::CallTree& calls) {
  const auto number = begin_step();
  std::vector<Leaf> leaves;
  collect(calls, number, {}, leaves);
  const auto shape_of = [](const Leaf& leaf) {
    return leaf.call->child ? Shape::child : Shape::activity;
  };
  if (!find(number) && !replay_only_) {
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      const auto step = number + static_cast<std::int64_t>(i);
      const auto& call = *leaves[i].call;
      if (call.child) {
        auto command = start_child(step, call.type, call.child_options, call.arguments);
        command.group = leaves[i].group;
        commands_.emplace_back(std::move(command));
      } else {
        auto command = schedule(step, call.type, call.activity_options, call.arguments);
        command.group = leaves[i].group;
        commands_.emplace_back(std::move(command));
      }
    }
  }

  // Until all have a result, or one has failed: the first to fail, and of several at one moment the
  // first in the list. What was survived once is the same again, whatever came in later.
  const std::size_t none = leaves.size();
  std::size_t failed = none;
  for (;;) {
    std::size_t resolved = 0;
    Timestamp failed_at;
    failed = none;
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      const auto step_number = number + static_cast<std::int64_t>(i);
      const Step* step = find(step_number);
      if (!step) continue;
      guard(step_number, *step, shape_of(leaves[i]), leaves[i].call->type);
      guard_group(step_number, *step, leaves[i].group);
      if (!step->resolved) continue;
      ++resolved;
      if (!step->setback) continue;
      if (std::ranges::count(handled_, step->setback->id) > 0) {
        failed = i;
        break;
      }
      if (failed == none || step->resolved_at < failed_at) {
        failed = i;
        failed_at = step->resolved_at;
      }
    }
    if (failed != none || resolved == leaves.size()) break;
    park(number);
  }

  widest_ = std::max(widest_, static_cast<std::int64_t>(leaves.size()));
  std::vector<Payload> results;
  results.reserve(leaves.size());
  std::optional<Step> thrown;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    Step step = pop(number + static_cast<std::int64_t>(i));
    if (failed == none) {
      now_ = std::max(now_, step.resolved_at);
      meet(step.resolved_by);
      results.push_back(std::move(step.value));
    } else if (i == failed) {
      thrown = std::move(step);
    }
  }
  if (thrown) {
    now_ = thrown->resolved_at;
    meet(thrown->resolved_by);
    raise(*std::move(thrown), number + static_cast<std::int64_t>(failed));
  }
  return results;
}

}  // namespace dw::runtime
