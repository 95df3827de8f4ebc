#include "engine/receipts.hpp"

#include "core/base64.hpp"
#include "core/sha256.hpp"

namespace dw::engine {
namespace {

// A letter for the status, then the beginning of the completion's hash, without padding.
constexpr std::string_view letters = "-pwcfxt";
constexpr std::size_t hashed_bytes = 8;
constexpr std::size_t name_size = 11;
constexpr std::size_t entry_size = 1 + name_size;

std::string name_of(std::string_view completion) {
  return encode_base64(std::string_view{sha256(completion)}.substr(0, hashed_bytes))
      .substr(0, name_size);
}

}  // namespace

std::string with_receipt(std::string_view receipts, std::string_view completion,
                         history::RunStatus told) {
  constexpr std::size_t most_before = (most_receipts - 1) * entry_size;
  if (receipts.size() > most_before) receipts.remove_prefix(receipts.size() - most_before);
  std::string all;
  all.reserve(receipts.size() + entry_size);
  all.append(receipts).append(1, letters[static_cast<std::size_t>(told)]);
  return all.append(name_of(completion));
}

std::optional<history::RunStatus> find_receipt(std::string_view receipts,
                                               std::string_view completion) {
  const std::string name = name_of(completion);
  for (; receipts.size() >= entry_size; receipts.remove_suffix(entry_size)) {
    const std::string_view last = receipts.substr(receipts.size() - entry_size);
    const auto told = letters.find(last.front());
    if (last.substr(1) == name && told != std::string_view::npos) {
      return static_cast<history::RunStatus>(told);
    }
  }
  return std::nullopt;
}

}  // namespace dw::engine
