// Breaks each rule of the format separately: each gives one clear error with the rule and the place, and no allocation
// for a false count.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <random>

#include "formats/gguf/gguf_bytes.h"
#include "formats/gguf/gguf_file.h"
#include "support/allocation_meter.h"

namespace inferflux::formats {
namespace {

using ::testing::AllOf;
using testing::GgufBytes;
using ::testing::HasSubstr;
using Type = GgufValueType;

constexpr uint32_t kF32 = 0;
constexpr uint64_t kHuge = uint64_t{1} << 60;

std::string ErrorOf(const GgufBytes& file) {
  const auto parsed = GgufFile::Parse(file.bytes(), "bad.gguf");
  if (parsed) return "";
  EXPECT_THAT(parsed.error().message, ::testing::StartsWith("bad.gguf: "));
  return parsed.error().message;
}

// A file of these tensors, each described by one Tensor() call, and `data_bytes` of data.
GgufBytes WithTensors(uint64_t count, const std::function<void(GgufBytes&)>& describe, size_t data_bytes = 1024) {
  GgufBytes file;
  file.Header(count, 0);
  describe(file);
  return file.PadTo(32).Zeros(data_bytes);
}

TEST(HostileGguf, ForeignFiles) {
  EXPECT_THAT(ErrorOf(GgufBytes().Raw("GGU")), HasSubstr("magic"));
  EXPECT_THAT(ErrorOf(GgufBytes().Raw("PK\x03\x04 not a model at all")), HasSubstr("not a GGUF file"));
  EXPECT_THAT(ErrorOf(GgufBytes().Header(0, 0, 1)), AllOf(HasSubstr("version 1"), HasSubstr("2 and 3")));
  EXPECT_THAT(ErrorOf(GgufBytes().Header(0, 0, 99)), HasSubstr("version 99"));
  EXPECT_THAT(ErrorOf(GgufBytes().Header(0, 0, 0x03000000)), HasSubstr("big-endian"));
}

TEST(HostileGguf, CountsBeyondTheFileCostNoMemory) {
  const ::inferflux::testing::AllocationMeter meter;
  EXPECT_THAT(ErrorOf(GgufBytes().Header(kHuge, 0)), HasSubstr("claims"));
  EXPECT_THAT(ErrorOf(GgufBytes().Header(0, kHuge)), HasSubstr("claims"));
  EXPECT_THAT(ErrorOf(GgufBytes().Header(0, ~uint64_t{0}).Zeros(64)), HasSubstr("claims"));
  for (const Type type : {Type::kUint8, Type::kUint64, Type::kString, Type::kArray}) {
    EXPECT_THAT(ErrorOf(GgufBytes().Header(0, 1).Key("k", Type::kArray).Put(type).Put(kHuge).Zeros(64)),
                AllOf(HasSubstr("'k'"), HasSubstr("claims"), HasSubstr("byte")));
  }
  EXPECT_THAT(ErrorOf(GgufBytes().Header(0, 1).Key("k", Type::kString).Put(kHuge).Zeros(8)), HasSubstr("ends inside"));
  EXPECT_THAT(ErrorOf(GgufBytes().Header(0, 1).Put(kHuge).Zeros(64)), HasSubstr("key of metadata entry 0"));
  EXPECT_THAT(ErrorOf(WithTensors(1, [](GgufBytes& file) { file.Put(kHuge); })), HasSubstr("name of tensor 0"));
  EXPECT_LT(meter.peak(), size_t{1} << 20);
}

TEST(HostileGguf, Metadata) {
  EXPECT_THAT(ErrorOf(GgufBytes().Header(0, 1).Key("k", static_cast<Type>(13)).Zeros(16)),
              AllOf(HasSubstr("value type 13"), HasSubstr("'k'"), HasSubstr("byte 33")));
  EXPECT_THAT(ErrorOf(GgufBytes().Header(0, 1).Key("k", Type::kArray).Put(99u).Put<uint64_t>(1).Zeros(8)),
              HasSubstr("value type 99"));
  EXPECT_THAT(ErrorOf(GgufBytes().Header(0, 1).Key("k", Type::kBool).Put<uint8_t>(2)), HasSubstr("neither 0 nor 1"));
  EXPECT_THAT(ErrorOf(GgufBytes()
                          .Header(0, 1)
                          .Key("k", Type::kArray)
                          .Put(Type::kBool)
                          .Put<uint64_t>(3)
                          .Put<uint8_t>(1)
                          .Put<uint8_t>(0)
                          .Put<uint8_t>(2)),
              AllOf(HasSubstr("neither 0 nor 1"), HasSubstr("at byte 51")));
  EXPECT_THAT(ErrorOf(GgufBytes().Header(0, 1).Key("", Type::kBool).Put<uint8_t>(1).Zeros(8)),
              HasSubstr("0 bytes, not 1"));
  EXPECT_THAT(ErrorOf(GgufBytes().Header(0, 1).Key(std::string(70000, 'k'), Type::kBool).Put<uint8_t>(1)),
              HasSubstr("70000 bytes"));
  EXPECT_THAT(
      ErrorOf(GgufBytes().Header(0, 2).Key("k", Type::kBool).Put<uint8_t>(1).Key("k", Type::kBool).Put<uint8_t>(1)),
      HasSubstr("'k' appears twice"));
}

TEST(HostileGguf, NestedArraysHaveADepth) {
  const auto nested = [](int depth) {
    GgufBytes file;
    file.Header(0, 1).Key("k", Type::kArray);
    for (int i = 1; i < depth; ++i) file.Put(Type::kArray).Put<uint64_t>(1);
    return file.Put(Type::kUint8).Put<uint64_t>(1).Zeros(1);
  };
  EXPECT_EQ(ErrorOf(nested(4)), "");
  EXPECT_THAT(ErrorOf(nested(5)), HasSubstr("more than 4 deep"));
  EXPECT_THAT(ErrorOf(nested(100000)), HasSubstr("more than 4 deep"));
}

TEST(HostileGguf, Alignment) {
  for (const uint32_t alignment : {0u, 1u, 4u, 24u, 1u << 30}) {
    EXPECT_THAT(ErrorOf(GgufBytes().Header(0, 1).Key("general.alignment", Type::kUint32).Put(alignment)),
                HasSubstr(fmt::format("general.alignment is {}", alignment)));
  }
  EXPECT_THAT(ErrorOf(GgufBytes().Header(0, 1).Key("general.alignment", Type::kString).Text("32")),
              HasSubstr("should be uint32"));
  EXPECT_EQ(ErrorOf(GgufBytes().Header(0, 1).Key("general.alignment", Type::kUint32).Put(64u)), "");
}

TEST(HostileGguf, TensorShapesAndTypes) {
  const auto error_of = [](std::vector<uint64_t> dims, uint32_t type) {
    return ErrorOf(WithTensors(1, [&](GgufBytes& file) { file.Tensor("t", dims, type, 0); }));
  };
  EXPECT_EQ(error_of({4, 4}, kF32), "");
  EXPECT_THAT(error_of({}, kF32), AllOf(HasSubstr("'t'"), HasSubstr("0 dimensions")));
  EXPECT_THAT(error_of({1, 1, 1, 1, 1}, kF32), HasSubstr("5 dimensions"));
  EXPECT_THAT(error_of({4, 0}, kF32), HasSubstr("dimension 1 is zero"));
  EXPECT_THAT(error_of({kHuge, kHuge}, kF32), HasSubstr("overflows"));
  EXPECT_THAT(error_of({uint64_t{1} << 62}, kF32), HasSubstr("overflow"));
  EXPECT_THAT(error_of({255}, 12), AllOf(HasSubstr("255"), HasSubstr("Q4_K"), HasSubstr("256")));
  EXPECT_THAT(error_of({4}, 77), AllOf(HasSubstr("type id 77"), HasSubstr("'t'"), HasSubstr("byte 24")));
  EXPECT_THAT(error_of({4}, 4), HasSubstr("left the GGUF format"));
  EXPECT_THAT(ErrorOf(WithTensors(1, [](GgufBytes& file) { file.Tensor("", {4}, kF32, 0); })), HasSubstr("0 bytes"));
  EXPECT_THAT(ErrorOf(WithTensors(1, [](GgufBytes& file) { file.Tensor(std::string(257, 'n'), {4}, kF32, 0); })),
              HasSubstr("257 bytes"));
}

TEST(HostileGguf, TensorPlaces) {
  const auto error_of = [](uint64_t offset, uint64_t elements) {
    return ErrorOf(WithTensors(1, [&](GgufBytes& file) { file.Tensor("t", {elements}, kF32, offset); }));
  };
  EXPECT_EQ(error_of(992, 8), "");
  EXPECT_THAT(error_of(992, 9), AllOf(HasSubstr("'t'"), HasSubstr("past the end"), HasSubstr("truncated")));
  EXPECT_THAT(error_of(1024, 1), HasSubstr("past the end"));
  EXPECT_THAT(error_of(kHuge, 1), HasSubstr("past the end"));
  EXPECT_THAT(error_of(~uint64_t{0} - 31, 8), HasSubstr("past the end"));
  EXPECT_THAT(error_of(16, 1), HasSubstr("not a multiple of the alignment 32"));

  EXPECT_THAT(
      ErrorOf(WithTensors(2, [](GgufBytes& file) { file.Tensor("a", {16}, kF32, 0).Tensor("b", {8}, kF32, 32); })),
      AllOf(HasSubstr("'a'"), HasSubstr("'b'"), HasSubstr("overlap")));
  EXPECT_THAT(
      ErrorOf(WithTensors(2, [](GgufBytes& file) { file.Tensor("a", {8}, kF32, 0).Tensor("a", {8}, kF32, 32); })),
      HasSubstr("'a' appears twice"));
  EXPECT_EQ(ErrorOf(WithTensors(2, [](GgufBytes& file) { file.Tensor("a", {8}, kF32, 64).Tensor("b", {8}, kF32, 0); })),
            "")
      << "order and gaps are free";
}

std::string SoundFile() {
  GgufBytes file;
  file.Header(3, 5)
      .Key("general.architecture", Type::kString)
      .Text("llama")
      .Key("llama.block_count", Type::kUint32)
      .Put(2u)
      .Key("flag", Type::kBool)
      .Put<uint8_t>(1)
      .Key("tokens", Type::kArray)
      .Put(Type::kString)
      .Put<uint64_t>(3)
      .Text("<s>")
      .Text("a")
      .Text("")
      .Key("nested", Type::kArray)
      .Put(Type::kArray)
      .Put<uint64_t>(1)
      .Put(Type::kFloat32)
      .Put<uint64_t>(2)
      .Put(1.0f)
      .Put(2.0f)
      .Tensor("a", {8, 2}, kF32, 0)
      .Tensor("b", {256}, 12, 64)
      .Tensor("c", {32, 1, 2}, 8, 224)
      .PadTo(32)
      .Zeros(292);
  return file.text();
}

// Reads everything in a valid file, so that a sanitizer sees any view outside it.
void ReadAll(const GgufFile& file) {
  unsigned sum = 0;
  for (const GgufTensor& tensor : file.tensors()) {
    for (const std::byte byte : tensor.data) sum += std::to_integer<unsigned>(byte);
  }
  for (const GgufEntry& entry : file.metadata().entries()) {
    (void)file.metadata().Get<std::vector<std::string_view>>(entry.key);
    (void)file.metadata().Get<std::vector<float>>(entry.key);
    (void)file.metadata().Get<uint32_t>(entry.key);
  }
  EXPECT_LT(sum, 1u << 30);
}

TEST(HostileGguf, EveryTruncationIsAnError) {
  const std::string sound = SoundFile();
  ASSERT_TRUE(GgufFile::Parse(std::as_bytes(std::span(sound)))) << "the file to mutate must be sound";
  for (size_t size = 0; size < sound.size(); ++size) {
    const std::vector<char> cut(sound.begin(), sound.begin() + static_cast<ptrdiff_t>(size));
    const auto parsed = GgufFile::Parse(std::as_bytes(std::span(cut)));
    ASSERT_FALSE(parsed) << "cut to " << size << " of " << sound.size() << " bytes";
  }
}

TEST(HostileGguf, TwentyThousandMutationsNeverCrashNorAllocateMuch) {
  const std::string sound = SoundFile();
  std::mt19937_64 random(20261121);
  const ::inferflux::testing::AllocationMeter meter;
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::vector<char> file(sound.begin(), sound.end());
    const uint64_t changes = 1 + random() % 4;
    for (uint64_t i = 0; i < changes; ++i) {
      const size_t at = random() % file.size();
      if (random() % 2 == 0) {
        file[at] = static_cast<char>(random());
      } else {  // a count, length or offset gets a wrong value
        const uint64_t wild = (uint64_t{1} << (random() % 64)) - random() % 3;
        std::memcpy(file.data() + at, &wild, std::min(sizeof(wild), file.size() - at));
      }
    }
    if (random() % 4 == 0) file.resize(random() % file.size());
    const auto parsed = GgufFile::Parse(std::as_bytes(std::span(file)));
    if (!parsed) {
      ASSERT_FALSE(parsed.error().message.empty());
      continue;
    }
    ReadAll(**parsed);
    ++accepted;
  }
  EXPECT_GT(accepted, 100) << "mutations of tensor data are harmless: a parser that refuses all tests nothing";
  EXPECT_LT(meter.peak(), size_t{4} << 20);
}

}  // namespace
}  // namespace inferflux::formats
