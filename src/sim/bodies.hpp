// The workflows of the simulated world as they are written, once, against Ops; and the names of the
// activities they call.
#pragma once
#include "sim/ops.hpp"

#include <string>
#include <string_view>

namespace dw::sim::bodies {

inline constexpr std::string_view tell = "sim.tell";        // always answers
inline constexpr std::string_view flaky = "sim.flaky";      // fails the first n times
inline constexpr std::string_view broken = "sim.broken";    // always fails
inline constexpr std::string_view refused = "sim.refused";  // says that trying again is of no use
inline constexpr std::string_view lossy = "sim.lossy";      // its first n attempts are lost
inline constexpr std::string_view sluggish =
    "sim.sluggish";  // its first n attempts answer far too late
inline constexpr std::string_view beating = "sim.beating";  // likewise, and they give signs of life
inline constexpr std::string_view mishap = "sim.mishap";    // fails with an exception of its own

std::string single(Ops& ops, const Numbers& n);
std::string ten(Ops& ops, const Numbers& n);
std::string naps(Ops& ops, const Numbers& n);
std::string dice(Ops& ops, const Numbers& n);
std::string saga(Ops& ops, const Numbers& n);
std::string stubborn(Ops& ops, const Numbers& n);
std::string hopeless(Ops& ops, const Numbers& n);
std::string lost(Ops& ops, const Numbers& n);
std::string patience(Ops& ops, const Numbers& n);
std::string family(Ops& ops, const Numbers& n);
std::string crowd(Ops& ops, const Numbers& n);
std::string listener(Ops& ops, const Numbers& n);
std::string chain(Ops& ops, const Numbers& n);
std::string keeper(Ops& ops, const Numbers& n);
std::string slow(Ops& ops, const Numbers& n);
std::string unlucky(Ops& ops, const Numbers& n);
std::string script(Ops& ops, const Numbers& n);
// Newer and older code of one type: what the older one began, the newer one goes on with.
template <bool newer>
std::string patched(Ops& ops, const Numbers& n);

}  // namespace dw::sim::bodies
