#include "scheduler/timeline/timeline.h"

namespace inferflux::scheduler {

void Timeline::Prefill(double begin, double end, int32_t tokens) {
  FillGap(begin);
  TimelinePhase& phase = Begin(TimelinePhase::Kind::kPrefill, begin);  // a phase for each chunk
  phase.end = end;
  phase.tokens += tokens;
  ++phase.steps;
}

void Timeline::Decode(double begin, double end) {
  FillGap(begin);
  const bool joins = !phases_.empty() && phases_.back().kind == TimelinePhase::Kind::kDecode;
  TimelinePhase& phase = joins ? phases_.back() : Begin(TimelinePhase::Kind::kDecode, begin);
  phase.end = end;
  ++phase.steps;
}

void Timeline::AddToken() {
  if (!phases_.empty() && phases_.back().kind == TimelinePhase::Kind::kDecode) ++phases_.back().tokens;
}

void Timeline::End(double now) { FillGap(now); }

// The time since the last phase, if nothing was computed for the request.
void Timeline::FillGap(double until) {
  const double last = phases_.empty() ? 0.0 : phases_.back().end;
  const TimelinePhase::Kind kind = phases_.empty() ? TimelinePhase::Kind::kQueued
                                   : preempted_    ? TimelinePhase::Kind::kPreempted
                                                   : TimelinePhase::Kind::kWaiting;
  preempted_ = false;
  if (kind == TimelinePhase::Kind::kWaiting && (until - last < kShortestGap || phases_.size() >= kMostPhases)) return;
  Begin(kind, last).end = until;
}

// At the limit, what follows joins the last phase of its kind: the list ends with at most one phase for each kind.
TimelinePhase& Timeline::Begin(TimelinePhase::Kind kind, double begin) {
  if (phases_.size() >= kMostPhases) {
    for (size_t i = phases_.size(); i-- > kMostPhases - 1;) {
      if (phases_[i].kind == kind) return phases_[i];
    }
  }
  return phases_.emplace_back(TimelinePhase{.kind = kind, .begin = begin, .end = begin});
}

}  // namespace inferflux::scheduler
