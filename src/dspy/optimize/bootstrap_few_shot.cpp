#include "dspy/optimize/bootstrap_few_shot.h"

#include <algorithm>
#include <map>
#include <set>

#include "dspy/optimize/labeled_few_shot.h"
#include "dspy/programs/predict.h"
#include "dspy/python/python_random.h"

namespace inferflux::dspy {
namespace {

using DemosByName = std::map<std::string, std::vector<Example>, std::less<>>;

Status CheckSameProgram(Module& student, Module& teacher) {
  const auto ours = student.Predictors();
  const auto theirs = teacher.Predictors();
  if (ours.size() != theirs.size()) {
    return Fail(ErrorCode::kInvalidConfig, "the student has {} predictors, and the teacher has {}", ours.size(),
                theirs.size());
  }
  for (size_t i = 0; i < ours.size(); ++i) {
    const bool same =
        ours[i].first == theirs[i].first && ours[i].second->signature().Equals(theirs[i].second->signature());
    if (!same) {
      return Fail(ErrorCode::kInvalidConfig, "the student's predictor '{}' ({}) is not the teacher's '{}' ({})",
                  ours[i].first, ours[i].second->signature().ToString(), theirs[i].first,
                  theirs[i].second->signature().ToString());
    }
  }
  return {};
}

// "augmented", then inputs and outputs, as DSPy saves a bootstrapped demonstration.
Example DemoOf(const TraceStep& step) {
  Values values = {{"augmented", true}};
  for (const auto& [name, value] : step.inputs) values[name] = value;
  for (const auto& [name, value] : step.outputs) values[name] = value;
  return Example(std::move(values));
}

// A predictor that ran several times in one run gives one demonstration: the last, or any of those before it.
Example OneOf(const std::vector<Example>& demos, uint64_t seed) {
  if (demos.size() == 1) return demos[0];
  PythonRandom random(seed);
  if (random.Next() >= 0.5) return demos.back();
  return demos[random.Below(demos.size() - 1)];
}

class Bootstrap {
 public:
  Bootstrap(const BootstrapFewShot& options, Module& teacher) : options_(options), teacher_(teacher) {}

  // Whether the teacher's run was accepted; its demonstrations are kept then.
  Result<bool> Run(const Example& example, int round, uint64_t seed) {
    std::vector<TraceStep> trace;
    RunContext context = options_.teacher_context;
    context.trace = &trace;
    context.on_field = nullptr;
    if (round > 0) {
      context.settings.sampling.temperature = 1.0;
      context.settings.sampling.seed = static_cast<uint64_t>(round);
    }
    const auto prediction = RunWithout(example, context);
    if (!prediction) {
      if (prediction.error().code == ErrorCode::kCancelled || ++errors_ >= options_.max_errors) {
        return tl::make_unexpected(prediction.error());
      }
      return false;
    }
    if (!Accepts(example, *prediction)) return false;
    DemosByName found;
    for (const auto& [name, predictor] : teacher_.Predictors()) {
      for (const TraceStep& step : trace) {
        if (step.predictor == predictor) found[name].push_back(DemoOf(step));
      }
    }
    for (const auto& [name, demos] : found) demos_[name].push_back(OneOf(demos, seed));
    return true;
  }

  std::vector<Example> Demos(std::string_view name) const {
    const auto found = demos_.find(name);
    return found == demos_.end() ? std::vector<Example>() : found->second;
  }

 private:
  // The example itself is no demonstration while it runs.
  Result<Prediction> RunWithout(const Example& example, const RunContext& context) {
    std::vector<std::vector<Example>> before;
    for (auto& [name, predictor] : teacher_.Predictors()) {
      before.push_back(predictor->demos());
      std::vector<Example> others = predictor->demos();
      std::erase(others, example);
      predictor->set_demos(std::move(others));
    }
    auto prediction = teacher_.Call(example.inputs(), context);
    size_t i = 0;
    for (auto& [name, predictor] : teacher_.Predictors()) predictor->set_demos(std::move(before[i++]));
    return prediction;
  }

  bool Accepts(const Example& example, const Prediction& prediction) const {
    if (!options_.metric) return true;
    const double score = options_.metric(example, prediction);
    return options_.threshold && *options_.threshold != 0 ? score >= *options_.threshold : score != 0;
  }

  const BootstrapFewShot& options_;
  Module& teacher_;
  DemosByName demos_;
  size_t errors_ = 0;
};

}  // namespace

Result<std::unique_ptr<Module>> BootstrapFewShot::Compile(const Module& student, std::span<const Example> trainset,
                                                          const Module* teacher) const {
  if (student.compiled())
    return Fail(ErrorCode::kInvalidConfig, "the student is compiled already; give it as the teacher");
  auto compiled = student.ResetCopy();
  auto teaching = (teacher ? *teacher : student).Clone();
  if (max_labeled > 0 && !teaching->compiled())
    teaching = LabeledFewShot{.k = max_labeled}.Compile(*teaching, trainset);
  if (auto same = CheckSameProgram(*compiled, *teaching); !same) return Forward(same);

  Bootstrap bootstrap(*this, *teaching);
  std::set<size_t> accepted;
  for (size_t i = 0; i < trainset.size() && accepted.size() < max_bootstrapped; ++i) {
    for (int round = 0; round < max_rounds; ++round) {
      auto done = bootstrap.Run(trainset[i], round, i);
      if (!done) return Forward(done);
      if (!*done) continue;
      accepted.insert(i);
      break;
    }
  }

  std::vector<Example> labelled;
  for (size_t i = 0; i < trainset.size(); ++i) {
    if (!accepted.contains(i)) labelled.push_back(trainset[i]);
  }
  PythonRandom(0).Shuffle(labelled);
  PythonRandom random(0);
  for (auto& [name, predictor] : compiled->Predictors()) {
    std::vector<Example> demos = bootstrap.Demos(name);
    if (demos.size() > max_bootstrapped) demos.resize(max_bootstrapped);
    const size_t room = std::min(max_labeled - std::min(max_labeled, demos.size()), labelled.size());
    for (const size_t index : random.Sample(labelled.size(), room)) demos.push_back(labelled[index]);
    predictor->set_demos(std::move(demos));
  }
  compiled->set_compiled(true);
  return compiled;
}

}  // namespace inferflux::dspy
