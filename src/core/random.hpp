// Where randomness enters. Production seeds it from the system, the simulator from its one seed.
#pragma once
#include <cstdint>

namespace dw {

class Random {
 public:
  virtual ~Random() = default;
  virtual std::uint64_t next() = 0;

  // Uniform enough for scheduling and faults: [0, bound), bound > 0.
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }
};

// xoshiro256**, seeded through splitmix64. Not for secrets.
class SeededRandom final : public Random {
 public:
  explicit SeededRandom(std::uint64_t seed);
  std::uint64_t next() override;

 private:
  std::uint64_t state_[4];
};

// A seed nobody has had before.
std::uint64_t system_seed();

}  // namespace dw
