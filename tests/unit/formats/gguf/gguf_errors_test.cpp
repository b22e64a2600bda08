// What is said of each file that breaks a rule of GGUF, word for word, and each limit of the format at its edge.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "formats/gguf/gguf_bytes.h"
#include "formats/gguf/gguf_file.h"

namespace inferflux::formats {
namespace {

using testing::GgufBytes;
using Type = GgufValueType;

// Without the name of the file.
std::string WhatIsWrong(const GgufBytes& file) {
  const auto parsed = GgufFile::Parse(file.bytes(), "f.gguf");
  return parsed ? "" : parsed.error().message.substr(8);
}

GgufBytes OneTensor(const std::string& name, const std::vector<uint64_t>& dims, uint32_t type, uint64_t offset,
                    size_t data = 1024) {
  return GgufBytes().Header(1, 0).Tensor(name, dims, type, offset).PadTo(32).Zeros(data);
}

GgufBytes Entry(const std::string& key, Type type) { return GgufBytes().Header(0, 1).Key(key, type); }

TEST(GgufErrors, AreTheseWordForWord) {
  const std::pair<GgufBytes, const char*> cases[] = {
      {GgufBytes().Raw("GGU"), "the file ends inside the magic number: 4 bytes wanted at byte 0, 3 are left"},
      {GgufBytes().Raw("PK\x03\x04 not a model"), "not a GGUF file: it starts with 0x04034b50, not with \"GGUF\""},
      {GgufBytes().Header(0, 0, 1), "GGUF version 1 at byte 4; versions 2 and 3 are read; convert the model again"},
      {GgufBytes().Header(0, 0, 4), "GGUF version 4 at byte 4; versions 2 and 3 are read"},
      {GgufBytes().Header(0, 0, 0x03000000), "a big-endian GGUF file; convert it for a little-endian machine"},
      {GgufBytes().Header(3, 0).Zeros(73),
       "the header claims 3 tensors and 0 metadata entries, more than 73 bytes can hold"},
      {GgufBytes().Header(0, 3).Zeros(41),
       "the header claims 0 tensors and 3 metadata entries, more than 41 bytes can hold"},
      {Entry("k", static_cast<Type>(13)).Zeros(16),
       "value type 13 of the value of metadata key 'k' at byte 33 is unknown"},
      {Entry("k", Type::kBool).Put<uint8_t>(2),
       "the value of metadata key 'k' holds a bool that is neither 0 nor 1 at byte 37"},
      {Entry("k", Type::kArray).Put(Type::kBool).Put<uint64_t>(2).Put<uint8_t>(1).Put<uint8_t>(2),
       "the value of metadata key 'k' holds a bool that is neither 0 nor 1 at byte 50"},
      {Entry("k", Type::kArray).Put(Type::kUint8).Put<uint64_t>(3).Zeros(2),
       "the value of metadata key 'k' claims 3 elements at byte 41, more than the 2 bytes after it can hold"},
      {Entry("k", Type::kArray).Put(Type::kString).Put<uint64_t>(2).Zeros(15),
       "the value of metadata key 'k' claims 2 elements at byte 41, more than the 15 bytes after it can hold"},
      {Entry("k", Type::kArray).Put(Type::kArray).Put<uint64_t>(2).Zeros(23),
       "the value of metadata key 'k' claims 2 elements at byte 41, more than the 23 bytes after it can hold"},
      {Entry("k", Type::kArray).Put(Type::kUint32).Put<uint64_t>(2).Zeros(7),
       "the file ends inside the value of metadata key 'k': 8 bytes wanted at byte 49, 7 are left"},
      {Entry("k", Type::kUint32).Zeros(3),
       "the file ends inside the value of metadata key 'k': 4 bytes wanted at byte 37, 3 are left"},
      {Entry("k", Type::kString).Put<uint64_t>(3).Raw("ab"),
       "the file ends inside the value of metadata key 'k': 3 bytes wanted at byte 45, 2 are left"},
      {Entry("", Type::kBool).Zeros(9), "the key of metadata entry 0 at byte 24 has 0 bytes, not 1 to 65535"},
      {GgufBytes().Header(0, 2).Key("k", Type::kBool).Zeros(1).Key("k", Type::kBool).Zeros(1),
       "metadata key 'k' appears twice, again at byte 47"},
      {Entry("general.alignment", Type::kUint32).Put(4u),
       "general.alignment is 4, not a power of two from 8 to 1048576"},
      {Entry("general.alignment", Type::kUint32).Put(48u),
       "general.alignment is 48, not a power of two from 8 to 1048576"},
      {Entry("general.alignment", Type::kUint32).Put(1u << 21),
       "general.alignment is 2097152, not a power of two from 8 to 1048576"},
      {OneTensor("t", {}, 0, 0), "tensor 't' at byte 24 has 0 dimensions, not 1 to 4"},
      {OneTensor("t", {1, 1, 1, 1, 1}, 0, 0), "tensor 't' at byte 24 has 5 dimensions, not 1 to 4"},
      {OneTensor("t", {4, 0}, 0, 0), "tensor 't' at byte 24: dimension 1 is zero"},
      {OneTensor("t", {uint64_t{1} << 62}, 0, 0),
       "tensor 't' at byte 24: a F32 row of 4611686018427387904 elements overflows 64 bits"},
      {OneTensor("t", {255}, 12, 0),
       "tensor 't' at byte 24: a row of 255 elements is not a whole number of Q4_K blocks of 256"},
      {OneTensor("t", {4}, 77, 0), "tensor 't' at byte 24: tensor type id 77 is unknown"},
      {OneTensor("t", {4}, 4, 0),
       "tensor 't' at byte 24: tensor type id 4 has left the GGUF format; convert the model again"},
      {OneTensor("t", {8}, 0, 16), "tensor 't' at byte 24: data offset 16 is not a multiple of the alignment 32"},
      {OneTensor("t", {9}, 0, 992),
       "tensor 't' at byte 24: 36 bytes of data at offset 992 reach past the end of the file, whose data section is "
       "1024 bytes from byte 64; the file is truncated or corrupt"},
      {OneTensor("t", {1}, 0, 1024),
       "tensor 't' at byte 24: 4 bytes of data at offset 1024 reach past the end of the file, whose data section is "
       "1024 bytes from byte 64; the file is truncated or corrupt"},
      {OneTensor("", {1}, 0, 0), "the name of tensor 0 at byte 24 has 0 bytes, not 1 to 256"},
      {GgufBytes().Header(2, 0).Tensor("a", {9}, 0, 0).Tensor("b", {8}, 0, 32).PadTo(32).Zeros(1024),
       "tensors 'a' and 'b' overlap: the first ends at data offset 36, the second starts at 32"},
      {GgufBytes().Header(2, 0).Tensor("a", {8}, 0, 0).Tensor("a", {8}, 0, 32).PadTo(32).Zeros(1024),
       "tensor 'a' appears twice"},
      {GgufBytes().Header(1, 0).Tensor("a", {8}, 0, 0), "the file ends before its data section at byte 64"},
  };
  for (const auto& [file, message] : cases) EXPECT_EQ(WhatIsWrong(file), message);
}

TEST(GgufLimits, AreReachedAndNotPassed) {
  const auto key = [](size_t bytes) { return Entry(std::string(bytes, 'k'), Type::kBool).Zeros(1); };
  EXPECT_EQ(WhatIsWrong(key(1)), "");
  EXPECT_EQ(WhatIsWrong(key(65535)), "");
  EXPECT_EQ(WhatIsWrong(key(65536)), "the key of metadata entry 0 at byte 24 has 65536 bytes, not 1 to 65535");
  EXPECT_EQ(WhatIsWrong(OneTensor(std::string(256, 'n'), {1}, 0, 0)), "");
  EXPECT_EQ(WhatIsWrong(OneTensor(std::string(257, 'n'), {1}, 0, 0)),
            "the name of tensor 0 at byte 24 has 257 bytes, not 1 to 256");
  EXPECT_EQ(WhatIsWrong(OneTensor("t", {1, 1, 1, 1}, 0, 0)), "");
  for (const uint32_t alignment : {8u, 16u, 32u, 64u, 1u << 20}) {
    const auto at = [&](uint64_t offset) {
      return WhatIsWrong(GgufBytes()
                             .Header(1, 1)
                             .Key("general.alignment", Type::kUint32)
                             .Put(alignment)
                             .Tensor("t", {1}, 0, offset)
                             .PadTo(alignment)
                             .Zeros(alignment + 4));
    };
    EXPECT_EQ(at(0), "") << alignment;
    EXPECT_EQ(at(alignment), "") << alignment;
    EXPECT_EQ(at(alignment / 2),
              fmt::format("tensor 't' at byte 57: data offset {} is not a multiple of the alignment {}", alignment / 2,
                          alignment));
  }
  EXPECT_EQ(WhatIsWrong(Entry("k", Type::kArray).Put(Type::kUint8).Put<uint64_t>(3).Zeros(3)), "");
  EXPECT_EQ(WhatIsWrong(Entry("k", Type::kArray).Put(Type::kString).Put<uint64_t>(2).Zeros(16)), "");
  EXPECT_EQ(WhatIsWrong(Entry("k", Type::kArray).Put(Type::kUint8).Put<uint64_t>(0)), "");
  EXPECT_EQ(WhatIsWrong(Entry("k", Type::kBool).Zeros(1)), "") << "the least entry";
  EXPECT_EQ(WhatIsWrong(GgufBytes().Header(1, 0).Tensor("t", {32}, 8, 0).PadTo(32).Zeros(34)), "");
  EXPECT_NE(WhatIsWrong(GgufBytes().Header(1, 0).Tensor("t", {32}, 8, 0).PadTo(32).Zeros(33)), "");
}

class GgufSplits : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) / "gguf_splits";
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static GgufBytes Part(uint32_t number, uint32_t count, const std::string& tensor, uint64_t total = 2) {
    return GgufBytes()
        .Header(1, 3)
        .Key("split.no", Type::kUint32)
        .Put(number)
        .Key("split.count", Type::kUint32)
        .Put(count)
        .Key("split.tensors.count", Type::kUint64)
        .Put(total)
        .Tensor(tensor, {8}, 0, 0)
        .PadTo(32)
        .Zeros(32);
  }
  void Write(const std::string& name, const GgufBytes& file) {
    std::ofstream(folder_ / name, std::ios::binary) << file.text();
  }
  // What is wrong with the file of this name, without the folder's name.
  std::string Opened(const std::string& name) {
    const auto file = GgufFile::Open((folder_ / name).string());
    if (file) return "";
    std::string message = file.error().message;
    for (const std::string path = folder_.string() + "/"; message.find(path) != std::string::npos;) {
      message.erase(message.find(path), path.size());
    }
    return message;
  }

  std::filesystem::path folder_;
};

TEST_F(GgufSplits, PartsMakeOneModel) {
  Write("m-00001-of-00002.gguf", Part(0, 2, "a"));
  Write("m-00002-of-00002.gguf", Part(1, 2, "b"));
  EXPECT_EQ(Opened("m-00001-of-00002.gguf"), "");
  const auto file = *GgufFile::Open((folder_ / "m-00001-of-00002.gguf").string());
  ASSERT_EQ(file->tensors().size(), 2u);
  EXPECT_EQ(file->tensors()[0].name, "a");
  EXPECT_EQ((*file->Tensor("b"))->data.size(), 32u);
  EXPECT_EQ(file->Tensor("c").error().message,
            (folder_ / "m-00001-of-00002.gguf").string() + ": tensor 'c' is missing");
}

TEST_F(GgufSplits, WhatIsWrongWithOneIsSaid) {
  struct Case {
    std::string first, second;
    GgufBytes one, two;
    const char* message;
  };
  const std::string first = "m-00001-of-00002.gguf", second = "m-00002-of-00002.gguf";
  const Case cases[] = {
      {first, second, Part(1, 2, "a"), Part(1, 2, "b"),
       "m-00001-of-00002.gguf: part 2 of 2 of a split model must be named '...-00002-of-00002.gguf'"},
      {first, second, Part(0, 2, "a"), Part(0, 2, "b"),
       "m-00002-of-00002.gguf: its metadata does not say that it is part 2 of 2"},
      {first, second, Part(0, 2, "a"), Part(1, 3, "b"),
       "m-00002-of-00002.gguf: its metadata does not say that it is part 2 of 2"},
      {first, second, Part(0, 2, "a"), Part(1, 2, "a"), "m-00002-of-00002.gguf: tensor 'a' appears twice"},
      {first, second, Part(0, 2, "a", 3), Part(1, 2, "b"),
       "m-00001-of-00002.gguf: split.tensors.count is 3, but its 2 parts hold 2 tensors"},
      {first, second, Part(2, 2, "a"), Part(1, 2, "b"),
       "m-00001-of-00002.gguf: it says that it is part 2 of 2 (from 0; at most 99999 parts)"},
      {first, second, Part(0, 3, "a"), Part(1, 2, "b"),
       "m-00001-of-00002.gguf: part 1 of 3 of a split model must be named '...-00001-of-00003.gguf'"},
      {first, second, Part(0, 99999, "a"), Part(1, 2, "b"),
       "m-00001-of-00002.gguf: part 1 of 99999 of a split model must be named '...-00001-of-99999.gguf'"},
      {first, second, Part(0, 100000, "a"), Part(1, 2, "b"),
       "m-00001-of-00002.gguf: it says that it is part 0 of 100000 (from 0; at most 99999 parts)"},
      {first, "other.gguf", Part(0, 2, "a"), Part(1, 2, "b"),
       "m-00001-of-00002.gguf: part 2 of 2: cannot open m-00002-of-00002.gguf: No such file or directory"},
      {first, second, Part(0, 2, "a"), GgufBytes().Header(0, 0),
       "m-00002-of-00002.gguf: its metadata does not say that it is part 2 of 2"},
      {first, second, Part(0, 2, "a"), GgufBytes().Raw("GGU"),
       "m-00002-of-00002.gguf: the file ends inside the magic number: 4 bytes wanted at byte 0, 3 are left"},
      {first, second, Part(0, 1, "a", 1), Part(1, 2, "b"), ""},
  };
  for (const Case& each : cases) {
    SetUp();
    Write(each.first, each.one);
    Write(each.second, each.two);
    EXPECT_EQ(Opened(each.first), each.message);
  }
  Write("m-00002-of-00002.gguf", Part(1, 2, "b"));
  EXPECT_EQ(
      Opened("m-00002-of-00002.gguf"),
      "m-00002-of-00002.gguf: this is part 2 of 2 of a split model; open its first part, 'm-00001-of-00002.gguf'");
}

}  // namespace
}  // namespace inferflux::formats
