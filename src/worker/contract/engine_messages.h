// The parts of messages that are structs of the floors below: what an engine reports, and how tokens are sampled.
#pragma once

#include <string_view>
#include <tuple>
#include <utility>

#include "compute/capabilities.h"
#include "engine/device_memory.h"
#include "engine/engine.h"
#include "engine/sampling/sampling_params.h"
#include "model/pooling.h"
#include "worker/contract/message.h"

namespace inferflux::worker {

template <>
struct WordsOf<model::Pooling> {
  static constexpr std::pair<std::string_view, model::Pooling> kWords[] = {
      {"mean", model::Pooling::kMean}, {"cls", model::Pooling::kCls}, {"last", model::Pooling::kLast}};
};

template <>
struct WordsOf<model::ScoreFunction> {
  using Function = model::ScoreFunction;
  static constexpr std::pair<std::string_view, Function> kWords[] = {
      {"none", Function::kNone}, {"sigmoid", Function::kSigmoid}, {"softmax", Function::kSoftmax}};
};

template <>
struct MessageOf<compute::Capabilities> {
  using T = compute::Capabilities;
  static constexpr std::string_view kName = "Capabilities";
  static constexpr std::string_view kHelp = "What the engine can do.";
  static consteval auto Fields() {
    return std::tuple{Required("generation", &T::generation, "generates text"),
                      Required("phased_execution", &T::phased_execution, "steps of prompts or decodes alone"),
                      Required("unified_execution", &T::unified_execution, "steps that mix them"),
                      Required("prefix_copy", &T::prefix_copy, "shares the KV of a common prefix"),
                      Required("logprobs", &T::logprobs, "log probabilities"),
                      Required("structured_output", &T::structured_output, "keeps an output to a grammar"),
                      Required("speculative_verification", &T::speculative_verification, "verifies draft tokens"),
                      Required("kv_save_restore", &T::kv_save_restore, "sessions"),
                      Required("embeddings", &T::embeddings, "vectors of texts"),
                      Required("scores", &T::scores, "scores of texts"),
                      Required("multimodal", &T::multimodal, "inputs other than tokens"),
                      Required("graph_capture", &T::graph_capture, "records and replays a step"),
                      Required("device_sampling", &T::device_sampling, "samples on the device"),
                      Required("batch_invariant", &T::batch_invariant, "bit-identical logits")};
  }
};

template <>
struct MessageOf<engine::DeviceMemory> {
  using T = engine::DeviceMemory;
  static constexpr std::string_view kName = "DeviceMemory";
  static constexpr std::string_view kHelp = "What the model holds on one device.";
  static consteval auto Fields() {
    return std::tuple{Required("device", &T::device, "its name"), Required("weight_bytes", &T::weight_bytes, "bytes"),
                      Required("kv_bytes", &T::kv_bytes, "bytes; 0: not reported")};
  }
};

template <>
struct MessageOf<model::PoolingConfig> {
  using T = model::PoolingConfig;
  static constexpr std::string_view kName = "Pooling";
  static constexpr std::string_view kHelp = "How hidden states become an embedding or scores.";
  static consteval auto Fields() {
    return std::tuple{Optional("type", &T::type, "absent: the model makes no embeddings"),
                      Required("normalise", &T::normalise, "to length 1"),
                      Required("lengths", &T::lengths, "to which a vector may be cut"),
                      Required("labels", &T::labels, "of a classifier's scores; empty: it is none"),
                      Required("score_function", &T::score_function, "how scores are reported")};
  }
};

template <>
struct MessageOf<engine::EngineInfo> {
  using T = engine::EngineInfo;
  static constexpr std::string_view kName = "Engine";
  static constexpr std::string_view kHelp = "The engine that runs the model.";
  static consteval auto Fields() {
    return std::tuple{Required("backend", &T::backend, "the target, as cpu"),
                      Required("provider", &T::provider, "native or llama_cpp"),
                      Required("kv_dtype", &T::kv_dtype, "type of keys and values"),
                      Required("vocab_size", &T::vocab_size, "tokens"),
                      Required("context", &T::context, "most tokens of a sequence"),
                      Required("block_size", &T::block_size, "tokens of a KV block"),
                      Required("kv_tokens", &T::kv_tokens, "tokens that all KV has room for"),
                      Required("max_sequences", &T::max_sequences, "live sequences"),
                      Required("step_tokens", &T::step_tokens, "tokens of the best step"),
                      Required("capabilities", &T::capabilities, "what it can do"),
                      Required("causal", &T::causal, "false: an encoder"),
                      Required("hidden", &T::hidden, "values of a hidden state; 0: has no such output"),
                      Required("pooling", &T::pooling, "of embeddings or scores"),
                      Required("head_outputs", &T::head_outputs, "values made of a pooled state; 0: has no head"),
                      Required("memory", &T::memory, "on each device"),
                      Required("notes", &T::notes, "what loading did to the weights")};
  }
};

template <>
struct MessageOf<engine::SamplingParams> {
  using T = engine::SamplingParams;
  static constexpr std::string_view kName = "Sampling";
  static constexpr std::string_view kHelp = "How tokens are sampled; docs/api.md explains the parameters.";
  static consteval auto Fields() {
    constexpr double kMostTokens = 1 << 24;
    return std::tuple{Optional("temperature", &T::temperature, "0: greedy").Within(0, 2),
                      Optional("top_k", &T::top_k, "0: all").Within(0, kMostTokens),
                      Optional("top_p", &T::top_p, "1: all").Within(0, 1),
                      Optional("min_p", &T::min_p, "0: all").Within(0, 1),
                      Optional("repetition_penalty", &T::repetition_penalty, "1: none").Within(0.0099, 10),
                      Optional("presence_penalty", &T::presence_penalty, "0: none").Within(-2, 2),
                      Optional("frequency_penalty", &T::frequency_penalty, "0: none").Within(-2, 2),
                      Optional("logit_bias", &T::logit_bias, "pairs of a token and what is added").Within(0, 1024),
                      Optional("top_n_sigma", &T::top_n_sigma, "0: all").Within(0, 100),
                      Optional("typical_p", &T::typical_p, "1: all").Within(0, 1),
                      Optional("xtc_probability", &T::xtc_probability, "0: off").Within(0, 1),
                      Optional("xtc_threshold", &T::xtc_threshold, "a probability").Within(0, 0.5),
                      Optional("dry_multiplier", &T::dry_multiplier, "0: off").Within(0, 100),
                      Optional("dry_base", &T::dry_base, "growth").Within(1, 4),
                      Optional("dry_allowed_length", &T::dry_allowed_length, "tokens").Within(0, 1024),
                      Optional("dry_penalty_last_n", &T::dry_penalty_last_n, "-1: all").Within(-1, kMostTokens),
                      Optional("dry_breakers", &T::dry_breakers, "tokens").Within(0, 1024),
                      Optional("mirostat", &T::mirostat, "version 2"),
                      Optional("mirostat_tau", &T::mirostat_tau, "bits").Within(0, 100),
                      Optional("mirostat_eta", &T::mirostat_eta, "learning rate").Within(0, 1),
                      Optional("seed", &T::seed, "of the draws")};
  }
};

}  // namespace inferflux::worker
