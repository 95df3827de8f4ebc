// Where a worker is in a history that it reads page by page.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dw::server {

// Events after one, up to another that was the last when the task was taken.
struct HistoryPage {
  std::int64_t after = 0;
  std::int64_t until = 0;
};
std::string page_token(HistoryPage page);
std::optional<HistoryPage> parse_page_token(std::string_view token);

}  // namespace dw::server
