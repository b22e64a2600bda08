// What each setting of the test models does: the metadata and the configuration without it, or with another value of
// it, against those of the file as it is. The rows are a model, a setting, its value ("missing": none) and what
// changes.
#include "model/loading/setting_effects.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace inferflux::model {
namespace {

boost::json::array EffectRows(const std::string& name) {
  std::ostringstream text;
  text << std::ifstream(testing::DataPath(name)).rdbuf();
  return boost::json::parse(text.str()).as_array();
}

TEST(SettingEffects, OfMetadata) {
  std::string open;
  testing::Lines before;
  const auto rows = EffectRows("models/gguf_effects.json");
  for (const auto& row : rows) {
    const std::string name(row.at(0).as_string()), key(row.at(1).as_string());
    if (name != open) before = testing::Reading(testing::EditedModel(open = name, [](formats::GgufWriter&) {}));
    EXPECT_EQ(testing::EffectInGguf(name, before, key, row.at(2)), std::string_view(row.at(3).as_string()))
        << name << ": " << key << " = " << boost::json::serialize(row.at(2));
  }
  EXPECT_GT(rows.size(), 500u);
}

// Of the directories in tests/data/FOLDER.
void ExpectEffects(const std::string& folder, size_t least) {
  std::unique_ptr<testing::EditedDirectory> directory;
  std::string open;
  testing::Lines before;
  const auto rows = EffectRows(folder + "/config_effects.json");
  for (const auto& row : rows) {
    const std::string name(row.at(0).as_string()), pointer(row.at(1).as_string());
    if (name != open) {
      directory = std::make_unique<testing::EditedDirectory>(folder, open = name);
      before = testing::Reading(directory->Write(directory->config()));
    }
    EXPECT_EQ(testing::EffectInDirectory(*directory, before, pointer, row.at(2)),
              std::string_view(row.at(3).as_string()))
        << name << ": " << pointer << " = " << boost::json::serialize(row.at(2));
  }
  EXPECT_GT(rows.size(), least);
}

TEST(SettingEffects, OfConfigurations) { ExpectEffects("models", 1900); }
TEST(SettingEffects, OfQuantizedCheckpoints) { ExpectEffects("checkpoints", 250); }

}  // namespace
}  // namespace inferflux::model
