#include "server/history_waits.hpp"

#include "history/render.hpp"
#include "server/addressed.hpp"
#include "server/page_token.hpp"
#include "store/derived.hpp"

#include <charconv>

namespace dw::server {
namespace {

constexpr std::int64_t full_history = 10'000;
// Shorter than the half minute after which many clients believe that nobody answers.
constexpr std::chrono::seconds longest_follow{20};
constexpr std::chrono::milliseconds between_looks{500};

// A whole number between these; absent when the text is anything else.
std::optional<std::int64_t> whole(std::string_view text, std::int64_t least, std::int64_t most) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool all = error == std::errc{} && end == text.data() + text.size();
  return all && number >= least && number <= most ? std::optional{number} : std::nullopt;
}

std::optional<bool> wants_news(std::string_view text) {
  if (text == "true" || text == "1") return true;
  if (text == "false" || text == "0" || text.empty()) return false;
  return std::nullopt;
}

// As many events of a run as a page takes, after one of them.
struct Events {
  Value::Array list;
  std::int64_t last = 0;
  bool more = false;
};

Result<Events> events_after(const store::LoadedRun& run, std::int64_t after, std::int64_t size) {
  history::Renderer renderer{run.row.run_id};
  Events events{.list = {}, .last = after};
  for (const store::StoredCommit& commit : run.commits) {
    const auto facts = DW_TRY(store::events_of({&commit, 1}));
    const auto texts = DW_TRY(renderer.render(commit.id, facts));
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const std::int64_t sequence = facts[i].sequence;
      if (sequence <= after) continue;
      events.more = std::ssize(events.list) == size;
      if (events.more) return events;
      const Value event = DW_TRY(parse_json(texts[i]));
      const Value* payload = event.find("payload");
      events.list.emplace_back(Value::Map{{"sequence", sequence},
                                          {"event_type", *event.find("type")},
                                          {"timestamp", *event.find("recorded_at")},
                                          {"payload", payload ? *payload : Value{Value::Map{}}}});
      events.last = sequence;
    }
  }
  return events;
}

}  // namespace

HistoryWaits::HistoryWaits(store::Store& store, Executor& reader, Executor& time,
                           const Clock& clock)
    : store_(store), reader_(reader), time_(time), clock_(clock) {}

void HistoryWaits::serve(Call call, Reply reply) {
  Wish wish;
  if (auto no = read_wish(call, wish)) return reply(*std::move(no));
  Waiting one{std::move(call), wish, clock_.now() + longest_follow, std::move(reply)};
  reader_.post([this, one = std::move(one)]() mutable {
    if (auto answer = news_for(one)) return one.reply(*std::move(answer));
    waiting_.push_back(std::move(one));
    if (waiting_.size() == 1) look_later();
  });
}

void HistoryWaits::stop() {
  reader_.post([this] {
    stopped_ = true;
    look();
  });
}

std::optional<Answer> HistoryWaits::read_wish(const Call& call, Wish& wish) {
  if (const auto token = call.parameter("next_page_token"); token && !token->empty()) {
    const auto last = parse_event_token(*token);
    if (!last) return refusal(400, "invalid_page_token", "next_page_token is not one of ours");
    wish.after = *last;
  }
  // Published clients look for the last event on the first page.
  wish.size = full_history;
  if (const auto asked = call.parameter("page_size"); asked && !asked->empty()) {
    const auto given = whole(*asked, 1, 1000);
    if (!given) {
      return invalid({{"page_size", Value::Array{"must be a whole number from 1 to 1000"}}});
    }
    wish.size = *given;
  }
  const auto follow = wants_news(call.parameter("wait_new_event").value_or(""));
  if (!follow) return invalid({{"wait_new_event", Value::Array{"must be true or false"}}});
  wish.follow = *follow;
  return std::nullopt;
}

std::optional<Answer> HistoryWaits::news_for(const Waiting& one) const {
  if (one.wish.follow && !stopped_ && clock_.now() < one.until) {
    const auto row = store_.find_run(*run_of(one.call));
    if (!row) return failed(row.error(), one.call);
    // Whether it is of the workflow in the path is for the page to say.
    const bool quiet = *row && (*row)->ns == one.call.ns &&
                       (*row)->instance_id.view() == one.call.match["workflow"] &&
                       !(*row)->closed_at && (*row)->last_sequence <= one.wish.after;
    if (quiet) return std::nullopt;
  }
  return page(one.call, one.wish);
}

Answer HistoryWaits::page(const Call& call, const Wish& wish) const {
  const auto found = find_run_of(store_, instance_of(call), run_of(call));
  if (!found) return failed(found.error(), call);
  if (auto no = absent(*found, call)) return *std::move(no);
  auto events = events_after(*found->loaded, wish.after, wish.size);
  if (!events) return failed(events.error(), call);
  // Whoever follows a run that is open comes back for what happens next.
  const bool goes_on = events->more || (wish.follow && !found->loaded->row.closed_at);
  return {200,
          {{"workflow_id", call.match["workflow"]},
           {"run_id", call.match["run"]},
           {"events", std::move(events->list)},
           {"next_page_token", goes_on ? Value{event_token(events->last)} : Value{}}}};
}

void HistoryWaits::look() {
  std::erase_if(waiting_, [this](const Waiting& one) {
    if (one.call.hung_up()) return true;
    auto answer = news_for(one);
    if (answer) one.reply(*std::move(answer));
    return answer.has_value();
  });
  if (!waiting_.empty()) look_later();
}

void HistoryWaits::look_later() {
  time_.post_at(clock_.now() + between_looks, [this] { reader_.post([this] { look(); }); });
}

}  // namespace dw::server
