// Thousands of templates, compared with Jinja2's output: generated ones (tools/jinja_golden.py made the file), and ones
// that are written by hand for the edges of each method, filter, test and format (Jinja2 3.1.6 made their outputs).
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <string>

#include "text/jinja/render.h"

namespace inferflux::text {
namespace {

size_t ExpectAsInJinja2(const std::string& file) {
  const auto golden = boost::json::parse(ReadFile(INFERFLUX_SOURCE_DIR "/tests/data/jinja/" + file)).as_object();
  const auto& context = golden.at("context").as_object();
  const auto& cases = golden.at("cases").as_array();
  size_t failures = 0;
  for (const auto& each : cases) {
    const std::string source(each.as_array().at(0).as_string());
    const auto& expected = each.as_array().at(1);
    const auto rendered = RenderText(source, context);
    const bool equal = expected.is_null() ? !rendered.has_value()
                                          : rendered.has_value() && *rendered == std::string_view(expected.as_string());
    if (equal) continue;
    ++failures;
    ADD_FAILURE() << source << "\n  Jinja2: " << boost::json::serialize(expected)
                  << "\n  here:   " << (rendered ? *rendered : "error: " + rendered.error().message);
    if (failures == 60) break;
  }
  return cases.size();
}

TEST(JinjaGenerated, EveryTemplateRendersOrFailsAsInJinja2) { EXPECT_GT(ExpectAsInJinja2("generated.json"), 3000U); }

TEST(JinjaGenerated, EachMethodFilterAndFormatIsJinja2sAtItsEdges) {
  EXPECT_GT(ExpectAsInJinja2("directed.json"), 1000U);
}

}  // namespace
}  // namespace inferflux::text
