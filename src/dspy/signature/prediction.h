// What a program answered: values by field name, each of its declared type, and what it cost.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dspy/error.h"
#include "dspy/lm/lm.h"
#include "dspy/signature/example.h"

namespace inferflux::dspy {

class Prediction {
 public:
  Prediction() = default;
  Prediction(Values values, Usage usage) : values_(std::move(values)), usage_(usage) {}

  const Values& values() const { return values_; }
  // Of all calls to language models that made this prediction.
  const Usage& usage() const { return usage_; }
  Usage& usage() { return usage_; }

  void Set(std::string_view name, boost::json::value value) { values_[name] = std::move(value); }

  // kInvalidConfig where there is no such field, or it has another type; the message says which.
  Result<const boost::json::value*> Find(std::string_view name) const;
  Result<std::string> Text(std::string_view name) const;
  Result<int64_t> Int(std::string_view name) const;
  Result<double> Float(std::string_view name) const;  // an int too
  Result<bool> Bool(std::string_view name) const;

  // What a model with tools of its own wants to be called; empty otherwise.
  std::vector<ToolCall> tool_calls;

 private:
  Values values_;
  Usage usage_;
};

}  // namespace inferflux::dspy
