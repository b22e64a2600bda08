// Runs every check on every available engine.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "parity/check.h"
#include "serving/backends/backend_factory.h"

namespace inferflux::parity {

enum class Outcome {
  kSame,
  kDifferent,
  kRefused,  // the engine cannot serve this model, and says why: nothing to compare
};

struct ParityRow {
  std::string backend;   // "cpu", "cuda", ...
  std::string provider;  // "native", "llama_cpp"
  std::string check;
  Outcome outcome = Outcome::kSame;
  std::string detail;
};

// The bounds for a model of these weights, by ModelSource::commonest_type().
Bounds BoundsFor(const std::string& weights);

// A model and the right answers for it.
struct ParityModel {
  std::shared_ptr<const model::ModelSource> source;
  serving::ModelText text;
  Oracle oracle;
  Bounds bounds;
};

// Runs the reference engine of `engines`. An error if there is nothing to compare with: the model cannot be opened, or
// the reference cannot serve it.
Result<ParityModel> PrepareParity(std::span<const serving::EngineEntry> engines, const std::string& path);

// Loads the model on each engine, one after the other, with the engine's own KV type, and reports a row for each check
// as it finishes.
std::vector<ParityRow> RunParity(std::span<const serving::EngineEntry> engines, const ParityModel& model,
                                 const std::function<void(const ParityRow&)>& on_row);

// True if no row differs.
bool Passed(std::span<const ParityRow> rows);

}  // namespace inferflux::parity
