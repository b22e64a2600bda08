// inferflux-convert and inferflux-quantize from their command lines: what they write, print and return.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "apps/inferflux_convert/converted.h"
#include "apps/run_main.h"

int ConvertMain(int argc, char** argv);
int QuantizeMain(int argc, char** argv);

namespace inferflux::apps {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

// Two programs and the files between them.
class ProgramsTest : public ::testing::Test {
 protected:
  std::string Convert(std::vector<std::string> words) const { return Ran(ConvertMain, std::move(words)); }
  std::string Quantize(std::vector<std::string> words) const { return Ran(QuantizeMain, std::move(words)); }
  static std::string InMegabytes(uint64_t bytes) { return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6); }
  static uint64_t BytesOf(const formats::GgufFile& file) {
    uint64_t out = 0;
    for (const formats::GgufTensor& tensor : file.tensors()) out += tensor.data.size();
    return out;
  }

  const ConvertedDirectory directory_{"models/gemma3n_usual-hf", 41};
  const std::string output_ = directory_.Beside("out.gguf"), smaller_ = directory_.Beside("smaller.gguf");
};

TEST_F(ProgramsTest, AConversionPrintsItsSums) {
  const auto expected = directory_.Convert();
  const std::string sums =
      fmt::format("{} tensors, {:.1f} million weights, {} in ", expected.summary.tensors,
                  static_cast<double>(expected.summary.weights) / 1e6, InMegabytes(expected.summary.bytes));
  EXPECT_THAT(sums, AllOf(HasSubstr(" 0.1 million"), HasSubstr(" 0.2 MB"))) << "no zeros";
  const std::string said = Convert({directory_.path(), output_, "--threads", "1"});
  EXPECT_THAT(said, StartsWith(sums));
  EXPECT_THAT(said.substr(sums.size()), MatchesRegex("[0-9]+\\.[0-9] s\n\\|\\|0"));
  std::ifstream in(output_, std::ios::binary);
  EXPECT_EQ(std::string((std::istreambuf_iterator<char>(in)), {}), *expected.bytes);
  EXPECT_FALSE(fs::exists(output_ + ".partial"));
}

TEST_F(ProgramsTest, AConversionMayQuantiseAndReplace) {
  ASSERT_THAT(Convert({directory_.path(), output_, "--type", "Q8_0", "--pre", "qwen2"}), EndsWith("|0"));
  const auto file = formats::GgufFile::Open(output_);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ((*file)->metadata().Get<uint32_t>("general.file_type"), 7u);
  EXPECT_EQ((*file)->metadata().Get<std::string>("tokenizer.ggml.pre"), "qwen2");
  EXPECT_EQ(Convert({directory_.path(), output_}), "|inferflux-convert: " + output_ +
                                                       " is there already: --force replaces it, or name another "
                                                       "file\n|2");
  EXPECT_THAT(Convert({directory_.path(), output_, "--force"}), EndsWith("||0"));
  const auto replaced = formats::GgufFile::Open(output_);
  EXPECT_EQ((*replaced)->metadata().Get<uint32_t>("general.file_type"), 0u);
}

TEST_F(ProgramsTest, AConversionThatFailsLeavesNothing) {
  EXPECT_THAT(Convert({directory_.path(), output_, "--type", "Q99"}),
              AllOf(StartsWith("|inferflux-convert: "), HasSubstr("Q99"), EndsWith("\n|2")));
  EXPECT_THAT(Convert({directory_.Beside("none"), output_}),
              AllOf(StartsWith("|inferflux-convert: "), EndsWith("\n|1")));
  EXPECT_THAT(Convert({directory_.path(), directory_.Beside("no/folder")}),
              AllOf(StartsWith("|inferflux-convert: cannot write "), EndsWith("\n|1")));
  EXPECT_THAT(Convert({directory_.path()}), AllOf(HasSubstr("output is required"), EndsWith("\n|2")));
  EXPECT_THAT(Convert({}), AllOf(HasSubstr("directory is required"), EndsWith("\n|2")));
  for (const char* threads : {"0", "1025"}) {
    EXPECT_THAT(Convert({directory_.path(), output_, "--threads", threads}),
                AllOf(HasSubstr("--threads"), HasSubstr("1 to 1024"), EndsWith("\n|2")));
  }
  std::ofstream(smaller_) << "x";  // a file that is there is refused before any thread is made
  EXPECT_THAT(Convert({directory_.path(), smaller_, "--threads", "1024"}),
              AllOf(HasSubstr("is there already"), EndsWith("\n|2")));
  EXPECT_FALSE(fs::exists(output_) || fs::exists(output_ + ".partial"));
  EXPECT_THAT(Convert({"--print-man"}), StartsWith(".TH INFERFLUX-CONVERT 1 "));
  const std::string help = Convert({"--help"});
  for (const char* shown : {"directory HF_DIR REQUIRED", "output OUT.gguf REQUIRED", "--type TYPE", "--pre NAME"})
    EXPECT_THAT(help, HasSubstr(shown));
}

TEST_F(ProgramsTest, AQuantisationListsItsTensorsAndItsSums) {
  ASSERT_THAT(Convert({directory_.path(), output_}), EndsWith("|0"));
  const std::string said = Quantize({output_, smaller_, "Q8_0", "--list", "--threads", "1"});
  const auto before = formats::GgufFile::Open(output_), after = formats::GgufFile::Open(smaller_);
  ASSERT_TRUE(before && after) << said;
  uint64_t weights = 0;
  int floats = 0, blocks = 0, halves = 0;
  std::vector<std::string> lines;
  for (const formats::GgufTensor& tensor : (*before)->tensors()) {
    const auto type = (*after)->FindTensor(tensor.name)->type;
    weights += tensor.elements();
    ++(type == formats::TensorType::kF32 ? floats : type == formats::TensorType::kQ8_0 ? blocks : halves);
    std::string shape;
    for (const uint64_t size : tensor.shape()) shape += (shape.empty() ? "" : ", ") + std::to_string(size);
    lines.push_back(fmt::format("{:<40} [{}]  F32 -> {}{}", tensor.name, shape, formats::TensorTypeName(type),
                                type == formats::TensorType::kF32 ? "\n" : "  rmse "));
  }
  for (const std::string& line : lines) EXPECT_THAT(said, HasSubstr(line));
  EXPECT_GT(blocks, 0);
  EXPECT_EQ(std::ranges::count(said, '\n'), std::ssize(lines) + 1);
  const std::string types =
      fmt::format("{}{} F32, {} Q8_0", halves > 0 ? fmt::format("{} F16, ", halves) : "", floats, blocks);
  const uint64_t bytes = BytesOf(**after);
  const std::string sums =
      fmt::format("\n{} -> {} ({:.2f} bits a weight) in ", InMegabytes(BytesOf(**before)), InMegabytes(bytes),
                  8.0 * static_cast<double>(bytes) / static_cast<double>(weights));
  EXPECT_THAT(said, HasSubstr(sums));
  EXPECT_THAT(said, EndsWith(" s; tensors: " + types + "\n||0"));
  EXPECT_EQ((*after)->metadata().Get<uint32_t>("general.file_type"), 7u);
  EXPECT_THAT(Quantize({output_, smaller_, "F16", "--force"}), MatchesRegex("[0-9.]+ MB -> [0-9.]+ MB \\(.*\n\\|\\|0"))
      << "without --list no tensor is listed";
}

TEST_F(ProgramsTest, AQuantisationThatFailsLeavesNothing) {
  ASSERT_THAT(Convert({directory_.path(), output_}), EndsWith("|0"));
  const std::string program = "|inferflux-quantize: ";
  EXPECT_EQ(Quantize({output_, output_, "Q8_0", "--force"}), program + output_ + " cannot be written over itself\n|2");
  EXPECT_THAT(Quantize({output_, smaller_, "Q99"}), AllOf(StartsWith(program), HasSubstr("Q99"), EndsWith("\n|2")));
  EXPECT_THAT(Quantize({directory_.Beside("none"), smaller_, "Q8_0"}), AllOf(StartsWith(program), EndsWith("\n|1")));
  EXPECT_THAT(Quantize({output_, smaller_, "Q8_0", "--imatrix", directory_.Beside("none")}),
              AllOf(StartsWith(program), HasSubstr("/none"), EndsWith("\n|1")));
  EXPECT_THAT(Quantize({output_, smaller_, "Q8_0", "--imatrix", output_}),
              AllOf(StartsWith(program), ::testing::Not(EndsWith("|0"))));
  EXPECT_FALSE(fs::exists(smaller_) || fs::exists(smaller_ + ".partial"));
  std::ofstream(smaller_) << "x";
  EXPECT_THAT(Quantize({output_, smaller_, "Q8_0"}), AllOf(HasSubstr("is there already"), EndsWith("\n|2")));
  for (const char* threads : {"0", "1025"}) {
    EXPECT_THAT(Quantize({output_, smaller_, "Q8_0", "--threads", threads}),
                AllOf(HasSubstr("--threads"), HasSubstr("1 to 1024"), EndsWith("\n|2")));
  }
  EXPECT_THAT(Quantize({directory_.Beside("none"), directory_.Beside("new"), "Q8_0", "--threads", "1024"}),
              EndsWith("\n|1"));
  for (const auto& [words, missing] : {std::pair{std::vector<std::string>{}, "input is required"},
                                       {{"a"}, "output is required"},
                                       {{"a", "b"}, "type is required"}}) {
    EXPECT_THAT(Quantize(words), AllOf(HasSubstr(missing), EndsWith("\n|2")));
  }
  EXPECT_THAT(Quantize({"--help"}), AllOf(HasSubstr("Types: "), HasSubstr(" Q4_K_M"), HasSubstr("--imatrix FILE")));
  EXPECT_THAT(Quantize({"--print-man"}), StartsWith(".TH INFERFLUX-QUANTIZE 1 "));
}

}  // namespace
}  // namespace inferflux::apps
