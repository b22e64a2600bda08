// What happened to a request from its arrival to its end, in phases.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace inferflux::scheduler {

struct TimelinePhase {
  enum class Kind : uint8_t {
    kQueued,     // waited for admission
    kPrefill,    // a step took in tokens of its prompt, or computed lost KV again
    kDecode,     // steps that each generated a token or more
    kWaiting,    // was running, but steps left it out: for others, or for a client that did not read
    kPreempted,  // lost its KV, and waited for admission again
  };

  Kind kind = Kind::kQueued;
  double begin = 0;  // seconds since the request's arrival
  double end = 0;
  int32_t tokens = 0;  // taken in, or generated
  int32_t steps = 0;

  friend bool operator==(const TimelinePhase&, const TimelinePhase&) = default;
};

class Timeline {
 public:
  // Beyond this number, prefill steps become one phase, and so do the gaps between steps.
  static constexpr size_t kMostPhases = 64;
  // A shorter gap between two steps is not worth a phase.
  static constexpr double kShortestGap = 0.02;

  // A step from `begin` to `end`, in seconds since the arrival. `tokens`: of the prompt that it took in.
  void Prefill(double begin, double end, int32_t tokens);
  void Decode(double begin, double end);
  // A token that the last step generated. The first one of a request belongs to its prefill, and is not counted.
  void AddToken();
  void Preempt() { preempted_ = true; }
  // The request ends, whatever it was doing.
  void End(double now);

  const std::vector<TimelinePhase>& phases() const { return phases_; }

 private:
  void FillGap(double until);
  TimelinePhase& Begin(TimelinePhase::Kind kind, double begin);

  std::vector<TimelinePhase> phases_;
  bool preempted_ = false;
};

}  // namespace inferflux::scheduler
