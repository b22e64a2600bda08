// Safetensors files at the edges of what is read, and what is said of each, word for word.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "formats/safetensors/safetensors_file.h"
#include "formats/safetensors/safetensors_model.h"

namespace inferflux::formats {
namespace {

std::string Bytes(const std::string& header, size_t data, uint64_t claimed) {
  std::string file(sizeof claimed, '\0');
  std::memcpy(file.data(), &claimed, sizeof claimed);
  return file + header + std::string(data, '\x01');
}

std::string Wrong(const std::string& file) {
  const auto parsed = SafetensorsFile::Parse(std::as_bytes(std::span(file)), "s");
  return parsed ? "" : parsed.error().message;
}

std::string OfHeader(const std::string& header, size_t data) { return Wrong(Bytes(header, data, header.size())); }

std::string OneTensor(const std::string& shape, const std::string& offsets, size_t data, const char* dtype = "U8") {
  return OfHeader(fmt::format(R"({{"t":{{"dtype":"{}","shape":{},"data_offsets":{}}}}})", dtype, shape, offsets), data);
}

TEST(SafetensorsLimits, AHeaderIsInTheFile) {
  const std::string not_one =
      "s: not a safetensors file, or truncated: it claims a header of {} bytes; {} follow, and "
      "at most 100000000 are read";
  EXPECT_EQ(Wrong(Bytes("{}", 0, 2)), "");
  EXPECT_EQ(Wrong(Bytes("{}", 0, 3)), fmt::format(fmt::runtime(not_one), 3, 2));
  EXPECT_EQ(Wrong(Bytes("{}", 0, 100000001)), fmt::format(fmt::runtime(not_one), 100000001, 2));
  EXPECT_EQ(Wrong("1234567"), "s: the file ends inside the header's length: 8 bytes wanted at byte 0, 7 are left");
}

TEST(SafetensorsLimits, ATensorHasAtMostSixteenDimensions) {
  const auto shape = [](int dims) {
    std::string out = "[1";
    for (int i = 1; i < dims; ++i) out += ",1";
    return out + "]";
  };
  EXPECT_EQ(OneTensor(shape(16), "[0,1]", 1), "");
  EXPECT_EQ(OneTensor(shape(17), "[0,1]", 1), "s: tensor 't': 17 dimensions; at most 16 are read");
  EXPECT_EQ(OneTensor("[]", "[0,1]", 1), "") << "a single number";
}

TEST(SafetensorsLimits, DataAreWhereTheHeaderSays) {
  const std::string begin_end = "s: tensor 't': data_offsets should be [begin, end]";
  EXPECT_EQ(OneTensor("[0]", "[0,0]", 0), "");
  EXPECT_EQ(OneTensor("[0,9999999999999999999]", "[0,0]", 0), "");
  EXPECT_EQ(OneTensor("[1]", "[1,0]", 1), begin_end);
  EXPECT_EQ(OneTensor("[1]", "[0]", 1), begin_end);
  EXPECT_EQ(OneTensor("[1]", "[0,1,1]", 1), begin_end);
  EXPECT_EQ(OneTensor("[2]", "[0,2]", 1),
            "s: tensor 't': its data ends at 2, but the file holds 1 bytes of data; it is truncated or corrupt");
  EXPECT_EQ(OneTensor("[2,3]", "[0,4]", 4, "I16"),
            "s: tensor 't': data_offsets span 4 bytes, but I16 of shape [2, 3] need 12");
  EXPECT_EQ(OneTensor("[4294967296,4294967296]", "[0,4]", 4),
            "s: tensor 't': data_offsets span 4 bytes, but U8 of shape [4294967296, 4294967296] need more than 64 bits "
            "count");
  EXPECT_EQ(OneTensor("[1]", "[0,1]", 1, "F7"), "s: tensor 't': dtype 'F7' is unknown");
}

std::string TwoTensors(const std::string& first, const std::string& second, size_t data) {
  const auto tensor = [](const char* name, const std::string& offsets, int size) {
    return fmt::format(R"("{}":{{"dtype":"U8","shape":[{}],"data_offsets":{}}})", name, size, offsets);
  };
  const auto size = [](const std::string& offsets) { return offsets[3] - offsets[1]; };
  return OfHeader("{" + tensor("a", first, size(first)) + "," + tensor("b", second, size(second)) + "}", data);
}

TEST(SafetensorsLimits, EachByteBelongsToOneTensor) {
  EXPECT_EQ(TwoTensors("[0,2]", "[2,5]", 5), "");
  EXPECT_EQ(TwoTensors("[2,5]", "[0,2]", 5), "");
  EXPECT_EQ(TwoTensors("[2,2]", "[2,5]", 5),
            "s: tensor 'a' leaves a gap after the header: it starts at data offset 2, not at 0");
  EXPECT_EQ(TwoTensors("[0,2]", "[2,2]", 2), "");
  EXPECT_EQ(TwoTensors("[0,2]", "[0,0]", 2), "") << "an empty one may begin with another";
  EXPECT_EQ(TwoTensors("[0,2]", "[1,5]", 5), "s: tensor 'b' overlaps a: it starts at data offset 1, not at 2");
  EXPECT_EQ(TwoTensors("[0,2]", "[3,5]", 5),
            "s: tensor 'b' leaves a gap after a: it starts at data offset 3, not at 2");
  EXPECT_EQ(TwoTensors("[0,2]", "[2,5]", 9), "s: the last 4 bytes belong to no tensor");
}

TEST(SafetensorsLimits, MetadataAreTexts) {
  const std::string header =
      R"({"__metadata__":{"a":"x","b":"y"},"t":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})";
  const std::string file = Bytes(header, 1, header.size());
  const auto parsed = SafetensorsFile::Parse(std::as_bytes(std::span(file)), "s");
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ((*parsed)->metadata().size(), 2u);
  EXPECT_EQ((*parsed)->metadata().at("b"), "y");
  EXPECT_EQ((*parsed)->tensors().size(), 1u);
  EXPECT_EQ((*parsed)->FindTensor("__metadata__"), nullptr);
  EXPECT_EQ(OfHeader(R"({"__metadata__":{"a":1}})", 0), "s: __metadata__.a should be a string, but is a number");
  EXPECT_EQ(OfHeader(R"({"__metadata__":1})", 0), "s: __metadata__ should be an object, but is a number");
}

TEST(SafetensorsLimits, AnIndexNamesFilesBesideIt) {
  const auto folder = std::filesystem::path(::testing::TempDir()) / fmt::format("safetensors_limits_{}", ::getpid());
  std::filesystem::create_directories(folder);
  const std::string index = (folder / "model.safetensors.index.json").string();
  const auto said = [&](const std::string& file) {
    std::ofstream(index) << R"({"weight_map":{"t":")" + file + R"("}})";
    const auto model = SafetensorsModel::Open(folder.string());
    return model ? "" : model.error().message;
  };
  const auto beside = [&](const std::string& file) {
    return index + ": weight_map.t should name a file beside it, but is '" + file + "'";
  };
  for (const char* file : {"", "a/b", "/a", "../a", "a/"}) EXPECT_EQ(said(file), beside(file));
  EXPECT_NE(said(R"(a\u0000b)").find("should name a file beside it"), std::string::npos);
  EXPECT_EQ(said("none"), index + ": cannot open " + (folder / "none").string() + ": No such file or directory");
  const std::string header = R"({"t":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})";
  std::ofstream(folder / "one", std::ios::binary) << Bytes(header, 1, header.size());
  EXPECT_EQ(said("one"), "");
  std::ofstream(index) << R"({"weight_map":{"x":"one"}})";
  EXPECT_EQ(SafetensorsModel::Open(folder.string()).error().message,
            index + ": it says that tensor 'x' is in one, which lacks it");
  std::filesystem::remove(index);
  EXPECT_EQ(SafetensorsModel::Open(folder.string()).error().code, ErrorCode::kNotFound);
  std::filesystem::rename(folder / "one", folder / "model.safetensors");
  const auto model = SafetensorsModel::Open(folder.string());
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ((*model->Tensor("t"))->data[0], std::byte{1});
  EXPECT_EQ(model->Tensor("u").error().message, folder.string() + ": tensor 'u' is missing");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace inferflux::formats
