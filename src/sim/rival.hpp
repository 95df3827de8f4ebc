// A stranger on the same disk, in the way at the worst moment, which a second node seldom is. It
// decides with the same engine and commits past the simulated process, whose staged decisions on
// that run then lose their race.
#pragma once
#include "core/ulid.hpp"
#include "engine/decide.hpp"
#include "sim/checker.hpp"

namespace dw::sim {

class Rival {
 public:
  Rival(store::Store& disk, Checker& checker, const Clock& clock, Random& random,
        const engine::Settings& settings)
      : disk_(disk),
        checker_(checker),
        clock_(clock),
        random_(random),
        settings_(settings),
        ulids_(random) {}

  // Changes this run if it is open: mostly a harmless duplicate start, seldom the end of it. The
  // process is about to commit on it, so it will notice.
  void interfere(const RunId& run) { interfere(run, true); }
  // Picks an open run. A node that is alone does not look for what others did, so a run is closed
  // only while an attempt that is `alive` in the process will sooner or later bring it back to that
  // run.
  void interfere(const dispatch::ActivityHost* alive);

 private:
  void interfere(const RunId& run, bool may_close);

  store::Store& disk_;
  Checker& checker_;
  const Clock& clock_;
  Random& random_;
  const engine::Settings& settings_;
  UlidSource ulids_;
};

}  // namespace dw::sim
