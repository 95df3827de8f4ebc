#include "server/schedule_list.hpp"

#include "core/base64.hpp"
#include "core/sha256.hpp"
#include "schedule/record_codec.hpp"
#include "server/schedule_detail.hpp"
#include "server/schedule_page_token.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace dw::server {
namespace {

constexpr std::size_t usual_schedules = 50;
constexpr std::size_t most_schedules = 200;
constexpr std::size_t rows_in_one_go = 200;

struct WantedSchedules {
  std::string status = {};         // empty: any
  std::string workflow_type = {};  // likewise
  ScheduleQuery query = {};
  std::size_t page_size = usual_schedules;

  bool include(const schedule::Schedule& schedule) const {
    return (status.empty() || to_string(schedule.status) == status) &&
           (workflow_type.empty() || workflow_type_of(schedule.action) == workflow_type) &&
           matches(query, schedule);
  }
  std::string filters() const {
    return to_json(Value::Array{status, workflow_type, normalized(query)});
  }
};

// ---- refusals: published clients read each of these keys

struct ListRefusal {
  int status;
  std::string_view reason;
  std::string_view field;
  std::string message;
  std::optional<SchedulePlace> last_safe = {};
};

Answer refused_list(ListRefusal no) {
  const Value errors{Value::Map{{std::string{no.field}, Value::Array{no.message}}}};
  Value cursor;
  if (no.last_safe) {
    cursor = Value::Map{{"created_at", format_timestamp(no.last_safe->created_at)},
                        {"schedule_id", no.last_safe->schedule_id}};
  }
  return refusal(no.status, no.reason, std::move(no.message),
                 {{"field", no.field},
                  {"errors", errors},
                  {"validation_errors", errors},
                  {"last_safe_cursor", std::move(cursor)}});
}

Answer wrong_parameter(std::string_view field, std::string text) {
  return refused_list({422, "validation_failed", field, std::move(text)});
}

// ---- what is asked

constexpr std::string_view known_parameters[] = {"status",    "workflow_type",   "query",
                                                 "page_size", "next_page_token", "namespace"};

std::optional<Answer> unknown_filter(const Call& call) {
  for (const std::string& name : query_names(call.query)) {
    if (std::ranges::find(known_parameters, name) != std::end(known_parameters)) continue;
    return refused_list(
        {422, "unsupported_schedule_list_filter", name,
         fmt::format("schedules are not listed by '{}'; use status, workflow_type or "
                     "query",
                     name)});
  }
  return std::nullopt;
}

std::optional<Answer> read_schedules_size(const std::string& text, std::size_t& size) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  if (whole && size >= 1 && size <= most_schedules) return std::nullopt;
  return wrong_parameter("page_size", "must be a whole number from 1 to 200");
}

// The answer that says why, when it cannot be done.
std::optional<Answer> misasked_schedules(const Call& call, const SearchAttributes& attributes,
                                         WantedSchedules& wanted) {
  if (auto no = unknown_filter(call)) return no;
  if (const auto status = call.parameter("status")) {
    if (*status != "active" && *status != "paused") {
      return wrong_parameter("status", "must be one of active, paused");
    }
    wanted.status = *status;
  }
  if (const auto type = call.parameter("workflow_type")) {
    if (type->empty() || type->size() > 255) {
      return wrong_parameter("workflow_type", "must have 1 to 255 bytes");
    }
    wanted.workflow_type = *type;
  }
  if (const auto size = call.parameter("page_size")) {
    if (auto no = read_schedules_size(*size, wanted.page_size)) return no;
  }
  if (const auto query = call.parameter("query")) {
    if (query->empty() || query->size() > longest_schedule_query) {
      return wrong_parameter("query", "must have 1 to 2048 bytes");
    }
    auto read = read_schedule_query(*query, attributes.types(call.ns));
    if (read.refusal) {
      return refused_list({422, read.refusal->reason, "query", std::move(read.refusal->message)});
    }
    wanted.query = std::move(read.query);
  }
  return std::nullopt;
}

// ---- one page, in as many steps as it takes

class PageOfSchedules : public std::enable_shared_from_this<PageOfSchedules> {
 public:
  PageOfSchedules(ScheduleListParts parts, Call call, Reply reply)
      : parts_(std::move(parts)), call_(std::move(call)), reply_(std::move(reply)) {}

  void begin() {
    if (auto no = misasked_schedules(call_, parts_.attributes, wanted_))
      return reply_(*std::move(no));
    filter_.ns = call_.ns;
    filter_.statuses = {std::string{store::schedule_active}, std::string{store::schedule_paused}};
    if (!wanted_.status.empty()) filter_.statuses = {wanted_.status};
    filter_.limit = rows_in_one_go;
    key_ = parts_.token_key();
    if (const auto token = call_.parameter("next_page_token")) {
      if (auto no = turn_to(*token)) return reply_(*std::move(no));
    }
    go_on();
  }

 private:
  std::optional<Answer> turn_to(const std::string& token) {
    const auto page = token.empty() || token.size() > longest_page_token
                          ? std::nullopt
                          : read_schedule_page_token(token, key_);
    if (!page) {
      return refused_list(
          {400, "malformed_schedule_page_token", "next_page_token",
           "next_page_token was not given out by this server, or has been changed"});
    }
    if (page->ns != call_.ns) {
      return refused_list({403, "schedule_page_token_namespace_mismatch", "next_page_token",
                           "next_page_token belongs to a list of another namespace"});
    }
    if (page->filters != sha256_hex(wanted_.filters())) {
      return refused_list(
          {409, "schedule_page_token_filter_mismatch", "next_page_token",
           "pages keep status, workflow_type and query of the first one; start over "
           "to ask for something else",
           page->after});
    }
    const auto there = parts_.store.find_schedule(call_.ns, page->after.schedule_id);
    if (!there) return refusal(503, "unavailable", there.error().message);
    if (!is_still_there(*there, page->after)) {
      return refused_list(
          {409, "stale_schedule_page_token", "next_page_token",
           "the schedule that the last page ended with is not in this list any more; "
           "start over",
           page->after});
    }
    filter_.after =
        store::ScheduleCursor{page->after.created_at, page->after.schedule_id, (*there)->ulid};
    return std::nullopt;
  }

  bool is_still_there(const std::optional<store::ScheduleRow>& row, const SchedulePlace& place) {
    if (!row || row->status == store::schedule_deleted || row->created_at != place.created_at) {
      return false;
    }
    const auto schedule = schedule::read_schedule(row->record);
    return schedule && wanted_.include(*schedule);
  }

  void go_on() {
    const auto rows = parts_.store.list_schedules(filter_);
    if (!rows) return reply_(refusal(503, "unavailable", rows.error().message));
    for (const store::ScheduleRow& row : *rows) {
      const auto found = schedule::read_schedule(row.record);
      if (!found) return reply_(refusal(500, "server_error", found.error().message));
      filter_.after = store::ScheduleCursor{row.created_at, row.schedule_id, row.ulid};
      if (!wanted_.include(*found)) continue;
      // One match more than fits is how a page knows that it has a next one.
      if (items_.size() == wanted_.page_size) return answer(true);
      items_.emplace_back(schedule_detail(*found));
      last_ = SchedulePlace{row.created_at, row.schedule_id};
    }
    if (rows->size() < filter_.limit) return answer(false);
    parts_.reader.post([self = shared_from_this()] { self->go_on(); });
  }

  void answer(bool more) {
    const auto count = static_cast<std::int64_t>(items_.size());
    Value token;
    if (more) token = schedule_page_token({call_.ns, sha256_hex(wanted_.filters()), *last_}, key_);
    reply_({200,
            {{"namespace", call_.ns.view()},
             {"schedules", std::move(items_)},
             {"schedule_count", count},
             {"next_page_token", std::move(token)}}});
  }

  const ScheduleListParts parts_;
  const Call call_;
  const Reply reply_;
  WantedSchedules wanted_;
  std::string key_;
  store::ScheduleFilter filter_;
  Value::Array items_;
  std::optional<SchedulePlace> last_;
};

}  // namespace

void list_schedules(const ScheduleListParts& parts, Call call, Reply reply) {
  auto page = std::make_shared<PageOfSchedules>(parts, std::move(call), std::move(reply));
  parts.reader.post([page = std::move(page)] { page->begin(); });
}

}  // namespace dw::server
