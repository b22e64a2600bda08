// ReAct: thinks, calls a tool and looks at what it returned, in turns, then answers (Yao et al., 2022, "ReAct:
// Synergizing Reasoning and Acting in Language Models"; prompts as dspy/predict/react.py has them).
#pragma once

#include <memory>
#include <vector>

#include "dspy/programs/predict.h"
#include "dspy/programs/tool.h"

namespace inferflux::dspy {

class ReAct : public Module {
 public:
  // kInvalidConfig where a tool's name is empty, occurs twice or is "finish", which is its own tool; or its arguments'
  // schemas are none.
  static Result<ReAct> Create(const Signature& signature, std::vector<Tool> tools, int max_iterations = 20,
                              const CallSettings& settings = {});

  // The fields of the signature, "reasoning", and "trajectory": thoughts, tools, arguments and observations by number.
  // A tool that fails is an observation. An answer that names no tool ends the turns. Where the context is too long,
  // the oldest turn is left out, up to three times a call.
  Result<Prediction> Forward(const Values& inputs, const RunContext& context) const override;
  std::vector<NamedPredictor> Predictors() override {
    return PredictorsOf({{"react", &react_}, {"extract", &extract_}});
  }
  std::unique_ptr<Module> Clone() const override { return std::make_unique<ReAct>(*this); }

 private:
  ReAct(std::vector<Tool> tools, int max_iterations, Predict react, ChainOfThought extract)
      : tools_(std::move(tools)),
        max_iterations_(max_iterations),
        react_(std::move(react)),
        extract_(std::move(extract)) {}

  Result<Prediction> RunWith(const Module& module, const Values& inputs, Values& trajectory,
                             const RunContext& context) const;
  boost::json::value Observe(const std::string& tool, const Values& arguments) const;

  std::vector<Tool> tools_;
  int max_iterations_;
  Predict react_;
  ChainOfThought extract_;
};

}  // namespace inferflux::dspy
