// Published schemas: JSON Schema's own test suite, and MaskBench. A grammar may refuse a schema or omit valid
// documents; it must never accept an invalid one.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "support/conformance.h"
#include "text/grammar/grammar_text.h"

namespace inferflux::text {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

// Like Python's json.dumps.
void Dump(const json::value& value, std::string& out) {
  bool first = true;
  const auto comma = [&] {
    if (!std::exchange(first, false)) out += ", ";
  };
  if (const auto* array = value.if_array()) {
    out += '[';
    for (const auto& item : *array) comma(), Dump(item, out);
    out += ']';
  } else if (const auto* object = value.if_object()) {
    out += '{';
    for (const auto& [name, item] : *object) {
      comma();
      out += json::serialize(json::value(name)) + ": ";
      Dump(item, out);
    }
    out += '}';
  } else if (value.is_double()) {
    out += fmt::format("{}", value.get_double());
  } else {
    out += json::serialize(value);
  }
}

struct Count {
  int schemas = 0;
  int compiled = 0;
  int valid = 0;
  int taken = 0;

  void Add(const std::string& name, const json::value& schema, const json::array& tests) {
    ++schemas;
    const auto grammar = CompileGrammar(testing::Schema(json::serialize(schema)));
    if (!grammar) {
      EXPECT_FALSE(grammar.error().message.empty());
      return;
    }
    ++compiled;
    for (const auto& test : tests) {
      std::string text;
      Dump(test.at("data"), text);
      const bool takes = testing::Matches(*grammar, text);
      if (!test.at("valid").as_bool()) {
        EXPECT_FALSE(takes) << name << "\n" << json::serialize(schema) << "\ntakes " << text;
      } else {
        ++valid;
        taken += takes ? 1 : 0;
      }
    }
  }
};

TEST(GrammarConformanceTest, TheSuiteOfJsonSchema) {
  INFERFLUX_REQUIRE_CONFORMANCE("json_schema");
  Count count;
  for (const auto& entry :
       fs::recursive_directory_iterator(inferflux::testing::ConformanceDir() / "json_schema" / "suite_draft2020-12")) {
    if (entry.path().extension() != ".json") continue;
    std::ifstream file(entry.path());
    const json::value groups = json::parse(std::string(std::istreambuf_iterator<char>(file), {}));
    for (const auto& group : groups.as_array()) {
      count.Add(entry.path().filename(), group.at("schema"), group.at("tests").as_array());
    }
  }
  RecordProperty("compiled", count.compiled);
  EXPECT_GT(count.compiled, 170);
  EXPECT_GT(count.taken, count.valid / 3);  // others omit, for example, numbers if a schema has only "minLength"
}

TEST(GrammarConformanceTest, SchemasFromTheField) {
  const std::string name = "json_schema/maskbench_sample.jsonl.gz";
  INFERFLUX_REQUIRE_CONFORMANCE(name);
  const std::string command = "gzip -dc '" + (inferflux::testing::ConformanceDir() / name).string() + "'";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  ASSERT_TRUE(pipe);
  std::string lines;
  char buffer[65536];
  for (size_t read; (read = std::fread(buffer, 1, sizeof buffer, pipe.get())) > 0;) lines.append(buffer, read);
  Count count;
  for (size_t at = 0, end; at < lines.size(); at = end + 1) {
    end = std::min(lines.find('\n', at), lines.size());
    const json::value each = json::parse(std::string_view(lines).substr(at, end - at));
    count.Add(std::string(each.at("name").as_string()), each.at("schema"), each.at("tests").as_array());
  }
  RecordProperty("compiled", count.compiled);
  EXPECT_GT(count.compiled, count.schemas * 3 / 4);
  EXPECT_GT(count.taken, count.valid * 9 / 10);
}

}  // namespace
}  // namespace inferflux::text
