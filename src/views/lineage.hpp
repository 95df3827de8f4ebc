// Where a run comes from and what came of it: its parent, the run before it, its children, the run
// after it. From its own events; what they cannot know of others, others may tell.
#pragma once
#include "views/account.hpp"
#include "views/sight.hpp"

namespace dw::views {

struct LineageRow {
  std::string id;         // the child call, or the run that continues
  std::string link_type;  // child_workflow, continue_as_new
  ChildCallId child_call_id;
  std::int64_t step = 0;   // of the parent; 0: not known
  InstanceId instance_id;  // of the other run
  RunId run_id;
  std::optional<std::int64_t> run_number;
  std::string workflow_type;
  std::string workflow_class;
  std::string status;
  std::string closed_reason;
  std::optional<Timestamp> created_at;
  Authority authority;
  std::string parent_close_policy;
  std::string parent_close_policy_outcome;  // applied, failed
  std::string parent_close_policy_reason;
  std::string parent_close_policy_error;
};

struct Lineage {
  std::vector<LineageRow> parents;
  std::vector<LineageRow> continued_workflows;  // children and the next run
};

// What is known of another run of the lineage, as its own row says.
struct Relative {
  RunId run_id;
  std::int64_t run_number = 1;
  std::string workflow_type;
  std::string workflow_class;
  std::string status;
  std::string closed_reason;
  std::optional<Timestamp> created_at = {};
};

// One entry for each child call, at the newest run that history names.
Lineage lineage_of(const Account& account, const ForeignRows& foreign = {},
                   std::span<const Relative> relatives = {});

// {parents: […], continued_workflows: […]}
Value to_value(const Lineage& lineage);

}  // namespace dw::views
