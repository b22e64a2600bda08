// Programs: what maps inputs to a prediction by calls to language models. A program is made of predictors, which
// optimisers give demonstrations, and which are saved and loaded.
#pragma once

#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "dspy/programs/settings.h"
#include "dspy/signature/prediction.h"

namespace inferflux::dspy {

class Predict;

// One call of a predictor, as optimisers look at it.
struct TraceStep {
  const Predict* predictor = nullptr;
  Values inputs;
  Values outputs;
};

// How a program runs. Programs hand it on to the programs that they call.
struct RunContext {
  std::shared_ptr<LM> lm = nullptr;                  // else the predictor's, the adapter's, the current settings'
  std::shared_ptr<const Adapter> adapter = nullptr;  // else the current settings'
  CallSettings settings = {};                        // before those of predictor and adapter
  std::stop_token cancel = {};
  OnField on_field = nullptr;  // fields of all predictors as they grow, on the thread that runs the program
  std::vector<TraceStep>* trace = nullptr;
};

class Module {
 public:
  using NamedPredictor = std::pair<std::string, Predict*>;

  virtual ~Module() = default;

  // Any thread, any number at once, as long as nobody changes the program.
  virtual Result<Prediction> Forward(const Values& inputs, const RunContext& context) const = 0;
  // In DSPy's order and with its names: "self", "predict", "extract.predict".
  virtual std::vector<NamedPredictor> Predictors() = 0;
  virtual std::unique_ptr<Module> Clone() const = 0;

  Result<Prediction> Call(const Values& inputs, const RunContext& context = {}) const {
    return Forward(inputs, context);
  }
  // Hands out fields as they grow.
  Result<Prediction> Stream(const Values& inputs, OnField on_field, RunContext context = {}) const;
  // Runs a copy of the program on a thread of its own. The future's destructor waits for the call: cancel it first.
  std::future<Result<Prediction>> CallAsync(Values inputs, RunContext context = {}) const;
  // The same; `done` is called on that thread.
  std::future<void> CallAsync(Values inputs, std::function<void(Result<Prediction>)> done,
                              RunContext context = {}) const;

  // DSPy's JSON state. A state that Python's dspy saved loads, and the other way round. "traces" and "train", which no
  // prompt depends on, are not kept.
  virtual boost::json::object DumpState() const;
  // kInvalidConfig names the predictor and what is wrong; the program is unchanged then.
  virtual Status LoadState(const boost::json::object& state);
  Status Save(const std::filesystem::path& path) const;
  Status Load(const std::filesystem::path& path);

  // A copy whose predictors have no demonstrations and no models.
  std::unique_ptr<Module> ResetCopy() const;

  // An optimiser made it: within another program it stays as it is.
  bool compiled() const { return compiled_; }
  void set_compiled(bool compiled) { compiled_ = compiled; }

 protected:
  // What Predictors() returns for a program with these parts.
  static std::vector<NamedPredictor> PredictorsOf(std::initializer_list<std::pair<std::string, Module*>> parts);

 private:
  bool compiled_ = false;
};

}  // namespace inferflux::dspy
