// Golden files: a tiny random model and transformers' results with it (tools/golden_models.py).
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "compute/params.h"
#include "formats/gguf/gguf_file.h"

namespace inferflux::model::testing {

struct Golden {
  int32_t prompt_length = 0;
  int32_t context = 0;  // tokens that the model is configured for; 0: its trained context
  std::vector<TokenId> tokens;
  std::vector<float> logits;  // [tokens, vocab]
  int64_t vocab = 0;

  std::span<const float> row(size_t position) const {
    return {logits.data() + position * static_cast<size_t>(vocab), static_cast<size_t>(vocab)};
  }
};

inline std::string DataPath(const std::string& name) {
  return std::string(INFERFLUX_SOURCE_DIR) + "/tests/data/" + name;
}
inline std::string ModelPath(const std::string& name) { return DataPath("models/") + name; }

// The names in tests/data/models for which transformers' `tensor` ("logits", "hidden") is known and that exist as NAME
// + `end` (".gguf", "-hf"). A family is tested if its files exist.
inline std::vector<std::string> GoldenModels(const std::string& tensor, const std::string& end) {
  constexpr std::string_view kGolden = ".golden.gguf";
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(DataPath("models"))) {
    std::string name = entry.path().filename().string();
    if (!name.ends_with(kGolden)) continue;
    name.resize(name.size() - kGolden.size());
    const auto file = formats::GgufFile::Open(entry.path().string());
    const bool has = file && (*file)->FindTensor(tensor) != nullptr;
    if (has && std::filesystem::exists(ModelPath(name + end))) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Whether all of a model's weights are float32.
inline bool HasOnly(const std::string& path, std::initializer_list<formats::TensorType> types) {
  const auto file = formats::GgufFile::Open(path);
  if (!file) throw std::runtime_error(file.error().message);
  return std::ranges::all_of((*file)->tensors(), [&](const formats::GgufTensor& tensor) {
    return std::ranges::find(types, tensor.type) != types.end();
  });
}
inline bool IsFloat(const std::string& path) { return HasOnly(path, {formats::TensorType::kF32}); }
// Without blocks of quantised weights.
inline bool IsDense(const std::string& path) {
  using enum formats::TensorType;
  return HasOnly(path, {kF32, kF16, kBf16});
}

inline Golden ReadGolden(const std::string& path) {
  Golden golden;
  const auto file = formats::GgufFile::Open(path);
  if (!file) throw std::runtime_error(file.error().message);
  golden.prompt_length = (*file)->metadata().Get<int32_t>("golden.prompt_length").value();
  golden.context = (*file)->metadata().Get<int32_t>("golden.context").value();
  const auto* tokens = (*file)->FindTensor("tokens");
  golden.tokens.resize(tokens->elements());
  std::memcpy(golden.tokens.data(), tokens->data.data(), tokens->data.size());
  const auto* logits = (*file)->FindTensor("logits");
  golden.vocab = static_cast<int64_t>(logits->dims[0]);
  golden.logits.resize(logits->elements());
  std::memcpy(golden.logits.data(), logits->data.data(), logits->data.size());
  return golden;
}

// |a - b| / |b|, as vector norms.
inline double RelativeError(std::span<const float> a, std::span<const float> b) {
  double difference = 0.0, norm = 0.0;
  for (size_t i = 0; i < b.size(); ++i) {
    difference += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
    norm += double{b[i]} * b[i];
  }
  return std::sqrt(difference / norm);
}

// The geometry of tokens [first, first + count) of one sequence, with blocks 0, 1, 2, ...
inline compute::StepGeometry OneSequence(std::span<const TokenId> tokens, int32_t first, int32_t count,
                                         int32_t block_size) {
  compute::StepGeometry step;
  step.block_size = block_size;
  for (int32_t i = first; i < first + count; ++i) {
    step.tokens.push_back(tokens[i]);
    step.positions.push_back(i);
  }
  step.query_starts = {0, count};
  step.block_tables.resize((first + count + block_size - 1) / block_size);
  std::iota(step.block_tables.begin(), step.block_tables.end(), 0);
  step.table_starts = {0, static_cast<int32_t>(step.block_tables.size())};
  step.states = {{.from = first == 0 ? compute::StateSlots::kNoState : 0, .to = 0}};
  return step;
}

}  // namespace inferflux::model::testing
