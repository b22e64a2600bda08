// Runs every check on every engine that is there.
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

// A model, and what is right for it.
struct ParityModel {
  std::shared_ptr<const model::ModelSource> source;
  serving::ModelText text;
  Oracle oracle;
  Bounds bounds;
};

// Asks the reference among `engines`. An error where there is nothing to compare with: the model cannot be opened, or
// the reference cannot serve it.
Result<ParityModel> PrepareParity(std::span<const serving::EngineEntry> engines, const std::string& path);

// Loads the model on each engine in turn, with the engine's own KV type, and hands out a row a check as it comes.
std::vector<ParityRow> RunParity(std::span<const serving::EngineEntry> engines, const ParityModel& model,
                                 const std::function<void(const ParityRow&)>& on_row);

// No row is different.
bool Passed(std::span<const ParityRow> rows);

}  // namespace inferflux::parity
