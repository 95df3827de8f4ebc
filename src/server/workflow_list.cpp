#include "server/workflow_list.hpp"

#include "server/addressed.hpp"
#include "server/page_token.hpp"
#include "server/run_detail.hpp"
#include "server/run_look.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace dw::server {
namespace {

constexpr std::size_t usual_page = 50;
constexpr std::size_t largest_page = 200;
constexpr std::size_t rows_at_once = 200;

struct Wanted {
  Namespace ns;
  std::string workflow_type;
  std::string bucket;  // empty: any
  std::optional<views::VisibilityQuery> query = {};
  std::size_t page_size = usual_page;
  std::string filters = {};          // their fingerprint: a token is good for these only
  std::optional<RunId> before = {};  // the page before ended with it
};

// ---- what is asked

std::optional<std::size_t> page_size_in(std::string_view text) {
  std::size_t size = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  const bool fits =
      error == std::errc{} && end == text.data() + text.size() && size >= 1 && size <= largest_page;
  return fits ? std::optional{size} : std::nullopt;
}

Answer no_such_query(const Error& error) {
  const Value errors{Value::Map{{"query", Value::Array{error.message}}}};
  return refusal(422, "invalid_visibility_query", error.message,
                 {{"errors", errors}, {"validation_errors", errors}});
}

// The answer that says why, when it cannot be done.
std::optional<Answer> misasked(const Call& call, const SearchAttributes& attributes,
                               Wanted& wanted) {
  const auto given = [&](std::string_view name) { return call.parameter(name).value_or(""); };
  wanted.ns = call.ns;
  wanted.workflow_type = given("workflow_type");
  wanted.bucket = given("status");
  Value::Map errors;
  constexpr std::array<std::string_view, 4> buckets{"", "running", "completed", "failed"};
  if (std::ranges::find(buckets, wanted.bucket) == buckets.end()) {
    errors.emplace_back("status", Value::Array{"must be one of running, completed, failed"});
  }
  if (const auto size = given("page_size"); !size.empty()) {
    const auto number = page_size_in(size);
    if (!number) {
      errors.emplace_back("page_size", Value::Array{"must be a whole number from 1 to 200"});
    }
    wanted.page_size = number.value_or(usual_page);
  }
  if (!errors.empty()) return invalid(std::move(errors));

  const auto query = given("query");
  if (!query.empty()) {
    auto parsed = views::parse_visibility_query(query, attributes.types(call.ns));
    if (!parsed) return no_such_query(parsed.error());
    wanted.query = *std::move(parsed);
  }
  wanted.filters = fingerprint_of({wanted.ns.view(), wanted.workflow_type, wanted.bucket, query});
  if (const auto token = given("next_page_token"); !token.empty()) {
    wanted.before = parse_run_token(token, wanted.filters);
    if (!wanted.before) {
      return refusal(400, "invalid_page_token",
                     "next_page_token is not of this list; pages keep namespace, workflow_type, "
                     "status and query of the first one");
    }
  }
  return std::nullopt;
}

// As much of it as the store can look for by itself.
store::RunFilter narrowed(const Wanted& wanted) {
  store::RunFilter filter{.ns = wanted.ns, .before = wanted.before, .limit = rows_at_once};
  filter.open = wanted.bucket == "running";
  if (wanted.bucket == "completed") filter.status = history::RunStatus::completed;
  const auto only = wanted.query ? views::only_workflow_id(*wanted.query) : std::nullopt;
  if (only) filter.instance_id = InstanceId{*only};
  return filter;
}

views::VisibleRun visible(const store::RunRow& row) {
  views::VisibleRun run;
  run.workflow_type = row.workflow_type;
  run.workflow_id = row.instance_id.str();
  run.run_id = row.run_id.str();
  run.status = history::to_string(row.status);
  run.started_at = row.started_at;
  run.closed_at = row.closed_at;
  return run;
}

views::VisibleRun::Recorded recorded_in(const history::RunState& state) {
  return {.task_queue = state.start.queue.empty() ? "default" : state.start.queue,
          .build_id = state.start.compatibility,
          .business_key = state.start.business_key,
          .search_attributes = state.search_attributes};
}

// ---- one page

class PageOfWorkflows {
 public:
  PageOfWorkflows(const WorkflowListParts& parts, const Wanted& wanted)
      : parts_(parts), wanted_(wanted), now_(parts.clock.now()) {}

  Result<void> read() {
    store::RunFilter filter = narrowed(wanted_);
    for (;;) {
      const auto rows = DW_TRY(parts_.store.list_runs(filter));
      for (const store::RunRow& row : rows) {
        // One match more than fits is how a page knows that it has a next one.
        if (exhausted() || !DW_TRY(took(row))) {
          next_ = filter.before;
          return {};
        }
        filter.before = row.run_id;
      }
      if (rows.size() < filter.limit) return {};
    }
  }

  Answer answer() && {
    const auto count = static_cast<std::int64_t>(items_.size());
    return {200,
            {{"workflows", std::move(items_)},
             {"workflow_count", count},
             {"next_page_token", next_ ? Value{run_token(*next_, wanted_.filters)} : Value{}}}};
  }

 private:
  bool full() const { return items_.size() == wanted_.page_size; }
  bool exhausted() const {
    return rows_ == parts_.most_rows || histories_ == parts_.most_histories;
  }

  // False when it is a match for which there is no room.
  Result<bool> took(const store::RunRow& row) {
    ++rows_;
    if (!wanted_.workflow_type.empty() && row.workflow_type != wanted_.workflow_type) return true;
    const auto status = history::to_string(row.status);
    if (!wanted_.bucket.empty() && views::status_bucket(status) != wanted_.bucket) return true;
    views::VisibleRun run = visible(row);
    const auto known = wanted_.query ? views::verdict(*wanted_.query, run) : std::optional{true};
    if (known == false || !DW_TRY(is_current(row))) return true;
    if (known && full()) return false;

    ++histories_;
    const auto loaded = DW_TRY(parts_.store.load_run(row.run_id));
    if (!loaded) return true;  // gone since
    const auto account = DW_TRY(account_of_run(*loaded));
    run.recorded = recorded_in(account.state);
    if (wanted_.query && !views::matches(*wanted_.query, run)) return true;
    if (full()) return false;
    const auto sight = DW_TRY(sight_of_run(parts_.store, loaded->row, account, row.run_id, now_));
    items_.emplace_back(run_item(views::summarize(account, sight), account));
    return true;
  }

  Result<bool> is_current(const store::RunRow& row) {
    const auto instance = DW_TRY(parts_.store.find_instance({row.ns, row.instance_id}));
    return instance && instance->current_run == row.run_id;
  }

  const WorkflowListParts& parts_;
  const Wanted& wanted_;
  const Timestamp now_;
  Value::Array items_;
  std::size_t rows_ = 0;
  std::size_t histories_ = 0;
  std::optional<RunId> next_;
};

}  // namespace

Answer list_workflows(const WorkflowListParts& parts, const Call& call) {
  Wanted wanted;
  if (auto no = misasked(call, parts.attributes, wanted)) return *std::move(no);
  PageOfWorkflows page{parts, wanted};
  if (const auto read = page.read(); !read) return failed(read.error(), call);
  return std::move(page).answer();
}

}  // namespace dw::server
