#include "dspy/optimize/labeled_few_shot.h"

#include <algorithm>

#include "dspy/programs/predict.h"
#include "dspy/python/python_random.h"

namespace inferflux::dspy {

std::unique_ptr<Module> LabeledFewShot::Compile(const Module& student, std::span<const Example> trainset) const {
  auto compiled = student.ResetCopy();
  if (trainset.empty()) return compiled;
  PythonRandom random(0);
  const size_t count = std::min(k, trainset.size());
  for (auto& [name, predictor] : compiled->Predictors()) {
    std::vector<Example> demos;
    if (sample) {
      for (const size_t index : random.Sample(trainset.size(), count)) demos.push_back(trainset[index]);
    } else {
      demos.assign(trainset.begin(), trainset.begin() + static_cast<std::ptrdiff_t>(count));
    }
    predictor->set_demos(std::move(demos));
  }
  return compiled;
}

}  // namespace inferflux::dspy
