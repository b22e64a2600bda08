// Decode steps as captured graphs, made while there is nothing else to do, or when a step of a shape comes first.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/without_exceptions.h"
#include "compute/device_features.h"
#include "engine/engine.h"
#include "engine/native/graphs/graph_shape.h"
#include "model/model_runner.h"

namespace inferflux::engine {

// For backends that capture nothing.
template <compute::Backend B, class Kv>
class DecodeGraphs {
 public:
  DecodeGraphs(typename B::Context&, model::ModelRunner<B, Kv>&, std::optional<GraphLimits>) {}

  bool on() const { return false; }
  std::optional<compute::View<B>> Logits(const compute::StepGeometry&) { return std::nullopt; }
  bool CaptureAhead(int32_t) { return false; }
  GraphUsage usage() const { return {}; }
};

template <compute::GraphCapture B, class Kv>
class DecodeGraphs<B, Kv> {
 public:
  // Without limits there are no graphs. The runner has to be where it is until the end.
  DecodeGraphs(typename B::Context& context, model::ModelRunner<B, Kv>& runner, std::optional<GraphLimits> limits)
      : context_(context), runner_(runner), limits_(limits) {
    if (limits_) ahead_ = ShapesAhead(*limits_, &B::GraphRows);
  }

  bool on() const { return limits_.has_value(); }
  GraphUsage usage() const { return usage_; }

  // Runs a decode step; its logits, of which the first rows are the step's. They are overwritten by the next step.
  // Nothing if the step has no graph, and is to be run without: then nothing has changed.
  std::optional<compute::View<B>> Logits(const compute::StepGeometry& step) {
    if (!limits_) return std::nullopt;
    const GraphShape shape = ShapeOf(step, *limits_, &B::GraphRows);
    if (shape.rows == 0) return std::nullopt;
    const compute::StepGeometry padded = InShape(step, shape, *limits_);
    auto found = graphs_.find(shape);
    if (found == graphs_.end()) {
      if (graphs_.size() == kMost) return std::nullopt;
      found = graphs_.emplace(shape, Capture(shape, padded)).first;
    } else if (found->second) {
      runner_.ReloadDecode(padded, found->second->inputs);
    }
    if (!found->second) return std::nullopt;
    ++usage_.replays;
    return B::Replay(context_, found->second->graph);
  }

  // Captures one of the shapes that steps will have, without running it. False: there is none left.
  bool CaptureAhead(int32_t block_size) {
    while (next_ < ahead_.size() && graphs_.size() < kMost) {
      const GraphShape shape = ahead_[next_++];
      if (graphs_.contains(shape)) continue;
      graphs_.emplace(shape, Capture(shape, InShape({.block_size = block_size}, shape, *limits_)));
      return true;
    }
    return false;
  }

 private:
  // Each has its arrays on the device, and CUDA's own memory for its nodes.
  static constexpr size_t kMost = 256;

  struct Captured {
    model::StepInputs<B> inputs;
    typename B::Graph graph;
  };

  // Null: it was refused, and the shape is not tried again.
  std::unique_ptr<Captured> Capture(const GraphShape& shape, const compute::StepGeometry& step) {
    auto captured = std::make_unique<Captured>();
    const auto made = WithoutExceptions(B::kName, [&]() -> Status {
      captured->inputs = runner_.LoadDecode(step);
      auto graph = B::Capture(context_, [&] { return runner_.DecodeLogits(step, captured->inputs); });
      if (!graph) return Forward(graph);
      captured->graph = std::move(*graph);
      return {};
    });
    if (made) {
      ++usage_.graphs;
      return captured;
    }
    if (usage_.refusals++ == 0) {
      log::Warning("{}: no graph of a decode step of {} rows, which runs without: {}", B::kName, shape.rows,
                   made.error().message);
    }
    return nullptr;
  }

  typename B::Context& context_;
  model::ModelRunner<B, Kv>& runner_;
  std::optional<GraphLimits> limits_;
  std::map<GraphShape, std::unique_ptr<Captured>> graphs_;  // null: refused
  std::vector<GraphShape> ahead_;
  size_t next_ = 0;  // of ahead_
  GraphUsage usage_;
};

}  // namespace inferflux::engine
