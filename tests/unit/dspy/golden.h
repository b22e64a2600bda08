// Reads the files that tools/dspy_golden.py wrote with Python's dspy.
#pragma once

#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "dspy/lm/lm.h"
#include "dspy/python/literal_reader.h"
#include "dspy/signature/example.h"
#include "dspy/signature/signature.h"
#include "dspy/signature/type_parser.h"

namespace inferflux::dspy::testing {

inline boost::json::object ReadGolden(const std::string& name) {
  std::ifstream file(std::string(INFERFLUX_SOURCE_DIR) + "/tests/data/dspy/" + name);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  auto value = ReadLiteral(text);  // exact floats: those of Boost 1.81's parser may be off in the last place
  if (!value) ADD_FAILURE() << name << " is missing or no JSON";
  return value ? value->as_object() : boost::json::object();
}

inline std::string TextOf(const boost::json::value& value) { return std::string(value.as_string()); }

inline NamedTypes ReadTypes(const boost::json::object& file) {
  NamedTypes types;
  for (const auto& [key, type] : file.at("types").as_object()) {
    const std::string name(key);
    if (const auto* schema = type.as_object().if_contains("schema")) {
      types[name] = FieldType::Object(name, schema->as_object());
      continue;
    }
    std::vector<std::pair<std::string, boost::json::value>> members;
    for (const auto& member : type.at("enum").as_array()) {
      members.emplace_back(TextOf(member.at(0)), member.at(1));
    }
    types[name] = FieldType::Enum(name, std::move(members));
  }
  return types;
}

inline Signature ReadSignature(const boost::json::object& spec, const NamedTypes& types) {
  const auto* instructions = spec.if_contains("instructions");
  if (const auto* text = spec.if_contains("text")) {
    auto parsed =
        Signature::Parse(TextOf(*text), instructions ? std::optional(TextOf(*instructions)) : std::nullopt, types);
    if (!parsed) ADD_FAILURE() << parsed.error().message;
    return parsed.value_or(Signature());
  }
  SignatureBuilder builder;
  if (instructions && instructions->is_string()) builder.Instruction(TextOf(*instructions));
  for (const auto& entry : spec.at("fields").as_array()) {
    const boost::json::object& field = entry.as_object();
    TypeParser parser(std::string_view(field.at("type").as_string()), types);
    auto type = parser.Parse();
    if (!type) {
      ADD_FAILURE() << type.error().message;
      continue;
    }
    const auto text = [&](const char* name) { return field.contains(name) ? TextOf(field.at(name)) : std::string(); };
    if (field.at("output").as_bool()) {
      builder.Output(text("name"), std::move(*type), text("desc"), text("prefix"));
    } else {
      builder.Input(text("name"), std::move(*type), text("desc"), text("prefix"));
    }
  }
  auto built = builder.Build();
  if (!built) ADD_FAILURE() << built.error().message;
  return built.value_or(Signature());
}

inline std::vector<Message> ReadMessages(const boost::json::value& list) {
  std::vector<Message> messages;
  for (const auto& message : list.as_array()) {
    messages.push_back({TextOf(message.at("role")), TextOf(message.at("content"))});
  }
  return messages;
}

inline std::vector<Example> ReadExamples(const boost::json::value& list) {
  std::vector<Example> examples;
  for (const auto& values : list.as_array()) examples.emplace_back(values.as_object());
  return examples;
}

inline void ExpectSameMessages(const std::vector<Message>& actual, const std::vector<Message>& expected,
                               const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  for (size_t i = 0; i < actual.size(); ++i) {
    EXPECT_EQ(actual[i].role, expected[i].role) << what << ", message " << i;
    EXPECT_EQ(actual[i].content, expected[i].content) << what << ", message " << i;
  }
}

}  // namespace inferflux::dspy::testing
