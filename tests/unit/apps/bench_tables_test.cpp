// The tables and sums of inferflux-bench, whole.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <cstdio>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "apps/inferflux_bench/json_lines.h"
#include "apps/inferflux_bench/mask_bench.h"
#include "apps/inferflux_bench/profile.h"
#include "apps/inferflux_bench/report.h"
#include "apps/inferflux_bench/synthetic_model.h"
#include "apps/inferflux_bench/work_model.h"
#include "apps/inferflux_bench/workload.h"
#include "formats/gguf/gguf_file.h"

namespace inferflux::apps {
namespace {

namespace json = boost::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::vector<Row>& Rows() {
  static const std::vector<Row> rows = {
      {.test = "pp512",
       .tokens_per_second = 1234.5,
       .stddev = 2.25,
       .ceiling_share = 0.5,
       .device_share = 0.25,
       .bound = "compute",
       .backend = "cpu",
       .isa = "avx2",
       .threads = 2,
       .load_seconds = 1.5,
       .model = "m",
       .type = "F16",
       .profile = {{"product", 3, 0.5, 0.25, 0.125}, {"between operations", 0, 0.25, 0.125, 0.0}}},
      {.test = "tg64",
       .tokens_per_second = 2,
       .bound = "bandwidth",
       .backend = "cuda",
       .device = "L4",
       .model = "n",
       .type = "Q8_0"}};
  return rows;
}

TEST(BenchTables, ATableHasItsColumnsAndAProfileItsOwn) {
  EXPECT_EQ(Table(Rows()), R"~(test                     tokens/s        +-   ceiling   device  bound      backend, model
pp512                     1234.50      2.25     50.0%    25.0%  compute    cpu (avx2), 2 threads, m F16
          ms    calls   of time   ceiling  operation
      500.00        3     25.0%     12.5%  product
      250.00        0     12.5%            between operations
tg64                         2.00      0.00      0.0%     0.0%  bandwidth  cuda, L4, n Q8_0
)~");
}

TEST(BenchTables, JsonHasEachFieldOnce) {
  EXPECT_EQ(json::parse(Json(Rows())), json::parse(R"([
      {"test":"pp512","tokens_per_second":1234.5,"stddev":2.25,"ceiling_share":0.5,"bound":"compute","backend":"cpu",
       "device":"","isa":"avx2","threads":2,"model":"m","type":"F16","device_share":0.25,"load_seconds":1.5,
       "profile":[{"operation":"product","calls":3,"seconds":0.5,"time_share":0.25,"ceiling_share":0.125},
                  {"operation":"between operations","calls":0,"seconds":0.25,"time_share":0.125,"ceiling_share":0.0}]},
      {"test":"tg64","tokens_per_second":2.0,"stddev":0.0,"ceiling_share":0.0,"bound":"bandwidth","backend":"cuda",
       "device":"L4","isa":"","threads":0,"model":"n","type":"Q8_0","device_share":0.0,"load_seconds":0.0}])"));
}

TEST(BenchSums, AnOperationsLeastTimeIsThatOfItsBytesOrItsProducts) {
  Profile profile;
  profile.Add("reads", 2.0, {.bytes = 6.0, .int8_operations = 1.0});
  profile.Add("multiplies", 4.0,
              {.bytes = 1.0, .int8_operations = 10.0, .bf16_operations = 40.0, .float_operations = 80.0});
  profile.Add("multiplies", 1.0, {.bytes = 1.0, .int8_operations = 10.0});
  const auto lines = profile.Lines(
      10.0, {.read_bytes = 6.0, .int8_operations = 20.0, .bf16_operations = 40.0, .float_operations = 160.0});
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0].operation, "multiplies");
  EXPECT_EQ(lines[0].calls, 2);
  EXPECT_EQ(lines[0].seconds, 5.0);
  EXPECT_EQ(lines[0].time_share, 0.5);
  EXPECT_EQ(lines[0].ceiling_share, 2.5 / 5.0);
  EXPECT_EQ(lines[1].ceiling_share, 0.5);
  EXPECT_EQ(lines[2].seconds, 3.0);
  EXPECT_EQ(lines[2].time_share, 0.3);
  EXPECT_EQ(lines[2].calls, 0);
  EXPECT_EQ(lines[2].ceiling_share, 0.0);
  profile.Clear();
  EXPECT_EQ(profile.Lines(1.0, {1, 1, 1, 1}).size(), 1u);
}

TEST(BenchSums, TheMeanOfTwoCeilingsIsThatOfEachRate) {
  const Ceilings mean = Mean({1, 2, 3, 4}, {3, 6, 9, 12});
  EXPECT_EQ(mean.read_bytes, 2);
  EXPECT_EQ(mean.int8_operations, 4);
  EXPECT_EQ(mean.bf16_operations, 6);
  EXPECT_EQ(mean.float_operations, 8);
}

// All rates are 1, so a time is a number of bytes or of operations.
TEST(BenchSums, AStepsLeastTimeCountsEachPartOnce) {
  const WorkModel work{.layer_bytes = 1e3, .output_bytes = 1e4, .kv_bytes = 10, .state_bytes = 1};
  const Ceilings one{.read_bytes = 1, .int8_operations = 1e9, .bf16_operations = 1e9, .float_operations = 1e9};
  EXPECT_EQ(LeastTime(work, StepShape{}, one).seconds, 1e3 + 1e4 + 2 * 1 + 10 * 1);
  EXPECT_EQ(LeastTime(work, StepShape{.sequences = 3, .tokens = 2, .position = 5}, one).seconds,
            1e3 + 1e4 + 3 * 2 * 1 + 3 * 10 * (5 + 2));
  const WorkModel equal{.layer_bytes = 2, .layer_operations = 2};
  EXPECT_STREQ(LeastTime(equal, StepShape{}, {1, 1, 1, 1}).name, "bandwidth") << "at a tie";
  const WorkModel products{.layer_operations = 100,
                           .output_operations = 7,
                           .attention_operations = 3,
                           .last_operations = 11,
                           .last_attention_operations = 2};
  const Ceilings fast{.read_bytes = 1e9, .int8_operations = 1, .bf16_operations = 1, .float_operations = 1};
  // 2 sequences of 3 tokens from position 4: 6 rows, 4 of them silent; each sees 4 + 2 positions on average.
  EXPECT_EQ(LeastTime(products, StepShape{.sequences = 2, .tokens = 3, .position = 4}, fast).seconds,
            6 * 100 - 4 * 11 + 2 * 7 + 6 * (6 * 3 - 4 * 2));
}

TEST(BenchSums, ATestIsTheSumOfItsSteps) {
  const WorkModel work{.layer_bytes = 100, .kv_bytes = 1};
  const Ceilings one{1, 1, 1, 1};
  EXPECT_EQ(LeastTime(work, Workload{.prompt = 5, .depth = 10}, 2, one).seconds, 300 + 12 + 14 + 15);
  EXPECT_EQ(LeastTime(work, Workload{.decode = 3, .depth = 10, .batch = 2}, 2, one).seconds, 300 + 2 * (11 + 12 + 13));
  EXPECT_EQ((Workload{.prompt = 5, .decode = 7, .batch = 2}).tokens(), 10);
  EXPECT_EQ((Workload{.decode = 7, .batch = 2}).tokens(), 14);
  EXPECT_EQ((Workload{.decode = 7, .depth = 1, .batch = 2}).name(), "tg7@d1xb2");
}

TEST(BenchSums, MemoryIsThatOfKeysAndValuesOrOfStates) {
  EXPECT_EQ(MemoryFor({.kv_bytes = 10}, 7, 3), 210);
  EXPECT_EQ(MemoryFor({.kv_bytes = 10, .state_bytes = 5}, 7, 3), 2 * 210);
  EXPECT_EQ(MemoryFor({.kv_bytes = 1, .state_bytes = 50}, 7, 3), 2 * 4 * 50 * 3);
}

TEST(JsonLines, LinesAreThoseOfAFileAlsoWhereItIsCompressed) {
  const std::string plain = ::testing::TempDir() + "bench_lines.jsonl", packed = plain + ".gz";
  std::ofstream(plain) << "one\n\ntwo\nthree";
  gzFile file = gzopen(packed.c_str(), "wb");
  gzputs(file, "one\n\ntwo\nthree\n");
  gzclose(file);
  for (const std::string& path : {plain, packed}) {
    const auto lines = ReadLines(path);
    ASSERT_TRUE(lines) << lines.error().message;
    EXPECT_THAT(*lines, ElementsAre("one", "two", "three"));
    std::remove(path.c_str());
  }
  const auto missing = ReadLines(plain);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message, "no file " + plain);
}

TEST(JsonLines, JsonIsWrittenAsPythonWritesIt) {
  EXPECT_EQ(PythonJson(json::parse(R"({"a":[1,2.5,-3.0,true,null,"x\ny"],"b":{},"c":[]})")),
            R"({"a": [1, 2.5, -3.0, true, null, "x\ny"], "b": {}, "c": []})");
}

TEST(MaskBench, EachVerdictIsCounted) {
  const std::string path = ::testing::TempDir() + "bench_masks.jsonl";
  std::ofstream(path)
      << R"({"name":"good","schema":{"type":"integer"},"tests":[{"data":1},{"valid":false,"data":"x"}]})" << '\n'
      << R"({"schema":{"type":"integer"},"tests":[{"valid":false,"data":1}]})" << '\n'
      << R"({"schema":{"type":"integer"},"tests":[{"valid":true,"data":"x"},{"no":1},2]})" << '\n'
      << R"({"name":"odd","schema":{"type":"odd"},"tests":[{"data":1}]})" << '\n';
  const std::string vocabulary = std::string(INFERFLUX_SOURCE_DIR) + "/models/tiny/inferflux-tiny.gguf";
  for (const bool list : {false, true}) {
    const auto table = BenchMasks(vocabulary, path, {.list = list, .cpu_time = list});
    ASSERT_TRUE(table) << table.error().message;
    const std::string line = table->substr(table->rfind('\n', table->size() - 2) + 1);
    const json::value counts = json::parse(line);
    EXPECT_EQ(counts.at("schemas"), 4);
    EXPECT_EQ(counts.at("correct"), 1);
    EXPECT_EQ(counts.at("false_accept"), 1);
    EXPECT_EQ(counts.at("false_reject"), 1);
    EXPECT_EQ(counts.at("unsupported"), 1);
    EXPECT_EQ(counts.at("crashed"), 0);
    EXPECT_THAT(*table, HasSubstr(" tokens; 4 schemas, 1 of them refused; 4 documents\n"));
    EXPECT_THAT(*table, HasSubstr(list ? "CPU us " : "us "));
    EXPECT_EQ(table->starts_with("false accept: schema 2: 1\nfalse reject: schema 3: \"x\"\nunsupported: odd: "), list);
  }
  std::ofstream(path) << "{\"schema\":{}}\n[]\n";
  EXPECT_EQ(BenchMasks(vocabulary, path, {}).error().message, path + ": line 2 is not a JSON object with a schema");
  std::remove(path.c_str());
}

TEST(SyntheticModelTest, ItsTensorsHaveTheShapesOfTheModel) {
  const auto made = SyntheticModel::Make("tiny", "F16");
  ASSERT_TRUE(made) << made.error().message;
  const auto file = formats::GgufFile::Open(made->path());
  ASSERT_TRUE(file) << file.error().message;
  const auto number = [&](const char* key) { return (*file)->metadata().Get<uint32_t>(std::string("llama.") + key); };
  EXPECT_EQ(number("embedding_length"), 256u);
  EXPECT_EQ(number("block_count"), 4u);
  EXPECT_EQ(number("feed_forward_length"), 768u);
  EXPECT_EQ(number("attention.head_count"), 8u);
  EXPECT_EQ(number("attention.head_count_kv"), 4u);
  EXPECT_EQ(number("attention.key_length"), 32u);
  EXPECT_EQ(number("context_length"), 8192u);
  EXPECT_EQ((*file)->tensors().size(), 2u + 4 * 9);
  for (const auto& [name, inputs, outputs] : {std::tuple{"token_embd.weight", 256u, 2048u},
                                              {"output_norm.weight", 256u, 1u},
                                              {"blk.3.attn_q.weight", 256u, 256u},
                                              {"blk.3.attn_k.weight", 256u, 128u},
                                              {"blk.3.attn_output.weight", 256u, 256u},
                                              {"blk.0.ffn_down.weight", 768u, 256u}}) {
    const auto* tensor = (*file)->FindTensor(name);
    ASSERT_NE(tensor, nullptr) << name;
    EXPECT_EQ(tensor->dims[0], inputs) << name;
    EXPECT_EQ(tensor->dims[1], outputs) << name;
  }
  EXPECT_EQ(SyntheticModel::Make("x", "F16").error().message,
            "no shape 'x': there are tiny, qwen2.5-0.5b, llama3.2-1b, llama3.1-8b");
}

}  // namespace
}  // namespace inferflux::apps
