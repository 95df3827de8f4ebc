#include "sim/trace.hpp"

namespace dw::sim {
namespace {

constexpr std::size_t kept = 30;

}  // namespace

void Trace::add(std::string text) {
  // Date and time without the year: a seed spans days, never years.
  std::string line =
      fmt::format("{:>6} {} {}", step_, format_timestamp(clock_.now()).substr(5, 21), text);
  for (const char c : line) hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  if (show_) show_(line);
  tail_.push_back(std::move(line));
  if (tail_.size() > kept) tail_.pop_front();
}

}  // namespace dw::sim
