#include "parity/run_parity.h"

#include <algorithm>
#include <memory>
#include <stop_token>
#include <utility>

#include "scheduler/scheduler_thread.h"

namespace inferflux::parity {
namespace {

constexpr int64_t kKvBytes = 64 << 20;

// The inputs for one engine's checks, and the destination of its rows.
class Run {
 public:
  Run(const serving::EngineEntry& entry, const ParityModel& model, std::function<void(ParityRow)> on_row)
      : entry_(entry),
        model_(model),
        request_{.source = model.source, .config = {.kv_budget = kKvBytes}},
        on_row_(std::move(on_row)) {}

  // False if the engine cannot be loaded.
  bool CheckEngine() {
    auto engine = entry_.make(request_);
    if (!engine) {
      const bool refused = engine.error().code == ErrorCode::kUnsupported;
      Add("load", refused ? Outcome::kRefused : Outcome::kDifferent, engine.error().message);
      return false;
    }
    const auto& info = (*engine)->info();
    const bool same_vocabulary = static_cast<size_t>(info.vocab_size) == model_.oracle.logits[0].size();
    Add("load", same_vocabulary ? Outcome::kSame : Outcome::kDifferent,
        fmt::format("{} KV, vocabulary of {}, {} sequences", info.kv_dtype, info.vocab_size, info.max_sequences));
    for (const EngineCheck& check : EngineChecks()) Add(check.name, check.run(**engine, model_.oracle, model_.bounds));
    const auto used = (*engine)->usage().blocks_used;
    Add("all room given back", used == 0 ? Outcome::kSame : Outcome::kDifferent, fmt::format("{} blocks in use", used));
    return true;
  }

  void CheckGenerations() {
    const auto& tokenizer = model_.text.tokenizer;
    scheduler::SchedulerThread loop([this](std::stop_token) { return entry_.make(request_); }, tokenizer,
                                    scheduler::SchedulerOptions{.warm_up_tokens = 0});
    if (const Status ready = loop.ready().get(); !ready) {
      return Add("scheduler", Outcome::kDifferent, ready.error().message);
    }
    const Generations subject{
        .scheduler = loop, .tokenizer = tokenizer, .oracle = model_.oracle, .bounds = model_.bounds};
    for (const GenerationCheck& check : GenerationChecks()) Add(check.name, check.run(subject));
  }

 private:
  void Add(std::string_view check, Outcome outcome, std::string detail) {
    on_row_({.backend = std::string(serving::Traits(entry_.target).name),
             .provider = std::string(serving::ProviderName(entry_.provider)),
             .check = std::string(check),
             .outcome = outcome,
             .detail = std::move(detail)});
  }
  void Add(std::string_view check, const Finding& finding) {
    Add(check, finding ? Outcome::kSame : Outcome::kDifferent, finding ? *finding : finding.error().message);
  }

  const serving::EngineEntry& entry_;
  const ParityModel& model_;
  serving::EngineRequest request_;
  std::function<void(ParityRow)> on_row_;
};

Result<Oracle> OracleOf(std::span<const serving::EngineEntry> engines, std::shared_ptr<const model::ModelSource> source,
                        const serving::ModelText& text) {
  const auto reference = std::ranges::find(engines, serving::Target::kReference, &serving::EngineEntry::target);
  if (reference == engines.end()) {
    return Fail(ErrorCode::kUnsupported, "this build has no reference engine to compare with");
  }
  auto engine = reference->make({.source = std::move(source), .config = {.kv_dtype = "fp32", .kv_budget = kKvBytes}});
  if (!engine) return Forward(engine, "the reference engine, which all others are compared with");
  return AskOracle(**engine, text);
}

}  // namespace

Bounds BoundsFor(const std::string& weights) {
  const bool floats = weights == "F32" || weights == "F16" || weights == "BF16";
  if (floats) return {.logits = 3e-2, .logprob = 0.25, .tie = 0.1};
  return {.logits = 0.15, .logprob = 0.5, .tie = 0.5};
}

Result<ParityModel> PrepareParity(std::span<const serving::EngineEntry> engines, const std::string& path) {
  auto source = model::ModelSource::Open(path);
  if (!source) return Forward(source);
  auto text = serving::LoadText(**source);
  if (!text) return Forward(text);
  auto oracle = OracleOf(engines, *source, *text);
  if (!oracle) return Forward(oracle);
  const Bounds bounds = BoundsFor((*source)->commonest_type());
  return ParityModel{
      .source = std::move(*source), .text = std::move(*text), .oracle = std::move(*oracle), .bounds = bounds};
}

std::vector<ParityRow> RunParity(std::span<const serving::EngineEntry> engines, const ParityModel& model,
                                 const std::function<void(const ParityRow&)>& on_row) {
  std::vector<ParityRow> rows;
  const auto keep = [&](ParityRow row) {
    on_row(row);
    rows.push_back(std::move(row));
  };
  for (const serving::EngineEntry& entry : engines) {
    if (!entry.make) continue;
    Run run(entry, model, keep);
    if (run.CheckEngine()) run.CheckGenerations();
  }
  return rows;
}

bool Passed(std::span<const ParityRow> rows) {
  return std::ranges::none_of(rows, [](const ParityRow& row) { return row.outcome == Outcome::kDifferent; });
}

}  // namespace inferflux::parity
