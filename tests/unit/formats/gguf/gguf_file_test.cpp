// Valid GGUF files: typed metadata, tensors by name, split files, and the writer's output read back.
#include "formats/gguf/gguf_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <sstream>

#include "formats/gguf/gguf_writer.h"
#include "support/conformance.h"

namespace inferflux::formats {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Dims = std::vector<uint64_t>;

std::span<const std::byte> Bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

void SetSample(GgufMetadataBuilder& writer) {
  writer.Set("general.architecture", "llama");
  writer.Set<uint32_t>("llama.block_count", 22);
  writer.Set<float>("llama.rope.freq_base", 10000.0f);
  writer.Set<bool>("tokenizer.ggml.add_bos_token", true);
  writer.Set<int64_t>("sample.negative", -5);
  const std::vector<std::string> tokens{"<s>", "", "\xE2\x96\x81the"};
  writer.SetArray("tokenizer.ggml.tokens", std::span<const std::string>(tokens));
  const std::vector<int32_t> kinds{3, 1, 1};
  writer.SetArray("tokenizer.ggml.token_type", std::span<const int32_t>(kinds));
}

std::string WriteSample() {
  std::ostringstream out;
  GgufWriter writer(out);
  SetSample(writer);
  std::vector<float> a(6);
  std::iota(a.begin(), a.end(), 1.0f);
  const std::vector<std::byte> b(34 * 2, std::byte{7});
  EXPECT_TRUE(writer.AddTensor("a", TensorType::kF32, Dims{3, 2}));
  EXPECT_TRUE(writer.AddTensor("b", TensorType::kQ8_0, Dims{64}));
  EXPECT_TRUE(writer.WriteHeader());
  EXPECT_TRUE(writer.WriteData(std::as_bytes(std::span(a)).first(5)));  // pieces of any size
  EXPECT_TRUE(writer.WriteData(std::as_bytes(std::span(a)).subspan(5)));
  EXPECT_TRUE(writer.WriteData(b));
  EXPECT_TRUE(writer.Finish());
  return out.str();
}

TEST(GgufFile, ReadsBackWhatTheWriterWrote) {
  const std::string text = WriteSample();
  const auto parsed = GgufFile::Parse(Bytes(text));
  ASSERT_TRUE(parsed) << parsed.error().message;
  const GgufFile& file = **parsed;
  EXPECT_EQ(file.version(), 3u);
  EXPECT_EQ(file.metadata().Get<std::string>("general.architecture"), "llama");
  EXPECT_EQ(file.metadata().Get<uint32_t>("llama.block_count"), 22u);
  EXPECT_EQ(file.metadata().Get<float>("llama.rope.freq_base"), 10000.0f);
  EXPECT_EQ(file.metadata().Get<bool>("tokenizer.ggml.add_bos_token"), true);
  EXPECT_THAT(*file.metadata().Get<std::vector<std::string_view>>("tokenizer.ggml.tokens"),
              ElementsAre("<s>", "", "\xE2\x96\x81the"));
  EXPECT_THAT(*file.metadata().Get<std::vector<int32_t>>("tokenizer.ggml.token_type"), ElementsAre(3, 1, 1));

  ASSERT_EQ(file.tensors().size(), 2u);
  const GgufTensor* a = file.FindTensor("a");
  ASSERT_NE(a, nullptr);
  EXPECT_THAT(a->shape(), ElementsAre(3, 2));
  EXPECT_EQ(a->rows(), 2u);
  ASSERT_EQ(a->data.size(), 24u);
  EXPECT_EQ(reinterpret_cast<const float*>(a->data.data())[5], 6.0f);
  const GgufTensor* b = file.FindTensor("b");
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(b->type, TensorType::kQ8_0);
  EXPECT_EQ(b->data.size(), 68u);
  EXPECT_EQ(b->data[67], std::byte{7});
  EXPECT_EQ(file.FindTensor("c"), nullptr);
  EXPECT_THAT(file.Tensor("c").error().message, HasSubstr("'c'"));
}

TEST(GgufMetadata, ConvertsIntegersThatFitAndNothingElse) {
  const std::string text = WriteSample();
  const auto file = GgufFile::Parse(Bytes(text), "sample.gguf");
  ASSERT_TRUE(file);
  const GgufMetadata& metadata = (*file)->metadata();
  EXPECT_EQ(metadata.Get<int64_t>("llama.block_count"), 22);
  EXPECT_EQ(metadata.Get<uint8_t>("llama.block_count"), 22);
  EXPECT_EQ(metadata.Get<double>("llama.rope.freq_base"), 10000.0);
  EXPECT_THAT(metadata.Get<uint32_t>("sample.negative").error().message,
              ::testing::AllOf(HasSubstr("sample.gguf"), HasSubstr("sample.negative"), HasSubstr("does not fit")));
  EXPECT_THAT(metadata.Get<uint32_t>("general.architecture").error().message,
              ::testing::AllOf(HasSubstr("general.architecture"), HasSubstr("uint32"), HasSubstr("string")));
  EXPECT_THAT(metadata.Get<float>("llama.block_count").error().message, HasSubstr("float32"));
  EXPECT_THAT(metadata.Get<std::vector<float>>("tokenizer.ggml.tokens").error().message,
              HasSubstr("should be array of float32, but is array of string"));
  EXPECT_EQ(metadata.Get<uint32_t>("absent").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(metadata.GetOr<uint32_t>("absent", 7), 7u);
  EXPECT_FALSE(metadata.GetOr<uint32_t>("general.architecture", 7)) << "a wrong type must not become the default";
}

// Metadata made in memory read like the same keys in a file.
TEST(GgufMetadataBuilder, BuildsWhatAFileWouldHold) {
  const std::string text = WriteSample();
  const auto file = GgufFile::Parse(Bytes(text));
  ASSERT_TRUE(file);
  GgufMetadata made;
  {
    GgufMetadataBuilder builder;
    builder.Set("sample.negative", true);  // set again below
    SetSample(builder);
    made = builder.Build("memory");
  }
  ASSERT_EQ(made.entries().size(), (*file)->metadata().entries().size());
  for (const GgufEntry& read : (*file)->metadata().entries()) {
    const GgufEntry* entry = made.Find(read.key);
    ASSERT_NE(entry, nullptr) << read.key;
    EXPECT_EQ(entry->type, read.type) << read.key;
    EXPECT_EQ(entry->element_type, read.element_type) << read.key;
    EXPECT_EQ(entry->count, read.count) << read.key;
    EXPECT_TRUE(std::ranges::equal(entry->payload, read.payload)) << read.key;
    EXPECT_TRUE(std::ranges::equal(entry->encoded, read.encoded)) << read.key;
  }
  EXPECT_EQ(made.Get<uint32_t>("sample.negative").error().message,
            "memory: the value of metadata key 'sample.negative' does not fit in uint32");
}

TEST(GgufWriter, RefusesWhatNoFileCanHold) {
  std::ostringstream out;
  GgufWriter writer(out);
  ASSERT_TRUE(writer.AddTensor("a", TensorType::kF32, Dims{4}));
  EXPECT_FALSE(writer.AddTensor("a", TensorType::kF32, Dims{4})) << "duplicate name";
  EXPECT_FALSE(writer.AddTensor("b", TensorType::kQ4_K, Dims{128})) << "half a block";
  EXPECT_FALSE(writer.AddTensor("b", TensorType::kF32, Dims{1, 1, 1, 1, 1}));
  EXPECT_FALSE(writer.AddTensor("b", TensorType::kF32, Dims{uint64_t{1} << 40, uint64_t{1} << 40}));
  ASSERT_TRUE(writer.WriteHeader());
  ASSERT_TRUE(writer.WriteData(std::vector<std::byte>(15)));
  EXPECT_THAT(writer.Finish().error().message, HasSubstr("15 of its 16"));
  EXPECT_FALSE(writer.WriteData(std::vector<std::byte>(2))) << "more than the tensors hold";
}

TEST(GgufWriter, CopiesAndReplacesMetadata) {
  const std::string text = WriteSample();
  const auto source = GgufFile::Parse(Bytes(text));
  ASSERT_TRUE(source);
  std::ostringstream out;
  GgufWriter writer(out);
  for (const GgufEntry& entry : (*source)->metadata().entries()) writer.Copy(entry);
  writer.Set<uint32_t>("llama.block_count", 2);
  writer.Remove("sample.negative");
  ASSERT_TRUE(writer.WriteHeader());
  ASSERT_TRUE(writer.Finish());
  const std::string copied = out.str();
  const auto copy = GgufFile::Parse(Bytes(copied));
  ASSERT_TRUE(copy) << copy.error().message;
  EXPECT_EQ((*copy)->metadata().Get<uint32_t>("llama.block_count"), 2u);
  EXPECT_FALSE((*copy)->metadata().Contains("sample.negative"));
  EXPECT_THAT(*(*copy)->metadata().Get<std::vector<std::string_view>>("tokenizer.ggml.tokens"),
              ElementsAre("<s>", "", "\xE2\x96\x81the"));
}

TEST(GgufFile, OpensRealVocabularies) {
  INFERFLUX_REQUIRE_CONFORMANCE("tokenizers");
  const auto path = ::inferflux::testing::ConformanceDir() / "tokenizers" / "ggml-vocab-gpt-2.gguf";
  const auto file = GgufFile::Open(path.string());
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ((*file)->metadata().Get<std::string>("tokenizer.ggml.model"), "gpt2");
  EXPECT_EQ((*file)->metadata().Get<std::vector<std::string_view>>("tokenizer.ggml.tokens")->size(), 50257u);
}

class SplitFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    dir_ = std::filesystem::path(::testing::TempDir()) / "inferflux_split_test";
    std::filesystem::create_directories(dir_);
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }

  std::string Path(int number, int count) const {
    return (dir_ / fmt::format("m-{:05}-of-{:05}.gguf", number, count)).string();
  }
  void WritePart(const std::string& path, uint16_t number, uint16_t count, const std::string& tensor) {
    std::ofstream out(path, std::ios::binary);
    GgufWriter writer(out);
    writer.Set<uint16_t>("split.no", number);
    writer.Set<uint16_t>("split.count", count);
    writer.Set<int32_t>("split.tensors.count", 2);
    ASSERT_TRUE(writer.AddTensor(tensor, TensorType::kF32, Dims{1}));
    ASSERT_TRUE(writer.WriteHeader());
    ASSERT_TRUE(writer.WriteData(std::vector<std::byte>(4)));
    ASSERT_TRUE(writer.Finish());
  }
  std::string ErrorOf(const std::string& path) {
    const auto file = GgufFile::Open(path);
    return file ? "" : file.error().message;
  }

  std::filesystem::path dir_;
};

TEST_F(SplitFiles, LoadFromTheFirstName) {
  WritePart(Path(1, 2), 0, 2, "a");
  WritePart(Path(2, 2), 1, 2, "b");
  const auto file = GgufFile::Open(Path(1, 2));
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ((*file)->tensors().size(), 2u);
  EXPECT_NE((*file)->FindTensor("b"), nullptr);
  EXPECT_THAT(ErrorOf(Path(2, 2)), HasSubstr("open its first part"));
}

TEST_F(SplitFiles, NameWhatIsWrong) {
  WritePart(Path(1, 2), 0, 2, "a");
  EXPECT_THAT(ErrorOf(Path(1, 2)), HasSubstr("00002-of-00002")) << "a missing part";
  WritePart(Path(2, 2), 1, 2, "a");
  EXPECT_THAT(ErrorOf(Path(1, 2)), HasSubstr("'a' appears twice"));
  WritePart(Path(2, 2), 0, 2, "b");
  EXPECT_THAT(ErrorOf(Path(1, 2)), HasSubstr("part 2 of 2"));
  WritePart((dir_ / "renamed.gguf").string(), 0, 2, "a");
  EXPECT_THAT(ErrorOf((dir_ / "renamed.gguf").string()), HasSubstr("-00001-of-00002.gguf"));
}

}  // namespace
}  // namespace inferflux::formats
