// All 616 cases of 44 real templates, compared with Jinja2's output.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <map>

#include "support/conformance.h"
#include "text/jinja/render.h"

namespace inferflux::text {
namespace {

// If Jinja2 raised one of these errors, a rendering is also correct.
bool MayRender(const std::string& error) {
  return error.find("SecurityError") != std::string::npos ||
         error.find("generator is not JSON serializable") != std::string::npos;
}

TEST(ChatTemplateGolden, EveryCaseRendersAsJinja2DoesIt) {
  INFERFLUX_REQUIRE_CONFORMANCE("chat_templates");
  const auto dir = testing::ConformanceDir() / "chat_templates";
  const auto golden = boost::json::parse(ReadFile(dir / "golden.json")).as_object();
  ASSERT_EQ(golden.at("now").as_string(), "2026-01-02T03:04:05");
  RenderOptions options;
  options.now = std::chrono::sys_days(std::chrono::year(2026) / 1 / 2) + std::chrono::seconds(3 * 3600 + 4 * 60 + 5);

  std::map<std::string, ChatTemplate> templates;
  size_t cases = 0;
  for (const auto& item : golden.at("cases").as_array()) {
    const auto& each = item.as_object();
    const std::string name(each.at("template").as_string());
    SCOPED_TRACE(name + ", " + std::string(each.at("case").as_string()));
    ++cases;
    if (!templates.contains(name)) {
      auto compiled = ChatTemplate::Compile(ReadFile(dir / name));
      ASSERT_TRUE(compiled.has_value()) << compiled.error().message;
      templates.emplace(name, std::move(*compiled));
    }
    const auto rendered = templates.at(name).Render(each.at("context").as_object(), options);
    if (const auto* error = each.if_contains("error")) {
      EXPECT_TRUE(!rendered.has_value() || MayRender(std::string(error->as_string()))) << error->as_string();
      continue;
    }
    ASSERT_TRUE(rendered.has_value()) << rendered.error().message;
    EXPECT_EQ(JoinSpans(*rendered), std::string_view(each.at("expected").as_string()));
  }
  EXPECT_EQ(templates.size(), 44U);
  EXPECT_EQ(cases, 616U);
}

}  // namespace
}  // namespace inferflux::text
