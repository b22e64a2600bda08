// Each setting of the test models, at and beyond the edge of what is served: why the configuration is refused, word
// for word, or nothing where it is taken.
#include <gtest/gtest.h>

#include <memory>

#include "model/loading/setting_bounds.h"

namespace inferflux::model {
namespace {

// Rows of a model, a setting, its value, and why the model is refused.
boost::json::array Rows(const std::string& name) {
  std::ostringstream text;
  text << std::ifstream(testing::DataPath(name)).rdbuf();
  return boost::json::parse(text.str()).as_array();
}

TEST(SettingBounds, OfMetadata) {
  const auto rows = Rows("models/gguf_bounds.json");
  for (const auto& row : rows) {
    const std::string name(row.at(0).as_string()), key(row.at(1).as_string());
    EXPECT_EQ(testing::RefusalOfGguf(name, key, row.at(2)), std::string_view(row.at(3).as_string()))
        << name << ": " << key << " = " << boost::json::serialize(row.at(2));
  }
  EXPECT_GT(rows.size(), 400u);
}

// Of the directories in tests/data/FOLDER.
void ExpectRefusals(const std::string& folder, size_t least) {
  const auto rows = Rows(folder + "/config_bounds.json");
  std::string open;
  std::unique_ptr<testing::EditedDirectory> directory;
  for (const auto& row : rows) {
    const std::string name(row.at(0).as_string()), pointer(row.at(1).as_string());
    if (name != open) directory = std::make_unique<testing::EditedDirectory>(folder, open = name);
    EXPECT_EQ(directory->Refusal(pointer, row.at(2)), std::string_view(row.at(3).as_string()))
        << name << ": " << pointer << " = " << boost::json::serialize(row.at(2));
  }
  EXPECT_GT(rows.size(), least);
}

TEST(SettingBounds, OfConfigurations) { ExpectRefusals("models", 800); }
TEST(SettingBounds, OfQuantizedCheckpoints) { ExpectRefusals("checkpoints", 60); }

}  // namespace
}  // namespace inferflux::model
