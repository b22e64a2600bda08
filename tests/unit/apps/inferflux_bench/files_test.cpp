// The files that inferflux-bench reads and makes: documents, and models of random weights.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "apps/inferflux_bench/json_lines.h"
#include "apps/inferflux_bench/mask_bench.h"
#include "apps/inferflux_bench/synthetic_model.h"
#include "formats/gguf/gguf_file.h"

namespace inferflux::apps {
namespace {

namespace json = boost::json;
using formats::TensorType;

// Of this process alone.
std::string PathOf(const std::string& name) {
  return fmt::format("{}bench_{}_{}", ::testing::TempDir(), ::getpid(), name);
}

TEST(JsonLinesTest, ADamagedFileIsNotReadAsAShorterOne) {
  const std::string path = PathOf("damaged.gz");
  gzFile file = gzopen(path.c_str(), "wb");
  std::string text;
  for (int i = 0; i < 5000; ++i) text += std::to_string(i * 7919) + "\n";
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  std::fstream damaged(path, std::ios::in | std::ios::out | std::ios::binary);
  damaged.seekp(200);
  damaged << std::string(200, '\0');
  damaged.close();
  const auto lines = ReadLines(path);
  std::remove(path.c_str());
  ASSERT_FALSE(lines);
  EXPECT_EQ(lines.error().code, ErrorCode::kDataLoss);
  EXPECT_EQ(lines.error().message, path + " cannot be read: it is damaged");
}

TEST(JsonLinesTest, AFileOfManyPiecesIsReadWhole) {
  const std::string path = PathOf("long.jsonl"), one(70000, 'a'), two(1, 'b');
  std::ofstream(path) << one << '\n' << two << '\n' << one;
  const auto lines = ReadLines(path);
  std::remove(path.c_str());
  ASSERT_TRUE(lines) << lines.error().message;
  EXPECT_EQ(*lines, (std::vector<std::string>{one, two, one}));
}

TEST(JsonLinesTest, NumbersAreAsPythonHasThem) {
  EXPECT_EQ(PythonJson(json::parse("[1.0,-0.5,1e22,-2e-7,18446744073709551615,-9]")),
            "[1.0, -0.5, 1e+22, -2e-07, 18446744073709551615, -9]");
  EXPECT_EQ(PythonJson(json::parse(R"({"a":{"b":[[],{}],"c\"":false}})")), R"({"a": {"b": [[], {}], "c\"": false}})");
}

const std::string kVocabulary = std::string(INFERFLUX_SOURCE_DIR) + "/models/tiny/inferflux-tiny.gguf";

// The numbers of a row: count, p50, p90, p99, p99.9, max.
std::vector<double> RowOf(const std::string& table, const std::string& name) {
  const size_t at = table.find("\n" + name + " ");
  EXPECT_NE(at, std::string::npos) << table;
  std::istringstream row(table.substr(at + 1 + name.size(), table.find('\n', at + 1) - at - 1 - name.size()));
  return {std::istream_iterator<double>(row), {}};
}

TEST(MaskBenchTest, EachTimeIsCountedOnce) {
  const std::string path = PathOf("times.jsonl");
  std::ofstream(path) << R"({"name":5,"schema":{"type":"integer"},"tests":[{"data":1},{"data":2},)"
                      << R"({"valid":false,"data":3},{"valid":true,"data":"x"}]})" << '\n'
                      << R"({"schema":{"type":"integer"}})" << '\n'
                      << R"({"schema":{"type":"integer"},"tests":5})" << '\n'
                      << R"({"schema":{"type":"null"},"tests":[{"data":null}]})" << '\n';
  const auto table = BenchMasks(kVocabulary, path, {.list = true});
  std::remove(path.c_str());
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_TRUE(
      table->starts_with("false accept: schema 1: 3\nfalse reject: schema 1: \"x\"\n3072 tokens; 4 schemas, 0 of "
                         "them refused; 5 documents\n\nus          count        p50        p90        p99"
                         "      p99.9        max\n"))
      << *table;
  EXPECT_EQ(RowOf(*table, "compile")[0], 4);
  EXPECT_EQ(RowOf(*table, "ttfm")[0], 2) << "of schemas with documents";
  EXPECT_GE(RowOf(*table, "mask")[0], 5);
  for (const char* name : {"compile", "ttfm", "mask"}) {
    const auto row = RowOf(*table, name);
    ASSERT_EQ(row.size(), 6u);
    EXPECT_TRUE(std::is_sorted(row.begin() + 1, row.end())) << *table;
    EXPECT_GE(row[1], 0.0);
    EXPECT_LT(row[5], 60e6) << "microseconds";
  }
  const json::value line = json::parse(table->substr(table->rfind('\n', table->size() - 2) + 1));
  EXPECT_EQ(line.at("correct"), 3);
  EXPECT_EQ(line.at("false_accept"), 1);
  EXPECT_EQ(line.at("false_reject"), 1);
  EXPECT_NEAR(line.at("ttfm_p50_us").as_double(), RowOf(*table, "ttfm")[1], 0.11);
  EXPECT_GT(line.at("mask_avg_us").as_double(), 0.0);
  EXPECT_LE(line.at("mask_avg_us").as_double(), RowOf(*table, "mask")[5] + 0.1);
}

TEST(MaskBenchTest, NothingToTimeIsZero) {
  const std::string path = PathOf("nothing.jsonl");
  std::ofstream(path).flush();
  const auto table = BenchMasks(kVocabulary, path, {});
  EXPECT_TRUE(table && table->ends_with(R"({"schemas":0,"correct":0,"false_accept":0,"false_reject":0,"unsupported":0,)"
                                        R"("crashed":0,"ttfm_p50_us":0.0,"ttfm_p99_us":0.0,"mask_avg_us":0.00,)"
                                        R"("mask_p99_us":0.0})"
                                        "\n"));
  for (const char* wrong : {"{}", "5", "{", "[{\"schema\":1}]"}) {
    std::ofstream(path) << "{\"schema\":{}}\n" << wrong << "\n";
    const auto refused = BenchMasks(kVocabulary, path, {});
    ASSERT_FALSE(refused) << wrong;
    EXPECT_EQ(refused.error().message, path + ": line 2 is not a JSON object with a schema");
  }
  std::remove(path.c_str());
  EXPECT_EQ(BenchMasks(kVocabulary, path, {}).error().message, "no file " + path);
  EXPECT_FALSE(BenchMasks("/no/file", path, {}));
}

struct Expected {
  const char* shape;
  const char* type;
  const char* architecture;
  uint32_t hidden, layers, heads, kv_heads, head_dim, feed_forward, vocab, context;
  float rope_base;
};

class SyntheticShapes : public ::testing::TestWithParam<Expected> {};

TEST_P(SyntheticShapes, AreThoseOfTheModelThatTheyAreNamedAfter) {
  const Expected& e = GetParam();
  const auto made = SyntheticModel::Make(e.shape, e.type);
  ASSERT_TRUE(made) << made.error().message;
  const auto file = formats::GgufFile::Open(made->path());
  ASSERT_TRUE(file) << file.error().message;
  const auto& metadata = (*file)->metadata();
  const auto number = [&](const char* key) {
    return metadata.Get<uint32_t>(fmt::format("{}.{}", e.architecture, key)).value_or(0);
  };
  EXPECT_EQ(metadata.Get<std::string>("general.architecture"), e.architecture);
  EXPECT_EQ(metadata.Get<std::string>("general.name"), std::string("synthetic ") + e.shape);
  EXPECT_EQ(number("context_length"), e.context);
  EXPECT_EQ(number("embedding_length"), e.hidden);
  EXPECT_EQ(number("block_count"), e.layers);
  EXPECT_EQ(number("feed_forward_length"), e.feed_forward);
  EXPECT_EQ(number("attention.head_count"), e.heads);
  EXPECT_EQ(number("attention.head_count_kv"), e.kv_heads);
  EXPECT_EQ(number("attention.key_length"), e.head_dim);
  EXPECT_EQ(number("attention.value_length"), e.head_dim);
  EXPECT_EQ(number("rope.dimension_count"), e.head_dim);
  EXPECT_EQ(metadata.Get<float>(fmt::format("{}.rope.freq_base", e.architecture)), e.rope_base);
  EXPECT_EQ(metadata.Get<float>(fmt::format("{}.attention.layer_norm_rms_epsilon", e.architecture)), 1e-5f);

  std::vector<std::string> expected, found;
  const auto expect = [&](const std::string& name, uint64_t inputs, uint64_t outputs) {
    expected.push_back(outputs == 0 ? fmt::format("{} [{}] F32", name, inputs)
                                    : fmt::format("{} [{} {}] {}", name, inputs, outputs, e.type));
  };
  const uint64_t q = e.heads * e.head_dim, kv = e.kv_heads * e.head_dim;
  expect("token_embd.weight", e.hidden, e.vocab);
  expect("output_norm.weight", e.hidden, 0);
  for (uint32_t i = 0; i < e.layers; ++i) {
    const std::string p = fmt::format("blk.{}.", i);
    expect(p + "attn_norm.weight", e.hidden, 0);
    expect(p + "ffn_norm.weight", e.hidden, 0);
    expect(p + "attn_q.weight", e.hidden, q);
    expect(p + "attn_k.weight", e.hidden, kv);
    expect(p + "attn_v.weight", e.hidden, kv);
    expect(p + "attn_output.weight", q, e.hidden);
    expect(p + "ffn_gate.weight", e.hidden, e.feed_forward);
    expect(p + "ffn_up.weight", e.hidden, e.feed_forward);
    expect(p + "ffn_down.weight", e.feed_forward, e.hidden);
    if (std::string_view(e.architecture) != "qwen2") continue;
    expect(p + "attn_q.bias", q, 0);
    expect(p + "attn_k.bias", kv, 0);
    expect(p + "attn_v.bias", kv, 0);
  }
  for (const formats::GgufTensor& tensor : (*file)->tensors()) {
    std::string shape;
    for (const uint64_t size : tensor.shape()) shape += (shape.empty() ? "" : " ") + std::to_string(size);
    const bool embedding = tensor.name == "token_embd.weight";  // a mix may choose another type for it
    found.push_back(fmt::format("{} [{}] {}", tensor.name, shape,
                                embedding ? std::string_view(e.type) : formats::TensorTypeName(tensor.type)));
  }
  EXPECT_EQ(found, expected);
}

INSTANTIATE_TEST_SUITE_P(All, SyntheticShapes,
                         ::testing::Values(Expected{"tiny", "F16", "llama", 256, 4, 8, 4, 32, 768, 2048, 8192, 1e4f},
                                           Expected{"qwen2.5-0.5b", "Q4_0", "qwen2", 896, 24, 14, 2, 64, 4864, 151936,
                                                    32768, 1e6f}),
                         [](const auto& info) { return std::to_string(info.index); });

TEST(SyntheticModelTest, ItsRowsAreRandomAndItsNormsAreOne) {
  const auto made = SyntheticModel::Make("tiny", "F32");
  ASSERT_TRUE(made) << made.error().message;
  const auto file = formats::GgufFile::Open(made->path());
  ASSERT_TRUE(file) << file.error().message;
  std::set<float> firsts;
  for (const formats::GgufTensor& tensor : (*file)->tensors()) {
    std::vector<float> values(tensor.elements());
    ASSERT_EQ(tensor.data.size(), values.size() * sizeof(float)) << tensor.name;
    std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
    if (tensor.rank == 1) {
      EXPECT_TRUE(std::ranges::all_of(values, [](float v) { return v == 1.0f; })) << tensor.name;
      continue;
    }
    EXPECT_TRUE(firsts.insert(values.front()).second) << tensor.name << " is as another one";
    const size_t inputs = tensor.dims[0], rows = tensor.dims[1];
    std::set<float> starts;
    double squares = 0;
    for (size_t row = 0; row < rows; ++row) {
      starts.insert(values[row * inputs]);
      EXPECT_EQ(values[row * inputs], values[row % 16 * inputs]) << tensor.name;
      EXPECT_EQ(values[(row + 1) * inputs - 1], values[(row % 16 + 1) * inputs - 1]) << tensor.name;
    }
    EXPECT_EQ(starts.size(), 16u) << tensor.name;
    for (size_t i = 0; i < 16 * inputs; ++i) squares += double{values[i]} * values[i];
    EXPECT_NEAR(std::sqrt(squares / 16), 1.0, 0.1) << tensor.name << ": a row has the length one";
  }
}

TEST(SyntheticModelTest, ATypeIsOneThatWeightsCanBeMadeOf) {
  for (const char* type : {"IQ1_S", "Q99", ""}) {
    const auto made = SyntheticModel::Make("tiny", type);
    ASSERT_FALSE(made) << type;
    EXPECT_EQ(made.error().code, ErrorCode::kInvalidArgument) << type;
  }
  const auto mixed = SyntheticModel::Make("tiny", "Q4_K_M");
  ASSERT_TRUE(mixed) << mixed.error().message;
  const auto file = formats::GgufFile::Open(mixed->path());
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ((*file)->FindTensor("blk.0.attn_q.weight")->type, TensorType::kQ4_K);
  EXPECT_EQ((*file)->FindTensor("token_embd.weight")->type, TensorType::kQ6_K) << "which makes the logits, too";
  EXPECT_EQ((*file)->FindTensor("blk.0.attn_norm.weight")->type, TensorType::kF32);
}

}  // namespace
}  // namespace inferflux::apps
