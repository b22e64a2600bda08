#include "dspy/programs/module.h"

#include "dspy/programs/predict.h"

namespace inferflux::dspy {

Result<Prediction> Module::Stream(const Values& inputs, OnField on_field, RunContext context) const {
  context.on_field = std::move(on_field);
  return Forward(inputs, context);
}

std::future<Result<Prediction>> Module::CallAsync(Values inputs, RunContext context) const {
  return std::async(std::launch::async, [program = std::shared_ptr<Module>(Clone()), settings = CurrentSettings(),
                                         inputs = std::move(inputs), context = std::move(context)] {
    const ScopedSettings scope(settings);
    return program->Forward(inputs, context);
  });
}

std::future<void> Module::CallAsync(Values inputs, std::function<void(Result<Prediction>)> done,
                                    RunContext context) const {
  return std::async(std::launch::async,
                    [program = std::shared_ptr<Module>(Clone()), settings = CurrentSettings(),
                     inputs = std::move(inputs), done = std::move(done), context = std::move(context)] {
                      const ScopedSettings scope(settings);
                      done(program->Forward(inputs, context));
                    });
}

std::unique_ptr<Module> Module::ResetCopy() const {
  auto copy = Clone();
  for (auto& [name, predictor] : copy->Predictors()) predictor->Reset();
  return copy;
}

std::vector<Module::NamedPredictor> Module::PredictorsOf(std::initializer_list<std::pair<std::string, Module*>> parts) {
  std::vector<NamedPredictor> all;
  for (const auto& [name, part] : parts) {
    if (auto* predictor = dynamic_cast<Predict*>(part)) {
      all.emplace_back(name, predictor);
      continue;
    }
    if (part->compiled()) continue;
    for (auto& [inner, predictor] : part->Predictors()) all.emplace_back(name + "." + inner, predictor);
  }
  return all;
}

}  // namespace inferflux::dspy
