// What the programs print of a machine, and the files that they write.
#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "apps/console/backend_list.h"
#include "apps/console/hardware_list.h"
#include "apps/console/output_file.h"
#include "apps/inferctl/client/json_member.h"

namespace inferflux::apps {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using hardware::DriverKind;
using hardware::DriverState;

hardware::Hardware Machine() {
  return {.cpu = {.name = "A CPU",
                  .instruction_sets = {"avx2", "avx512"},
                  .usable_cores = 2,
                  .cores = 4,
                  .total_bytes = 16 * (int64_t{1} << 30),
                  .free_bytes = 8 * (int64_t{1} << 30)},
          .drivers = {{.kind = DriverKind::kNvidia,
                       .state = DriverState::kPresent,
                       .notes = {"a note"},
                       .devices = {{.kind = DriverKind::kNvidia,
                                    .name = "GPU",
                                    .type = "discrete",
                                    .uuid = "GPU-1",
                                    .pci_address = "0000:c1:00.0",
                                    .total_bytes = 4 * (int64_t{1} << 30),
                                    .driver = "5.1"}}},
                      {.kind = DriverKind::kVulkan, .state = DriverState::kFailed, .reason = "it broke"},
                      {.kind = DriverKind::kMetal}}};
}

TEST(HardwareList, EachDriverHasItsLines) {
  EXPECT_EQ(HardwareAsText(Machine(), 12.34e9),
            "hardware\n"
            "cpu        A CPU, 2 of 4 cores, 8.0 of 16.0 GiB free, avx2 avx512, reads 12.3 GB/s\n"
            "nvidia     GPU, discrete, UUID GPU-1, PCI 0000:c1:00.0, 4.0 GiB, driver 5.1\n"
            "           a note\n"
            "vulkan     failed: it broke\n"
            "metal      none\n");
  EXPECT_EQ(HardwareAsText({.cpu = {}, .drivers = {}}, std::nullopt),
            "hardware\ncpu        processor, 1 of 1 cores, no instruction set that has kernels of its own\n");
}

TEST(HardwareList, WhatIsUnknownIsNullInJson) {
  EXPECT_EQ(json::value(HardwareAsJson(Machine(), 12.5)), json::parse(R"({
      "cpu":{"name":"A CPU","instruction_sets":["avx2","avx512"],"usable_cores":2,"cores":4,"total_bytes":17179869184,
             "free_bytes":8589934592,"read_bandwidth":12},
      "drivers":[{"name":"nvidia","state":"present","reason":null,"notes":["a note"]},
                 {"name":"vulkan","state":"failed","reason":"it broke","notes":[]},
                 {"name":"metal","state":"none","reason":null,"notes":[]}],
      "devices":[{"driver":"nvidia","name":"GPU","type":"discrete","uuid":"GPU-1","pci_address":"0000:c1:00.0",
                  "total_bytes":4294967296,"free_bytes":null,"driver_version":"5.1"}]})"));
  const json::object none = HardwareAsJson({.cpu = {}, .drivers = {}}, std::nullopt);
  EXPECT_EQ(none.at("cpu"), json::parse(R"({"name":null,"instruction_sets":[],"usable_cores":1,"cores":1,
      "total_bytes":null,"free_bytes":null,"read_bandwidth":null})"));
}

std::vector<serving::EngineEntry> Engines() {
  const auto make = [](const serving::EngineRequest&) -> Result<std::unique_ptr<engine::Engine>> {
    return Fail(ErrorCode::kInternal, "not meant to be made");
  };
  return {{.target = serving::Target::kCpu,
           .make = make,
           .devices =
               [] {
                 return std::vector<compute::Device>{{"a CPU", 5}};
               },
           .note = "slow"},
          {.target = serving::Target::kCuda,
           .make = make,
           .devices =
               [] {
                 return std::vector<compute::Device>{{.name = "G", .pci_address = "0000:c1:00.0"},
                                                     {.name = "H", .uuid = "own"}};
               }},
          {.target = serving::Target::kMlx, .why_absent = "no MLX"}};
}

TEST(BackendList, EachEngineIsHereOrSaysWhyNot) {
  const std::string text = BackendsAsText(Engines(), Machine());
  EXPECT_NE(text.find("cpu        native     yes  a CPU; slow\n"), std::string::npos) << text;
  EXPECT_NE(text.find("cuda       native     yes  0: G at 0000:c1:00.0, 1: H\n"), std::string::npos) << text;
  EXPECT_NE(text.find("mlx        native     no   no MLX\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\n\nhardware\ncpu        A CPU"), std::string::npos) << text;
  const json::value all = json::parse(BackendsAsJson(Engines(), Machine()));
  EXPECT_TRUE(all.at("hardware").is_object());
  for (const json::value& row : all.at("backends").as_array()) {
    if (row.at("provider") != "native") continue;
    if (row.at("target") == "cpu") {
      EXPECT_EQ(row.at("available"), true);
      EXPECT_EQ(row.at("reason"), "");
      EXPECT_EQ(row.at("note"), "slow");
      EXPECT_EQ(row.at("devices"),
                json::parse(R"([{"name":"a CPU","id":null,"uuid":null,"pci_address":null,"free_bytes":5}])"));
    } else if (row.at("target") == "cuda") {
      EXPECT_EQ(row.at("devices").at(0).at("uuid"), "GPU-1") << "that of the driver's device at the same address";
      EXPECT_EQ(row.at("devices").at(1).at("uuid"), "own");
    } else if (row.at("target") == "mlx") {
      EXPECT_EQ(row.at("available"), false);
      EXPECT_EQ(row.at("reason"), "no MLX");
      EXPECT_EQ(row.at("note"), "");
      EXPECT_TRUE(row.at("devices").as_array().empty());
    }
  }
}

TEST(OutputFileTest, AFileAppearsOnceItIsWhole) {
  const fs::path folder = fs::temp_directory_path() / ("inferflux_console_" + std::to_string(::getpid()));
  fs::create_directories(folder);
  const std::string path = folder / "a";
  {
    auto file = OutputFile::Create(path);
    ASSERT_TRUE(file) << file.error().message;
    file->stream() << "half";
    EXPECT_TRUE(fs::exists(path + ".partial") && !fs::exists(path));
  }
  EXPECT_TRUE(fs::is_empty(folder)) << "what was not committed is gone";
  {
    auto file = OutputFile::Create(path);
    file->stream() << "whole";
    ASSERT_TRUE(file->Commit());
  }
  std::ifstream in(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "whole");
  EXPECT_FALSE(fs::exists(path + ".partial"));
  const auto nowhere = OutputFile::Create((folder / "no" / "b").string());
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().message,
            "cannot write " + (folder / "no" / "b.partial").string() + ": No such file or directory");
  fs::create_directories(folder / "d" / "x");
  auto onto = OutputFile::Create((folder / "d").string());
  EXPECT_FALSE(onto->Commit()) << "a directory is there";
  fs::remove_all(folder);
}

TEST(JsonMemberTest, WhatIsThereIsShownInWords) {
  const json::value value = json::parse(R"({"a":{"b":"x","c":5,"d":true,"e":false,"f":"","g":1.5}})");
  EXPECT_EQ(Show(value, "a", "b"), "x");
  EXPECT_EQ(Show(value, "a", "c"), "5");
  EXPECT_EQ(Show(value, "a", "d"), "yes");
  EXPECT_EQ(Show(value, "a", "e"), "no");
  for (const char* none : {"f", "g", "z"}) EXPECT_EQ(Show(value, "a", none), "-") << none;
  EXPECT_EQ(Show(value, "z", "b"), "-");
  EXPECT_EQ(Show(value, "a", "b", "c"), "-");
  EXPECT_EQ(Member(json::value(1), "a"), nullptr);
}

}  // namespace
}  // namespace inferflux::apps
