#include "server/field_tables.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

namespace inferflux::server {
namespace {

TEST(FieldTablesTest, TheDocumentsShowThem) {
  std::ifstream file(std::string(INFERFLUX_SOURCE_DIR) + "/docs/api.md");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const std::string tables = FieldTablesMarkdown();
  EXPECT_NE(text.find(tables), std::string::npos) << "docs/api.md must hold these tables:\n" << tables;
  EXPECT_NE(tables.find("| `service_tier` | accepted without effect |"), std::string::npos);
  EXPECT_NE(tables.find("| `audio` | refused | only null; otherwise `unsupported_parameter` |"), std::string::npos);
}

}  // namespace
}  // namespace inferflux::server
