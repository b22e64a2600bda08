// Each setting of the test models, at and beyond the edge of what is served: why the configuration is refused, word
// for word, or nothing where it is taken.
#include <gtest/gtest.h>

#include <memory>

#include "model/loading/setting_bounds.h"

namespace inferflux::model {
namespace {

// Rows of a model, a setting, its value, and why the model is refused.
boost::json::array Rows(const char* name) {
  std::ostringstream text;
  text << std::ifstream(testing::ModelPath(name)).rdbuf();
  return boost::json::parse(text.str()).as_array();
}

TEST(SettingBounds, OfMetadata) {
  const auto rows = Rows("gguf_bounds.json");
  for (const auto& row : rows) {
    const std::string name(row.at(0).as_string()), key(row.at(1).as_string());
    EXPECT_EQ(testing::RefusalOfGguf(name, key, row.at(2)), std::string_view(row.at(3).as_string()))
        << name << ": " << key << " = " << boost::json::serialize(row.at(2));
  }
  EXPECT_GT(rows.size(), 400u);
}

TEST(SettingBounds, OfConfigurations) {
  const auto rows = Rows("config_bounds.json");
  std::string open;
  std::unique_ptr<testing::EditedDirectory> directory;
  for (const auto& row : rows) {
    const std::string name(row.at(0).as_string()), pointer(row.at(1).as_string());
    if (name != open) directory = std::make_unique<testing::EditedDirectory>(open = name);
    EXPECT_EQ(directory->Refusal(pointer, row.at(2)), std::string_view(row.at(3).as_string()))
        << name << ": " << pointer << " = " << boost::json::serialize(row.at(2));
  }
  EXPECT_GT(rows.size(), 800u);
}

}  // namespace
}  // namespace inferflux::model
