// A Hugging Face directory of tests/data in a folder of its own, with a tokenizer and with what a test changes in it.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "apps/inferflux_convert/convert.h"
#include "formats/gguf/gguf_file.h"

namespace inferflux::apps {

class ConvertedDirectory {
 public:
  // `name`: "models/llama3-hf".
  ConvertedDirectory(const std::string& name, int tokens) {
    namespace fs = std::filesystem;
    fs::remove_all(root());
    fs::create_directories(root());
    fs::copy(fs::path(INFERFLUX_SOURCE_DIR) / "tests" / "data" / name, path_, fs::copy_options::recursive);
    std::string vocab;
    for (int i = 0; i < tokens; ++i) vocab += fmt::format("{}\"t{}\":{}", i == 0 ? "" : ",", i, i);
    std::ofstream(path_ / "tokenizer.json")
        << R"({"pre_tokenizer":{"type":"ByteLevel"},"model":{"type":"BPE","vocab":{)" << vocab << R"(},"merges":[]}})";
  }
  ~ConvertedDirectory() { std::filesystem::remove_all(root()); }
  ConvertedDirectory(const ConvertedDirectory&) = delete;
  ConvertedDirectory& operator=(const ConvertedDirectory&) = delete;

  std::string path() const { return path_.string(); }
  std::string Beside(const std::string& name) const { return (root() / name).string(); }

  // Changes the header of its tensors; their data stay where they are.
  void EditTensors(const std::function<void(boost::json::object& tensors)>& edit) const {
    const std::filesystem::path file = path_ / "model.safetensors";
    std::ifstream in(file, std::ios::binary);
    const std::string all((std::istreambuf_iterator<char>(in)), {});
    uint64_t length = 0;
    std::memcpy(&length, all.data(), sizeof length);
    boost::json::value header = boost::json::parse(all.substr(sizeof length, length));
    edit(header.as_object());
    const std::string text = boost::json::serialize(header);
    const uint64_t size = text.size();
    std::ofstream out(file, std::ios::binary | std::ios::trunc);
    out.write(reinterpret_cast<const char*>(&size), sizeof size);
    out << text << all.substr(sizeof length + length);
  }

  struct Told {
    uint64_t done, total;
    std::string tensor;
  };
  struct Outcome {
    std::string error;  // empty: none
    ConvertSummary summary;
    std::vector<Told> told;
    std::shared_ptr<const std::string> bytes;
    std::shared_ptr<const formats::GgufFile> file;
  };
  Outcome Convert(const formats::QuantMix* mix = nullptr, const std::string& pre = {}) const {
    ThreadPool pool(1);
    std::ostringstream out;
    Outcome outcome;
    const auto summary = apps::Convert({.directory = path(), .mix = mix, .pre = pre}, out, pool,
                                       [&](uint64_t done, uint64_t total, const std::string& tensor) {
                                         outcome.told.push_back({done, total, tensor});
                                       });
    if (!summary) {
      outcome.error = summary.error().message;
      return outcome;
    }
    outcome.summary = *summary;
    outcome.bytes = std::make_shared<const std::string>(out.str());
    auto file = formats::GgufFile::Parse(std::as_bytes(std::span(*outcome.bytes)));
    EXPECT_TRUE(file) << file.error().message;
    if (file) outcome.file = std::move(*file);
    return outcome;
  }

 private:
  static std::filesystem::path root() {
    return std::filesystem::path(::testing::TempDir()) / ("inferflux_converted_" + std::to_string(::getpid()));
  }
  const std::filesystem::path path_ = root() / "model-1.5b";
};

}  // namespace inferflux::apps
