#include "apps/inferflux_bench/workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace inferflux::apps {
namespace {

using Clock = std::chrono::steady_clock;

// Token ids that every model has, without a pattern that a kernel could exploit.
std::vector<TokenId> Prompt(int first, int count, int vocab) {
  std::vector<TokenId> out;
  for (int i = 0; i < count; ++i) out.push_back(static_cast<TokenId>((int64_t{first + i} * 2654435761 >> 7) % vocab));
  return out;
}

class Sequences {
 public:
  Sequences(engine::Engine& engine, int count) : engine_(engine), ids_(static_cast<size_t>(count)) {}
  ~Sequences() {
    for (const auto& id : ids_) {
      if (id.generation != 0) (void)engine_.Close(id);
    }
  }

  // Opens without tokens, so that no prefix of an earlier sequence matches.
  Status Open() {
    for (auto& id : ids_) {
      auto opened = engine_.Open({}, 0);
      if (!opened) return Forward(opened);
      id = opened->sequence;
    }
    return {};
  }

  // Feeds `count` tokens to every sequence in one step and requests one sampled token each.
  Status Step(int position, int count) {
    engine::UnifiedBatch batch;
    for (const auto& id : ids_) {
      if (auto room = engine_.Reserve(id, position + count); !room) return room;
      engine::OutputSpec output{.token_index = count - 1};
      output.sampling.temperature = 0.0f;
      batch.items.push_back({.sequence = id,
                             .tokens = Prompt(position, count, engine_.info().vocab_size),
                             .first_position = position,
                             .outputs = {output}});
    }
    auto result = engine_.ExecuteUnifiedBatch(batch);
    if (!result) return Forward(result);
    device_seconds_ += result->device_seconds.value_or(0.0);
    return {};
  }

  double TakeDeviceSeconds() { return std::exchange(device_seconds_, 0.0); }

  Status Prefill(int position, int tokens) {
    const int chunk = engine_.info().step_tokens;  // chunked as a scheduler would
    for (int done = 0; done < tokens; done += chunk) {
      if (auto step = Step(position + done, std::min(chunk, tokens - done)); !step) return step;
    }
    return {};
  }

  Status Decode(int position, int tokens) {
    for (int done = 0; done < tokens; ++done) {
      if (auto step = Step(position + done, 1); !step) return step;
    }
    return {};
  }

  // Back to `length` tokens. A recurrent state is only kept at the end of a block, so the last tokens are computed
  // again.
  Status Rewind(int length) {
    const int kept = length - length % engine_.info().block_size;
    for (const auto& id : ids_) {
      if (auto cut = engine_.Truncate(id, kept); !cut) return cut;
    }
    return Prefill(kept, length - kept);
  }

 private:
  engine::Engine& engine_;
  std::vector<engine::SequenceId> ids_;
  double device_seconds_ = 0.0;
};

}  // namespace

std::string Workload::name() const {
  std::string out = prompt > 0 ? fmt::format("pp{}", prompt) : fmt::format("tg{}", decode);
  if (depth > 0) out += fmt::format("@d{}", depth);
  if (batch > 1) out += fmt::format("xb{}", batch);
  return out;
}

Result<std::vector<Timing>> Time(engine::Engine& engine, const Workload& test, int repetitions, Profile& profile) {
  Sequences sequences(engine, test.batch);
  if (auto opened = sequences.Open(); !opened) return Forward(opened);
  if (auto filled = sequences.Prefill(0, test.depth); !filled) return Forward(filled);
  std::vector<Timing> times;
  for (int r = 0; r <= repetitions; ++r) {
    if (r == 1) profile.Clear();
    sequences.TakeDeviceSeconds();
    const auto start = Clock::now();
    auto ran = test.prompt > 0 ? sequences.Prefill(test.depth, test.prompt) : sequences.Decode(test.depth, test.decode);
    if (!ran) return Forward(ran);
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    if (r > 0) times.push_back({seconds, sequences.TakeDeviceSeconds()});
    if (auto cut = sequences.Rewind(test.depth); !cut) return Forward(cut);
  }
  return times;
}

Bound LeastTime(const WorkModel& work, const Workload& test, int step_tokens, const Ceilings& ceilings) {
  const int step = test.prompt > 0 ? step_tokens : 1;
  const int tokens = test.prompt > 0 ? test.prompt : test.decode;
  Bound out;
  for (int done = 0; done < tokens; done += step) {
    const Bound bound =
        LeastTime(work, StepShape{test.batch, std::min(step, tokens - done), test.depth + done}, ceilings);
    out.seconds += bound.seconds;
    out.name = bound.name;
  }
  return out;
}

}  // namespace inferflux::apps
