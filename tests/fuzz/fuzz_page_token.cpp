// Page tokens are opaque to their holders, and some holders are curious.
#include "core/base64.hpp"
#include "fuzz.hpp"
#include "server/page_token.hpp"

using dw::fuzz::must_hold;
using namespace dw::server;

namespace {

void hand_in(std::string_view token) {
  const auto page = parse_page_token(token);
  if (!page) return;
  must_hold(page->after >= 0 && page->until >= page->after, "pages go forward");
  const auto again = parse_page_token(page_token(*page));
  must_hold(again && again->after == page->after && again->until == page->until,
            "a page is the same by its token");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto text = dw::fuzz::text_of(data, size);
  hand_in(text);
  hand_in(dw::encode_base64(text));  // past the first check, for those who know what is inside
  return 0;
}
