// Safetensors: real files give PyTorch's values; each broken rule gives one clear error; shards open as one model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "formats/golden_files.h"
#include "formats/safetensors/safetensors_file.h"
#include "formats/safetensors/safetensors_model.h"
#include "support/allocation_meter.h"

namespace inferflux::formats {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string FileOf(const std::string& header, size_t data_bytes) {
  const uint64_t length = header.size();
  std::string file(sizeof(length), '\0');
  std::memcpy(file.data(), &length, sizeof(length));
  return file + header + std::string(data_bytes, '\x01');
}

auto ParseText(const std::string& file) {
  return SafetensorsFile::Parse(std::as_bytes(std::span(file)), "bad.safetensors");
}

std::string ErrorOf(const std::string& header, size_t data_bytes) {
  const std::string file = FileOf(header, data_bytes);
  const auto parsed = ParseText(file);
  return parsed ? "" : parsed.error().message;
}

TEST(Safetensors, EveryTypeHasPyTorchsValues) {
  const auto bytes = testing::ReadGolden("safetensors/dtypes.safetensors");
  const auto file = SafetensorsFile::Parse(bytes, "dtypes.safetensors");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ((*file)->metadata().at("format"), "pt");
  int compared = 0;
  for (const SafetensorsTensor& tensor : (*file)->tensors()) {
    const SafetensorsTensor* expected = (*file)->FindTensor(tensor.name + ".f32");
    if (expected == nullptr) continue;
    ASSERT_EQ(expected->elements(), tensor.elements());
    std::vector<float> values(tensor.elements());
    ToFloats(tensor.dtype, tensor.data.data(), values.data(), static_cast<int64_t>(values.size()));
    for (size_t i = 0; i < values.size(); ++i) {
      float wanted;
      std::memcpy(&wanted, expected->data.data() + i * sizeof(float), sizeof(float));
      if (std::isnan(wanted)) {
        ASSERT_TRUE(std::isnan(values[i])) << tensor.name << "[" << i << "]";
      } else {
        ASSERT_EQ(std::bit_cast<uint32_t>(values[i]), std::bit_cast<uint32_t>(wanted))
            << tensor.name << "[" << i << "]";
      }
    }
    ++compared;
  }
  EXPECT_EQ(compared, 14);
  EXPECT_THAT((*file)->FindTensor("f32")->shape, ElementsAre(3, 4));
}

TEST(Safetensors, BrokenHeaders) {
  const auto tensor = [](const char* dtype, const char* shape, const char* offsets) {
    return fmt::format(R"({{"t":{{"dtype":"{}","shape":{},"data_offsets":{}}}}})", dtype, shape, offsets);
  };
  EXPECT_EQ(ErrorOf(tensor("F32", "[2]", "[0,8]"), 8), "");
  EXPECT_THAT(ErrorOf("{", 0), AllOf(HasSubstr("bad.safetensors"), HasSubstr("not valid JSON")));
  EXPECT_THAT(ErrorOf("[]", 0), HasSubstr("should hold an object"));
  EXPECT_THAT(ErrorOf(R"({"t":3})", 0), AllOf(HasSubstr("'t'"), HasSubstr("should be an object, but is a number")));
  EXPECT_THAT(ErrorOf(tensor("F31", "[2]", "[0,8]"), 8), HasSubstr("dtype 'F31' is unknown"));
  EXPECT_THAT(ErrorOf(tensor("F32", "[-2]", "[0,8]"), 8), HasSubstr("shape[0] is not a whole number in range"));
  EXPECT_THAT(ErrorOf(tensor("F32", "[3]", "[0,8]"), 8), AllOf(HasSubstr("span 8 bytes"), HasSubstr("need 12")));
  EXPECT_THAT(ErrorOf(tensor("F32", "[4294967296,4294967296]", "[0,8]"), 8), HasSubstr("more than 64 bits"));
  EXPECT_THAT(ErrorOf(tensor("F32", "[2]", "[8,0]"), 8), HasSubstr("[begin, end]"));
  EXPECT_THAT(ErrorOf(tensor("F32", "[2]", "[0,8,9]"), 8), HasSubstr("[begin, end]"));
  EXPECT_THAT(ErrorOf(tensor("F32", "[2]", "[0,8]"), 7), AllOf(HasSubstr("'t'"), HasSubstr("truncated")));
  EXPECT_THAT(ErrorOf(tensor("F32", "[2]", "[0,8]"), 9), HasSubstr("the last 1 bytes belong to no tensor"));
  EXPECT_THAT(ErrorOf(tensor("F32", "[2]", "[4,12]"), 12), HasSubstr("leaves a gap after the header"));
  const char* overlap = R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},
                            "b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})";
  EXPECT_THAT(ErrorOf(overlap, 6), HasSubstr("tensor 'b' overlaps a"));
  EXPECT_THAT(ErrorOf(std::string(5000, '[') + std::string(5000, ']'), 0), HasSubstr("not valid JSON"));
}

TEST(Safetensors, HugeClaimsCostNoMemory) {
  const ::inferflux::testing::AllocationMeter meter;
  std::string file = FileOf("{}", 0);
  const uint64_t huge = uint64_t{1} << 60;
  std::memcpy(file.data(), &huge, sizeof(huge));
  EXPECT_THAT(ParseText(file).error().message, HasSubstr("claims a header"));
  EXPECT_FALSE(ParseText("short"));
  EXPECT_LT(meter.peak(), size_t{1} << 20);
}

TEST(Safetensors, TwentyThousandMutationsNeverCrash) {
  const auto golden = testing::ReadGolden("safetensors/dtypes.safetensors");
  uint64_t header_bytes;
  std::memcpy(&header_bytes, golden.data(), sizeof(header_bytes));
  std::mt19937_64 random(20261121);
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::byte> file(golden);
    const uint64_t changes = 1 + random() % 3;
    for (uint64_t i = 0; i < changes; ++i) file[random() % (header_bytes + 8)] = static_cast<std::byte>(random());
    if (random() % 8 == 0) file.resize(random() % file.size());
    const auto parsed = SafetensorsFile::Parse(file, "mutated");
    if (!parsed) {
      ASSERT_THAT(parsed.error().message, HasSubstr("mutated")) << "an error names its file";
      continue;
    }
    ++accepted;
    for (const SafetensorsTensor& tensor : (*parsed)->tensors()) {
      std::vector<float> values(tensor.elements());
      ToFloats(tensor.dtype, tensor.data.data(), values.data(), static_cast<int64_t>(values.size()));
    }
  }
  EXPECT_GT(accepted, 10) << "a changed name is harmless";
}

class Shards : public ::testing::Test {
 protected:
  void SetUp() override {
    dir_ = std::filesystem::path(::testing::TempDir()) / "inferflux_shards_test";
    std::filesystem::create_directories(dir_);
    Write("one.safetensors", FileOf(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 1));
    Write("two.safetensors", FileOf(R"({"b":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})", 2));
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }
  void Write(const std::string& name, const std::string& text) { std::ofstream(dir_ / name, std::ios::binary) << text; }
  std::string OpenError(const std::string& index) {
    Write("model.safetensors.index.json", index);
    const auto model = SafetensorsModel::Open(dir_.string());
    return model ? "" : model.error().message;
  }
  std::filesystem::path dir_;
};

TEST_F(Shards, OpenAsOneModel) {
  Write("model.safetensors.index.json", R"({"weight_map":{"a":"one.safetensors","b":"two.safetensors"}})");
  const auto model = SafetensorsModel::Open(dir_.string());
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->tensors().size(), 2u);
  EXPECT_EQ((*model->Tensor("b"))->elements(), 2u);
  EXPECT_EQ(model->Tensor("c").error().code, ErrorCode::kNotFound);
}

TEST_F(Shards, NameWhatIsWrong) {
  EXPECT_THAT(OpenError(R"({"weight_map":{"a":"two.safetensors"}})"),
              AllOf(HasSubstr("'a'"), HasSubstr("two.safetensors"), HasSubstr("lacks it")));
  EXPECT_THAT(OpenError(R"({"weight_map":{"a":"three.safetensors"}})"), HasSubstr("three.safetensors"));
  EXPECT_THAT(OpenError(R"({"weight_map":{"a":"../one.safetensors"}})"), HasSubstr("should name a file beside it"));
  EXPECT_THAT(OpenError(R"({"weight_map":{}})"), HasSubstr("empty"));
  EXPECT_THAT(OpenError(R"({})"), HasSubstr("'weight_map' is missing"));
  Write("copy.safetensors", FileOf(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 1));
  EXPECT_THAT(OpenError(R"({"weight_map":{"a":"one.safetensors","x":"copy.safetensors"}})"),
              HasSubstr("in another shard too"));
}

}  // namespace
}  // namespace inferflux::formats
