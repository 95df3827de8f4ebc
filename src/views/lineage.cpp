#include "views/lineage.hpp"

#include "views/row_value.hpp"
#include "views/summary.hpp"

#include <algorithm>

namespace dw::views {
namespace {

LineageRow child_row(const ChildAccount& child) {
  const auto& scheduled = child.scheduled;
  LineageRow row;
  row.id = scheduled.call_id.str();
  row.link_type = "child_workflow";
  row.child_call_id = scheduled.call_id;
  row.step = scheduled.step;
  row.instance_id = scheduled.instance_id;
  row.run_id = child.run_id;
  row.run_number = child.run_number;
  row.workflow_type = scheduled.workflow_type;
  row.status = child.resolved_at                    ? child.source_status
               : child.source_status == "scheduled" ? "pending"
                                                    : "running";
  row.closed_reason = child.closed_reason;
  row.created_at = child.opened_at;
  row.parent_close_policy = to_string(scheduled.policy);
  row.parent_close_policy_outcome = child.policy_outcome;
  row.parent_close_policy_reason = child.policy_reason;
  row.parent_close_policy_error = child.policy_error;
  return row;
}

// The other run knows itself better; only what history did not say is taken from it.
void complete(LineageRow& row, std::span<const Relative> relatives) {
  const auto found = std::ranges::find(relatives, row.run_id, &Relative::run_id);
  if (found == relatives.end()) return;
  if (!row.run_number) row.run_number = found->run_number;
  if (row.workflow_type.empty()) row.workflow_type = found->workflow_type;
  if (row.workflow_class.empty()) row.workflow_class = found->workflow_class;
  if (row.status.empty()) row.status = found->status;
  if (row.closed_reason.empty()) row.closed_reason = found->closed_reason;
  if (!row.created_at) row.created_at = found->created_at;
}

Value row_value(const LineageRow& l, const std::string& other) {
  RowValue row;
  row("id", l.id)("link_type", l.link_type)("child_call_id", l.child_call_id);
  row("sequence", l.step ? std::optional{l.step} : std::nullopt)("is_primary_parent", true);
  row(other + "_workflow_id", l.instance_id)(other + "_workflow_run_id", l.run_id);
  row("workflow_instance_id", l.instance_id)("workflow_run_id", l.run_id);
  row("run_number", l.run_number)("workflow_type", l.workflow_type)("class", l.workflow_class);
  row("status", l.status);
  const bool known = !l.status.empty() && l.status != "unsupported";
  row("status_bucket", known ? status_bucket(l.status) : std::string_view{});
  row("closed_reason", l.closed_reason)("created_at", l.created_at);
  row("history_authority", l.authority.history_authority);
  row("history_unsupported_reason", l.authority.unsupported_reason);
  row("row_status", l.authority.row_status)("diagnostic_only", !l.authority.typed());
  row("parent_close_policy", l.parent_close_policy);
  row("parent_close_policy_outcome", l.parent_close_policy_outcome);
  row("parent_close_policy_reason", l.parent_close_policy_reason);
  row("parent_close_policy_error", l.parent_close_policy_error);
  return row.take();
}

}  // namespace

Lineage lineage_of(const Account& account, const ForeignRows& foreign,
                   std::span<const Relative> relatives) {
  Lineage lineage;
  const auto& start = account.state.start;
  if (start.lineage && !start.lineage->parent_run_id.empty()) {
    LineageRow& parent = lineage.parents.emplace_back();
    parent.id = start.lineage->call_id;
    parent.link_type = "child_workflow";
    parent.child_call_id = ChildCallId{start.lineage->call_id};
    parent.step = start.lineage->parent_step;
    parent.instance_id = InstanceId{start.lineage->parent_instance_id};
    parent.run_id = RunId{start.lineage->parent_run_id};
  }
  if (start.lineage && !start.lineage->continued_from_run_id.empty()) {
    LineageRow& before = lineage.parents.emplace_back();
    before.id = account.run_id.str();
    before.link_type = "continue_as_new";
    before.instance_id = start.instance_id;
    before.run_id = RunId{start.lineage->continued_from_run_id};
    before.run_number = start.run_number - 1;
    before.status = "completed";
    before.closed_reason = "continued";
  }
  for (const ChildAccount& child : account.children) {
    lineage.continued_workflows.push_back(child_row(child));
  }
  if (account.state.continued()) {
    LineageRow& next = lineage.continued_workflows.emplace_back();
    next.id = account.state.followed_by.str();
    next.link_type = "continue_as_new";
    next.step = account.state.steps;
    next.instance_id = start.instance_id;
    next.run_id = account.state.followed_by;
    next.run_number = start.run_number + 1;
    next.created_at = account.state.closed_at;
  }
  for (const ForeignChild& other : foreign.children) {
    auto& rows = lineage.continued_workflows;
    const auto known = std::ranges::find(rows, other.call_id, &LineageRow::child_call_id);
    if (known != rows.end()) {
      known->authority.row_status = other.status;
      continue;
    }
    LineageRow& row = rows.emplace_back();
    row.id = other.call_id.str();
    row.link_type = "child_workflow";
    row.child_call_id = other.call_id;
    row.step = other.step;
    row.instance_id = other.instance_id;
    row.run_id = other.run_id;
    row.workflow_type = other.workflow_type;
    row.authority = foreign_authority("child", other.status);
    row.status = row.authority.unsupported() ? "unsupported" : other.status;
    row.created_at = other.created_at;
  }
  for (auto& row : lineage.parents) complete(row, relatives);
  for (auto& row : lineage.continued_workflows) {
    if (row.authority.typed()) complete(row, relatives);
  }
  return lineage;
}

Value to_value(const Lineage& lineage) {
  Value::Array parents, continued;
  for (const auto& row : lineage.parents) parents.push_back(row_value(row, "parent"));
  for (const auto& row : lineage.continued_workflows) continued.push_back(row_value(row, "child"));
  RowValue row;
  row("parents", Value{std::move(parents)})("continued_workflows", Value{std::move(continued)});
  return row.take();
}

}  // namespace dw::views
