// Each type of metadata value asked for as each type of C++; what the writer makes of a stream that fails; edges of the
// header.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <streambuf>
#include <string>
#include <vector>

#include "formats/gguf/gguf_bytes.h"
#include "formats/gguf/gguf_file.h"
#include "formats/gguf/gguf_writer.h"

namespace inferflux::formats {
namespace {

using testing::GgufBytes;
using Type = GgufValueType;

// The value as T; or what is wrong, without the file's and the key's name.
template <class T>
std::string Asked(const GgufMetadata& metadata, std::string_view key) {
  const auto value = metadata.Get<T>(key);
  if (value) return fmt::format("{}", *value);
  std::string message = value.error().message;
  const std::string fits = fmt::format("m: the value of metadata key '{}' does not fit in ", key);
  const std::string should = fmt::format("m: metadata key '{}' should be ", key);
  if (message.starts_with(fits)) return ">" + message.substr(fits.size());
  if (message.starts_with(should)) return "!" + message.substr(should.size());
  return message;
}

std::string AskedAsEach(const GgufMetadata& metadata, std::string_view key) {
  return fmt::format(
      "{}", fmt::join({Asked<bool>(metadata, key), Asked<uint8_t>(metadata, key), Asked<int8_t>(metadata, key),
                       Asked<uint16_t>(metadata, key), Asked<int16_t>(metadata, key), Asked<uint32_t>(metadata, key),
                       Asked<int32_t>(metadata, key), Asked<uint64_t>(metadata, key), Asked<int64_t>(metadata, key),
                       Asked<float>(metadata, key), Asked<double>(metadata, key), Asked<std::string>(metadata, key)},
                      "; "));
}

TEST(GgufValues, AreEachTypeThatHoldsThem) {
  GgufMetadataBuilder builder;
  builder.Set<bool>("bool", true);
  builder.Set<uint8_t>("u8", 200);
  builder.Set<int8_t>("i8", -100);
  builder.Set<uint16_t>("u16", 60000);
  builder.Set<int16_t>("i16", -30000);
  builder.Set<uint32_t>("u32", 4000000000);
  builder.Set<int32_t>("i32", -2000000000);
  builder.Set<uint64_t>("u64", 18000000000000000000u);
  builder.Set<int64_t>("i64", -9000000000000000000);
  builder.Set<float>("f32", 1.5f);
  builder.Set<double>("f64", 2.25);
  builder.Set("text", "word");
  const GgufMetadata m = builder.Build("m");
  const auto wrong = [](const std::string& is) {
    std::string out;
    for (const char* name : {"bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64",
                             "float32", "float64", "string"})
      out += fmt::format("{}!{}, but is {}", out.empty() ? "" : "; ", name, is);
    return out;
  };
  // The refusals of `is`, with other answers from the type at `first` on.
  const auto expected = [&](const std::string& is, size_t first, const std::vector<std::string>& answers) {
    std::vector<std::string> parts;
    std::stringstream all(wrong(is));
    for (std::string part; std::getline(all, part, ';');)
      parts.push_back(part.starts_with(" ") ? part.substr(1) : part);
    std::copy(answers.begin(), answers.end(), parts.begin() + static_cast<ptrdiff_t>(first));
    return fmt::format("{}", fmt::join(parts, "; "));
  };
  EXPECT_EQ(AskedAsEach(m, "bool"), expected("bool", 0, {"true"}));
  EXPECT_EQ(AskedAsEach(m, "u8"), expected("uint8", 1, {"200", ">int8", "200", "200", "200", "200", "200", "200"}));
  EXPECT_EQ(AskedAsEach(m, "i8"),
            expected("int8", 1, {">uint8", "-100", ">uint16", "-100", ">uint32", "-100", ">uint64", "-100"}));
  EXPECT_EQ(AskedAsEach(m, "u16"),
            expected("uint16", 1, {">uint8", ">int8", "60000", ">int16", "60000", "60000", "60000", "60000"}));
  EXPECT_EQ(AskedAsEach(m, "i16"),
            expected("int16", 1, {">uint8", ">int8", ">uint16", "-30000", ">uint32", "-30000", ">uint64", "-30000"}));
  EXPECT_EQ(AskedAsEach(m, "u32"),
            expected("uint32", 1,
                     {">uint8", ">int8", ">uint16", ">int16", "4000000000", ">int32", "4000000000", "4000000000"}));
  EXPECT_EQ(AskedAsEach(m, "i32"),
            expected("int32", 1,
                     {">uint8", ">int8", ">uint16", ">int16", ">uint32", "-2000000000", ">uint64", "-2000000000"}));
  EXPECT_EQ(AskedAsEach(m, "u64"),
            expected("uint64", 1,
                     {">uint8", ">int8", ">uint16", ">int16", ">uint32", ">int32", "18000000000000000000", ">int64"}));
  EXPECT_EQ(AskedAsEach(m, "i64"),
            expected("int64", 1,
                     {">uint8", ">int8", ">uint16", ">int16", ">uint32", ">int32", ">uint64", "-9000000000000000000"}));
  EXPECT_EQ(AskedAsEach(m, "f32"), expected("float32", 9, {"1.5", "1.5"}));
  EXPECT_EQ(AskedAsEach(m, "f64"), expected("float64", 9, {"2.25", "2.25"}));
  EXPECT_EQ(AskedAsEach(m, "text"), expected("string", 11, {"word"}));
}

TEST(GgufValues, ListsAreOfEachTypeThatHoldsAllOfThem) {
  GgufMetadataBuilder builder;
  const std::vector<int32_t> some{3, -1, 300};
  const std::vector<std::string_view> words{"a", "", "bc"};
  const std::vector<uint8_t> flags{0, 1};
  builder.SetArray("some", std::span<const int32_t>(some));
  builder.SetArray("words", std::span<const std::string_view>(words));
  builder.SetArray("bytes", std::span<const uint8_t>(flags));
  builder.Set<uint8_t>("one", 1);
  const GgufMetadata m = builder.Build("m");
  EXPECT_EQ(*m.Get<std::vector<int64_t>>("some"), (std::vector<int64_t>{3, -1, 300}));
  EXPECT_EQ(*m.Get<std::vector<int16_t>>("some"), (std::vector<int16_t>{3, -1, 300}));
  EXPECT_EQ(m.Get<std::vector<uint32_t>>("some").error().message,
            "m: element 1 of metadata key 'some' does not fit in uint32");
  EXPECT_EQ(m.Get<std::vector<int8_t>>("some").error().message,
            "m: element 2 of metadata key 'some' does not fit in int8");
  EXPECT_EQ(m.Get<std::vector<float>>("some").error().message,
            "m: metadata key 'some' should be array of float32, but is array of int32");
  EXPECT_EQ(m.Get<std::vector<bool>>("bytes").error().message,
            "m: metadata key 'bytes' should be array of bool, but is array of uint8");
  EXPECT_EQ(m.Get<std::vector<std::string_view>>("some").error().message,
            "m: metadata key 'some' should be array of string, but is array of int32");
  EXPECT_EQ(m.Get<std::vector<int32_t>>("one").error().message,
            "m: metadata key 'one' should be array of int32, but is uint8");
  EXPECT_EQ(m.Get<int32_t>("some").error().message, "m: metadata key 'some' should be int32, but is array of int32");
  EXPECT_EQ(m.Get<std::string_view>("words").error().message,
            "m: metadata key 'words' should be string, but is array of string");
  EXPECT_EQ(*m.Get<std::vector<std::string_view>>("words"), words);
  EXPECT_EQ(m.Get<bool>("none").error().message, "m: metadata key 'none' is missing");

  GgufMetadataBuilder copies;
  for (const GgufEntry& entry : m.entries()) copies.Copy(entry);
  copies.Remove("one");
  const GgufMetadata copied = copies.Build("c");
  EXPECT_EQ(copied.entries().size(), 3u);
  EXPECT_EQ(*copied.Get<std::vector<int32_t>>("some"), some);
  EXPECT_EQ(*copied.Get<std::vector<std::string_view>>("words"), words);
  EXPECT_EQ(copied.Find("words")->count, 3u);
}

TEST(GgufValues, AnErrorNamesThePlaceInTheFile) {
  const GgufBytes file = GgufBytes().Header(0, 1).Key("k", Type::kUint16).Put<uint16_t>(300);
  const auto parsed = *GgufFile::Parse(file.bytes(), "f");
  EXPECT_EQ(parsed->metadata().Get<std::string>("k").error().message,
            "f: metadata key 'k' (byte 33) should be string, but is uint16");
  EXPECT_EQ(parsed->metadata().Get<uint8_t>("k").error().message,
            "f: the value of metadata key 'k' (byte 33) does not fit in uint8");
  EXPECT_EQ(parsed->metadata().Find("k")->encoded.size(), 6u);
  EXPECT_EQ(parsed->metadata().Find("k")->payload.size(), 2u);
}

TEST(GgufHeader, VersionsTwoAndThreeAreRead) {
  const auto said = [](uint32_t version) {
    const GgufBytes file = GgufBytes().Header(0, 0, version);
    const auto parsed = GgufFile::Parse(file.bytes(), "f");
    return parsed ? fmt::format("{}", (*parsed)->version()) : parsed.error().message;
  };
  const std::string other_order = "f: a big-endian GGUF file; convert it for a little-endian machine";
  EXPECT_EQ(said(0), "f: GGUF version 0 at byte 4; versions 2 and 3 are read");
  EXPECT_EQ(said(2), "2");
  EXPECT_EQ(said(3), "3");
  EXPECT_EQ(said(0x01000000), other_order);
  EXPECT_EQ(said(0x02000000), other_order);
  EXPECT_EQ(said(0x04000000), "f: GGUF version 67108864 at byte 4; versions 2 and 3 are read");
}

TEST(GgufHeader, CountsAreBoundByTheBytesThatFollow) {
  const auto said = [](const GgufBytes& file) {
    const auto parsed = GgufFile::Parse(file.bytes(), "f");
    return parsed ? "" : parsed.error().message;
  };
  EXPECT_EQ(said(GgufBytes().Header(3, 0).Zeros(98)),
            "f: the header claims 3 tensors and 0 metadata entries, more than 98 bytes can hold");
  EXPECT_EQ(
      said(GgufBytes().Header(1, 0).Tensor("t", {1}, 0, 0).PadTo(32)),
      "f: tensor 't' at byte 24: 4 bytes of data at offset 0 reach past the end of the file, whose data section is "
      "0 bytes from byte 64; the file is truncated or corrupt");
  EXPECT_EQ(said(GgufBytes().Header(2, 0).Tensor("a", {8}, 0, 32).Tensor("b", {9}, 0, 0).PadTo(32).Zeros(64)),
            "f: tensors 'b' and 'a' overlap: the first ends at data offset 36, the second starts at 32");
  EXPECT_EQ(said(GgufBytes()
                     .Header(0, 1)
                     .Key("k", Type::kArray)
                     .Put(Type::kArray)
                     .Put<uint64_t>(2)
                     .Put(Type::kUint8)
                     .Put<uint64_t>(1)
                     .Put<uint8_t>(9)
                     .Put(Type::kString)
                     .Put<uint64_t>(1)
                     .Text("s")),
            "");
}

TEST(GgufSplitData, EachPartsDataStayThere) {
  const auto folder = std::filesystem::path(::testing::TempDir()) / fmt::format("gguf_split_data_{}", ::getpid());
  std::filesystem::create_directories(folder);
  for (uint16_t part = 0; part < 2; ++part) {
    std::ofstream out(folder / fmt::format("m-{:05}-of-00002.gguf", part + 1), std::ios::binary);
    GgufWriter writer(out);
    writer.Set<uint16_t>("split.no", part);
    writer.Set<uint16_t>("split.count", 2);
    const std::vector<uint64_t> dims{3};
    ASSERT_TRUE(writer.AddTensor(part == 0 ? "a" : "b", TensorType::kI8, dims));
    ASSERT_TRUE(writer.WriteHeader());
    ASSERT_TRUE(writer.WriteData(std::vector<std::byte>(3, static_cast<std::byte>(part + 5))));
    ASSERT_TRUE(writer.Finish());
  }
  const auto file = GgufFile::Open((folder / "m-00001-of-00002.gguf").string());
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ((*file)->FindTensor("a")->data[2], std::byte{5});
  EXPECT_EQ((*file)->FindTensor("b")->data[2], std::byte{6});
  std::filesystem::remove_all(folder);
}

// The whole file, as numbers and letters.
TEST(GgufWriterBytes, AreThoseOfTheFormat) {
  std::ostringstream out;
  GgufWriter writer(out, 8);
  writer.Set<uint8_t>("k", 7);
  const std::vector<uint64_t> first{3, 2}, second{2};
  ASSERT_TRUE(writer.AddTensor("t", TensorType::kI8, first));
  ASSERT_TRUE(writer.AddTensor("u", TensorType::kF16, second));
  EXPECT_EQ(writer.AddTensor("t", TensorType::kI8, second).error().message, "tensor 't' was added before");
  const std::vector<uint64_t> none, five(5, 1), huge{uint64_t{1} << 62};
  EXPECT_EQ(writer.AddTensor("v", TensorType::kI8, five).error().message, "tensor 'v' has 5 dimensions, not 1 to 4");
  EXPECT_EQ(writer.AddTensor("v", TensorType::kI8, none).error().message,
            "tensor 'v': a tensor needs at least one dimension");
  for (const char* name : {"v", "w", "x"}) EXPECT_TRUE(writer.AddTensor(name, TensorType::kI8, huge));
  EXPECT_EQ(writer.AddTensor("y", TensorType::kI8, huge).error().message,
            "tensor 'y': the file would overflow 64 bits");

  std::ostringstream small;
  GgufWriter of_two(small, 8);
  of_two.Set<uint8_t>("k", 7);
  ASSERT_TRUE(of_two.AddTensor("t", TensorType::kI8, first));
  ASSERT_TRUE(of_two.AddTensor("u", TensorType::kF16, second));
  ASSERT_TRUE(of_two.WriteHeader());
  EXPECT_EQ(of_two.Finish().error().message, "tensor 't' has 0 of its 6 bytes");
  ASSERT_TRUE(of_two.WriteData(std::vector<std::byte>(8, std::byte{9})));
  EXPECT_EQ(of_two.Finish().error().message, "tensor 'u' has 2 of its 4 bytes");
  EXPECT_EQ(of_two.WriteData(std::vector<std::byte>(5, std::byte{8})).error().message,
            "3 bytes more than the tensors hold");
  ASSERT_TRUE(of_two.Finish());
  const GgufBytes expected = GgufBytes()
                                 .Header(2, 2)
                                 .Key("general.alignment", Type::kUint32)
                                 .Put(8u)
                                 .Key("k", Type::kUint8)
                                 .Put<uint8_t>(7)
                                 .Tensor("t", {3, 2}, 24, 0)
                                 .Tensor("u", {2}, 1, 8)
                                 .PadTo(8)
                                 .Raw("\t\t\t\t\t\t")
                                 .PadTo(8)
                                 .Raw("\t\t\b\b")
                                 .PadTo(8);
  EXPECT_EQ(small.str(), expected.text());
}

// Takes `room` bytes.
class FullDisk : public std::streambuf {
 public:
  explicit FullDisk(std::streamsize room) : room_(room) {}

 protected:
  std::streamsize xsputn(const char*, std::streamsize count) override {
    const std::streamsize taken = std::min(count, room_);
    room_ -= taken;
    return taken;
  }
  int overflow(int c) override { return room_-- > 0 ? c : traits_type::eof(); }
  int sync() override { return room_ > 0 ? 0 : -1; }

 private:
  std::streamsize room_;
};

TEST(GgufWriterBytes, AFullDiskIsTold) {
  const auto said = [](std::streamsize room) -> std::string {
    FullDisk disk(room);
    std::ostream out(&disk);
    GgufWriter writer(out);
    const std::vector<uint64_t> dims{32};
    EXPECT_TRUE(writer.AddTensor("t", TensorType::kI8, dims));
    if (auto written = writer.WriteHeader(); !written) return written.error().message;
    if (auto written = writer.WriteData(std::vector<std::byte>(32)); !written) return written.error().message;
    const auto finished = writer.Finish();
    return finished ? "" : finished.error().message;
  };
  EXPECT_EQ(said(10), "writing the GGUF header failed: is the disk full?");
  EXPECT_EQ(said(63), "writing the GGUF header failed: is the disk full?");
  EXPECT_EQ(said(64), "writing tensor 't' failed: is the disk full?");
  EXPECT_EQ(said(96), "writing the GGUF file failed: is the disk full?");
  EXPECT_EQ(said(97), "");
}

}  // namespace
}  // namespace inferflux::formats
