// Thousands of generated templates, compared with Jinja2's output (tools/jinja_golden.py made the file).
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "text/jinja/render.h"

namespace inferflux::text {
namespace {

TEST(JinjaGenerated, EveryTemplateRendersOrFailsAsInJinja2) {
  const auto golden = boost::json::parse(ReadFile(INFERFLUX_SOURCE_DIR "/tests/data/jinja/generated.json")).as_object();
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
    ASSERT_LT(failures, 60U) << "giving up";
  }
  EXPECT_GT(cases.size(), 3000U);
}

}  // namespace
}  // namespace inferflux::text
