// The timed tests: prefill, decode at a depth, and decode of several sequences at once, through the engine's own step.
#pragma once

#include <string>
#include <vector>

#include "apps/inferflux_bench/profile.h"
#include "apps/inferflux_bench/work_model.h"
#include "engine/engine.h"

namespace inferflux::apps {

struct Workload {
  int prompt = 0;  // tokens to prefill; 0: decode
  int decode = 0;  // tokens to decode
  int depth = 0;   // tokens already present
  int batch = 1;   // sequences

  std::string name() const;  // "pp512", "tg64", "tg64@d4096", "tg64xb16"
  int tokens() const { return (prompt > 0 ? prompt : decode) * batch; }
};

struct Timing {
  double seconds = 0.0;
  double device_seconds = 0.0;  // the part in which the device computed; 0: the engine does not time it
};

// The time of each repetition, after one that warms up. Sequences are created anew, so nothing comes from a prefix
// cache. `profile`, to which the engine may write, then covers only these repetitions.
Result<std::vector<Timing>> Time(engine::Engine& engine, const Workload& test, int repetitions, Profile& profile);

// The minimum work of the whole test, with its prompt split into steps of `step_tokens`.
Bound LeastTime(const WorkModel& work, const Workload& test, int step_tokens, const Ceilings& ceilings);

}  // namespace inferflux::apps
