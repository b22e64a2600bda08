// A checkpoint of a few small tensors, written to a directory of its own.
#pragma once

#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "formats/huggingface/hf_config.h"
#include "formats/safetensors/safetensors_model.h"

namespace inferflux::model::testing {

struct MadeTensor {
  std::string name, dtype;
  std::vector<uint64_t> shape;
  std::vector<uint8_t> bytes = {};  // empty: zeros
};

// The numbers as bytes of F32.
inline std::vector<uint8_t> BytesOfFloats(const std::vector<float>& values) {
  std::vector<uint8_t> out(values.size() * sizeof(float));
  std::memcpy(out.data(), values.data(), out.size());
  return out;
}

class MadeCheckpoint {
 public:
  explicit MadeCheckpoint(std::vector<MadeTensor> tensors) {
    folder_ = std::filesystem::path(::testing::TempDir()) /
              fmt::format("made_checkpoint_{}_{}", ::testing::UnitTest::GetInstance()->current_test_info()->name(),
                          ::getpid());
    std::filesystem::create_directories(folder_);
    std::string header, data;
    for (MadeTensor& tensor : tensors) {
      uint64_t bytes = formats::Traits(*formats::SafetensorsDtypeFromName(tensor.dtype)).bytes;
      for (const uint64_t dim : tensor.shape) bytes *= dim;
      tensor.bytes.resize(bytes);
      header += fmt::format(R"({}"{}":{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})", header.empty() ? "" : ",",
                            tensor.name, tensor.dtype, fmt::join(tensor.shape, ","), data.size(), data.size() + bytes);
      data.append(tensor.bytes.begin(), tensor.bytes.end());
    }
    header = "{" + header + "}";
    const uint64_t length = header.size();
    std::string start(sizeof length, '\0');
    std::memcpy(start.data(), &length, sizeof length);
    std::ofstream(folder_ / "model.safetensors", std::ios::binary) << start << header << data;
    model_ = *formats::SafetensorsModel::Open(folder_.string());
  }
  ~MadeCheckpoint() { std::filesystem::remove_all(folder_); }
  MadeCheckpoint(const MadeCheckpoint&) = delete;
  MadeCheckpoint& operator=(const MadeCheckpoint&) = delete;

  const formats::SafetensorsModel& model() const { return model_; }

 private:
  std::filesystem::path folder_;
  formats::SafetensorsModel model_;
};

inline formats::HfConfig MadeConfig(const std::string& more = "") {
  return *formats::ParseHfConfig(*formats::JsonObject::Parse(
      R"({"model_type":"toy","vocab_size":4,"hidden_size":8,"num_hidden_layers":2,"num_attention_heads":2)" + more +
          "}",
      "config.json"));
}

}  // namespace inferflux::model::testing
