#include "serving/pool/models_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "session_store/file_limit.h"

namespace inferflux::serving {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ModelsDirectoryTest : public ::testing::Test {
 protected:
  ModelsDirectoryTest() : base_(fs::temp_directory_path() / ("inferflux_models_" + std::to_string(::getpid()))) {
    fs::create_directories(base_ / "models");
    fs::create_directories(base_ / "outside");
  }
  ~ModelsDirectoryTest() override { fs::remove_all(base_); }

  void Touch(const std::string& name) const {
    fs::create_directories((base_ / name).parent_path());
    std::ofstream(base_ / name) << "x";
  }
  ModelsDirectory Open() const { return *ModelsDirectory::Open((base_ / "models").string()); }
  std::string InModels(const std::string& name) const { return (fs::canonical(base_ / "models") / name).string(); }
  std::vector<std::string> Names() const {
    std::vector<std::string> out;
    for (const AvailableModel& model : Open().List()) out.push_back(model.name);
    return out;
  }
  std::string Refusal(std::string_view name) const {
    const auto found = Open().Find(name);
    return found ? "found " + *found : found.error().message;
  }

  fs::path base_;
};

TEST_F(ModelsDirectoryTest, ARecipeIsAModelThatCanBeReplacedAndRemoved) {
  Touch("models/a.gguf");
  Touch("outside/other.inferflux.json");
  fs::create_symlink(base_ / "outside/other.inferflux.json", base_ / "models/link.inferflux.json");
  ASSERT_TRUE(Open().SaveRecipe("mario:v1", "1"));
  ASSERT_TRUE(Open().SaveRecipe("mario:v1", "2"));
  EXPECT_THAT(Names(), ElementsAre("a", "mario:v1")) << "neither a link nor what is half written";
  EXPECT_EQ(Open().Find("mario:v1"), InModels("mario:v1.inferflux.json"));
  for (const char* name : {"", ".hidden", "../outside/b", "a/b", "/tmp/b", "x\ny"}) {
    EXPECT_FALSE(Open().SaveRecipe(name, "3")) << name;
    EXPECT_FALSE(Open().RemoveRecipe(name)) << name;
  }
  EXPECT_FALSE(Open().SaveRecipe(std::string(250, 'x'), "3"));
  EXPECT_FALSE(Open().SaveRecipe("a", "3")) << "a file is never hidden by a recipe";
  const auto kept = Open().RemoveRecipe("a");
  ASSERT_FALSE(kept);
  EXPECT_THAT(kept.error().message, HasSubstr("by hand"));
  EXPECT_EQ(Open().RemoveRecipe("link").error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(Open().RemoveRecipe("mario:v1"));
  EXPECT_THAT(Names(), ElementsAre("a"));
  EXPECT_TRUE(fs::exists(base_ / "outside/other.inferflux.json"));
}

TEST_F(ModelsDirectoryTest, FindsFilesSplitFilesAndDirectories) {
  Touch("models/a.gguf");
  Touch("models/b-00001-of-00002.gguf");
  Touch("models/b-00002-of-00002.gguf");
  Touch("models/c-7b.v1/config.json");
  Touch("models/no-config/model.safetensors");
  Touch("models/readme.txt");
  Touch("models/.gguf");
  EXPECT_THAT(Names(), ElementsAre("a", "b", "c-7b.v1"));
  EXPECT_EQ(Open().Find("a"), InModels("a.gguf"));
  EXPECT_EQ(Open().Find("b"), InModels("b-00001-of-00002.gguf"));
  EXPECT_EQ(Open().Find("c-7b.v1"), InModels("c-7b.v1"));
  const auto none = Open().Find("b-00001-of-00002");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
}

TEST_F(ModelsDirectoryTest, OnlyTheFirstOfRightlyNumberedPartsIsAModelOfItsParts) {
  for (const char* name : {"a-00001-of-00002", "b-00002-of-00002", "c-00000-of-00002", "d-00003-of-00002",
                           "e-0001-of-00002", "f-00001-of-0000x", "g-00001_of-00002", "h_00001-of-00002",
                           "-00001-of-00001", "i-00001-of-00001", "j-0000a-of-00002"}) {
    Touch(std::string("models/") + name + ".gguf");
  }
  EXPECT_THAT(Names(),
              ElementsAre("-00001-of-00001", "a", "c-00000-of-00002", "d-00003-of-00002", "e-0001-of-00002",
                          "f-00001-of-0000x", "g-00001_of-00002", "h_00001-of-00002", "i", "j-0000a-of-00002"));
}

TEST_F(ModelsDirectoryTest, ADirectoryMayHaveSoManyFilesAndFolders) {
  Touch("models/deep/config.json");
  Touch("models/deep/1/2/3/file");
  for (int i = 0; i < 999; ++i) Touch("models/wide/" + std::to_string(i));
  Touch("models/wide/config.json");
  EXPECT_THAT(Names(), ElementsAre("deep", "wide"));
  Touch("models/deep/1/2/3/4/file");
  Touch("models/wide/more");
  EXPECT_THAT(Refusal("deep"), HasSubstr("leads out"));
  EXPECT_THAT(Refusal("wide"), HasSubstr("leads out"));
}

TEST_F(ModelsDirectoryTest, ADirectoryHasAtMostTenThousandEntries) {
  for (int i = 0; i < 10'000; ++i) Touch("models/" + std::to_string(i) + ".gguf");
  EXPECT_EQ(Names().size(), 10'000u);
  Touch("models/more.gguf");
  EXPECT_EQ(Names().size(), 10'000u);
}

TEST_F(ModelsDirectoryTest, NamesHaveTheirBounds) {
  const std::string longest(255, 'n');
  EXPECT_THAT(Refusal(longest), HasSubstr("there is no model"));
  EXPECT_THAT(Refusal(longest + "n"), HasSubstr("cannot be the name of a model"));
  EXPECT_THAT(Refusal("a\x1f"
                      "b"),
              HasSubstr("cannot be the name of a model"));
  EXPECT_THAT(Refusal("a\x7f"
                      "b"),
              HasSubstr("cannot be the name of a model"));
  EXPECT_THAT(Refusal("a b~"), HasSubstr("there is no model"));
  const std::string suffix = ".inferflux.json";
  EXPECT_TRUE(Open().SaveRecipe(std::string(255 - suffix.size(), 'r'), "1"));
  const auto refused = Open().SaveRecipe(std::string(256 - suffix.size(), 'r'), "1");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(refused.error().message, HasSubstr("is too long: it may have 240 bytes"));
}

TEST_F(ModelsDirectoryTest, ARecipeHasTheTextThatWasSaved) {
  ASSERT_TRUE(Open().SaveRecipe("r", "first, longer"));
  ASSERT_TRUE(Open().SaveRecipe("r", "second"));
  std::ifstream file(*Open().Find("r"));
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "second");
  size_t files = 0;
  for ([[maybe_unused]] const auto& each : fs::directory_iterator(base_ / "models")) ++files;
  EXPECT_EQ(files, 1u) << "nothing else is left";
  Touch("models/b.gguf");
  EXPECT_EQ(Open().SaveRecipe("b", "x").error().message,
            "'b' is the model of " + InModels("b.gguf") + ", which is not replaced; choose another name");
  EXPECT_EQ(Open().RemoveRecipe("none").error().code, ErrorCode::kNotFound);
}

TEST_F(ModelsDirectoryTest, ARecipeThatCannotBeWrittenIsSaid) {
  {
    const testing::FileLimit limit(3);
    const auto full = Open().SaveRecipe("r", "more than three bytes");
    ASSERT_FALSE(full);
    EXPECT_EQ(full.error().code, ErrorCode::kIo);
    EXPECT_EQ(full.error().message,
              "cannot write into " + fs::canonical(base_ / "models").string() + ": let the server's user write there");
  }
  EXPECT_TRUE(fs::is_empty(base_ / "models")) << "nothing is left";
  Touch("models/s.inferflux.json/in the way");
  const auto taken = Open().SaveRecipe("s", "1");
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().message, "cannot write " + InModels("s.inferflux.json") + ": Is a directory");
  const fs::directory_iterator files(base_ / "models");
  EXPECT_EQ(std::distance(begin(files), end(files)), 1) << "only what was in the way is there";
}

TEST_F(ModelsDirectoryTest, NamesThatCouldLeadElsewhereAreRefused) {
  Touch("outside/a.gguf");
  Touch("models/.hidden.gguf");
  for (const std::string name : {"../outside/a", "..", ".", "", "/etc/passwd", ".hidden", "a/b", "a\nb"}) {
    EXPECT_THAT(Refusal(name), HasSubstr("cannot be the name of a model")) << name;
  }
  EXPECT_THAT(Refusal(std::string("a\0b", 3)), HasSubstr("control character"));
  EXPECT_THAT(Refusal(std::string(300, 'a')), HasSubstr("255 bytes"));
}

TEST_F(ModelsDirectoryTest, LinksMayNotLeadOut) {
  Touch("outside/a.gguf");
  Touch("outside/hf/config.json");
  Touch("models/in.gguf");
  fs::create_symlink(base_ / "models/in.gguf", base_ / "models/alias.gguf");
  fs::create_symlink(base_ / "outside/a.gguf", base_ / "models/file.gguf");
  fs::create_symlink("../outside/hf", base_ / "models/directory");
  Touch("models/weights/config.json");
  fs::create_symlink(base_ / "outside/a.gguf", base_ / "models/weights/model.safetensors");
  Touch("models/deep/config.json");
  fs::create_directories(base_ / "models/deep/1_Pooling");
  fs::create_symlink(base_ / "outside/hf/config.json", base_ / "models/deep/1_Pooling/config.json");
  Touch("models/part-00001-of-00002.gguf");
  fs::create_symlink(base_ / "outside/a.gguf", base_ / "models/part-00002-of-00002.gguf");
  fs::create_symlink("loop.gguf", base_ / "models/loop.gguf");
  fs::create_symlink("nowhere.gguf", base_ / "models/dangling.gguf");
  EXPECT_THAT(Names(), ElementsAre("alias", "in"));
  EXPECT_TRUE(Open().Find("alias"));
  for (const std::string name : {"file", "directory", "weights", "deep", "part"}) {
    EXPECT_THAT(Refusal(name), HasSubstr("leads out")) << name;
  }
  EXPECT_THAT(Refusal("loop"), HasSubstr("there is no model"));
}

TEST_F(ModelsDirectoryTest, ADirectoryThatIsItselfALinkIsFollowedOnce) {
  Touch("models/a.gguf");
  fs::create_symlink(base_ / "models", base_ / "link");
  const auto linked = ModelsDirectory::Open((base_ / "link").string());
  ASSERT_TRUE(linked);
  EXPECT_EQ(linked->Find("a"), InModels("a.gguf"));
}

TEST_F(ModelsDirectoryTest, TwoModelsOfOneNameAreBothNamed) {
  Touch("models/a.gguf");
  Touch("models/a/config.json");
  Touch("models/b.gguf");
  EXPECT_THAT(Refusal("a"), AllOf(HasSubstr("a.gguf"), HasSubstr(" a"), HasSubstr("rename")));
  EXPECT_THAT(Names(), ElementsAre("b"));
}

TEST_F(ModelsDirectoryTest, AMissingDirectoryIsNamed) {
  const auto missing = ModelsDirectory::Open((base_ / "none").string());
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(missing.error().message, HasSubstr("/none"));
  Touch("file");
  EXPECT_EQ(ModelsDirectory::Open((base_ / "file").string()).error().message,
            "there is no directory " + (base_ / "file").string());
}

}  // namespace
}  // namespace inferflux::serving
