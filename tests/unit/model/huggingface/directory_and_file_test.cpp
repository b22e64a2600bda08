// A model as a Hugging Face directory and as a GGUF file, which another program made of it (tools/golden_models.py):
// both say the same.
#include <gtest/gtest.h>

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/safetensors/safetensors_model.h"
#include "model/families/config_names.h"
#include "model/families/golden.h"
#include "model/loading/model_source.h"

namespace inferflux::model {
namespace {

// A value of any type; numbers of four digits, as writers round.
std::string Shown(const formats::GgufMetadata& metadata, std::string_view key) {
  if (const auto flag = metadata.Get<bool>(key)) return *flag ? "true" : "false";
  if (const auto number = metadata.Get<int64_t>(key)) return fmt::format("{:.4g}", static_cast<double>(*number));
  if (const auto number = metadata.Get<double>(key)) return fmt::format("{:.4g}", *number);
  if (const auto text = metadata.Get<std::string>(key)) return *text;
  if (const auto flags = metadata.Get<std::vector<bool>>(key)) return fmt::format("{}", fmt::join(*flags, " "));
  if (const auto numbers = metadata.Get<std::vector<int64_t>>(key)) return fmt::format("{}", fmt::join(*numbers, " "));
  if (const auto numbers = metadata.Get<std::vector<double>>(key))
    return fmt::format("{:.4g}", fmt::join(*numbers, " "));
  return "?";
}

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(testing::DataPath("models"))) {
    std::string name = entry.path().filename().string();
    if (!name.ends_with("-hf")) continue;
    name.resize(name.size() - 3);
    if (std::filesystem::exists(testing::ModelPath(name + ".gguf"))) names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

class DirectoryAndFile : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const auto opened = ModelSource::Open(testing::ModelPath(GetParam() + "-hf"));
    ASSERT_TRUE(opened) << opened.error().message;
    directory = *opened;
    const auto other = ModelSource::Open(testing::ModelPath(GetParam() + ".gguf"));
    ASSERT_TRUE(other) << other.error().message;
    file = *other;
  }
  std::shared_ptr<const ModelSource> directory, file;
};

// Settings that these models do not use.
constexpr std::pair<std::string_view, std::string_view> kUnused[] = {
    {"llama4_dense", "llama4.attention.sliding_window"}, {"qwen3_5_moe", "qwen35moe.feed_forward_length"}};

TEST_P(DirectoryAndFile, HaveTheSameSettings) {
  const std::string prefix = *file->metadata().Get<std::string>("general.architecture") + ".";
  for (const auto& entry : directory->metadata().entries()) {
    if (!entry.key.starts_with(prefix) || !file->metadata().Contains(entry.key)) continue;
    if (std::ranges::count(kUnused, std::pair<std::string_view, std::string_view>(GetParam(), entry.key)) > 0) continue;
    EXPECT_EQ(Shown(directory->metadata(), entry.key), Shown(file->metadata(), entry.key)) << entry.key;
  }
  EXPECT_EQ(Shown(directory->metadata(), "general.architecture") + ".", prefix);
}

TEST_P(DirectoryAndFile, HaveTheSameWeights) {
  EXPECT_EQ(directory->parameters(), file->parameters());
  for (const ModelSource::Tensor* tensor : file->Tensors()) {
    const auto& matrix = tensor->matrix;
    const auto* own = directory->Find(matrix.name);
    if (own == nullptr) continue;  // stored for each expert
    ASSERT_EQ(own->rows, matrix.rows) << matrix.name;
    ASSERT_EQ(own->cols, matrix.cols) << matrix.name;
    const auto values = directory->Values(matrix.name, matrix.rows, matrix.cols);
    const auto expected = file->Values(matrix.name, matrix.rows, matrix.cols);
    ASSERT_TRUE(values) << values.error().message;
    ASSERT_TRUE(expected) << expected.error().message;
    for (size_t i = 0; i < values->size(); ++i) {
      ASSERT_NEAR((*values)[i], (*expected)[i], 1e-5 * std::abs((*expected)[i])) << matrix.name << "[" << i << "]";
    }
  }
}

// The indices of groups, and scales that are a single number, are not counted.
TEST(StoredBytes, AreThoseOfTheFile) {
  const std::map<std::string, int64_t> left_out = {{"gptq-hf", 2048},          {"gptq_act_order-hf", 2048},
                                                   {"gptq_desc_act-hf", 2048}, {"ct_nvfp4-hf", 28},
                                                   {"ct_ints-hf", 48},         {"modelopt_moe-hf", 48}};
  for (const auto& entry : std::filesystem::directory_iterator(testing::DataPath("checkpoints"))) {
    if (!entry.is_directory()) continue;
    const auto source = ModelSource::Open(entry.path().string());
    ASSERT_TRUE(source) << source.error().message;
    const auto file = formats::SafetensorsModel::Open(entry.path().string());
    ASSERT_TRUE(file) << file.error().message;
    int64_t stored = 0, all = 0;
    for (const auto* tensor : (*source)->Tensors()) stored += tensor->file_bytes;
    for (const auto* tensor : file->tensors()) all += static_cast<int64_t>(tensor->data.size());
    const std::string name = entry.path().filename().string();
    EXPECT_EQ(stored, all - (left_out.contains(name) ? left_out.at(name) : 0)) << name;
  }
}

TEST(ConfigNames, ErrorsSpeakOfTheKeysOfConfigJson) {
  const auto said = [](const char* message) {
    return InConfigJson({.code = ErrorCode::kDataLoss, .message = message}, "llama").message;
  };
  EXPECT_EQ(said("llama.rope.freq_base is 0; llama.rope.freq_base, llama.rope.freq_base_swa"),
            "rope_theta is 0; rope_theta, the rope_theta of layers with a window");
  EXPECT_EQ(said("gemma.rope.freq_base is 0"), "gemma.rope.freq_base is 0");
}

// LFM2's network is as wide as the rounded product of its factor and two thirds of the size in the file.
TEST(ConfigNumbers, AWidthThatIsAdjustedIsRoundedUp) {
  const auto width = [](const std::string& multiple) {
    const std::filesystem::path copy = std::filesystem::path(::testing::TempDir()) / "inferflux_lfm2_width";
    std::filesystem::remove_all(copy);
    std::filesystem::copy(testing::ModelPath("lfm2-hf"), copy);
    std::ostringstream read;
    read << std::ifstream(copy / "config.json").rdbuf();
    std::string text = read.str();
    const std::string key = R"("block_multiple_of": )";
    text.replace(text.find(key), key.size() + 1, key + multiple);
    std::ofstream(copy / "config.json", std::ios::binary) << text;
    const auto source = ModelSource::Open(copy.string());
    std::filesystem::remove_all(copy);
    EXPECT_TRUE(source) << source.error().message;
    return source ? *(*source)->metadata().Get<int64_t>("lfm2.feed_forward_length") : 0;
  };
  EXPECT_EQ(width("5"), 20) << "1.3 * (2 * 20 / 3) is 16, and some";
  EXPECT_EQ(width("7"), 21);
  EXPECT_EQ(width("1"), 16);
  EXPECT_EQ(width("16"), 16);
  EXPECT_EQ(width("17"), 17);
}

INSTANTIATE_TEST_SUITE_P(Models, DirectoryAndFile, ::testing::ValuesIn(Names()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace inferflux::model
