// Writes GBNF: rules of values by type and by JSON Schema, and of text without certain markers.
#pragma once

#include <boost/json/object.hpp>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "dspy/error.h"
#include "dspy/signature/field_type.h"

namespace inferflux::dspy {

std::string GbnfLiteral(std::string_view text);

class GbnfWriter {
 public:
  void Add(std::string_view name, std::string_view body) { text_ += fmt::format("{} ::= {}\n", name, body); }
  std::string Take() { return std::move(text_); }

  // A rule for a value as an answer has it: `free_text` where it is text, JSON for lists and objects. What it returns
  // may be used in a body.
  Result<std::string> Value(const FieldType& type, std::string_view free_text);

  // A rule, `name`, for lines of which none begins with one of `markers`, white space before it aside and in any case
  // of ASCII letters. `first_line_free`: the first line follows something, and may hold anything.
  void TextWithout(std::string_view name, const std::vector<std::string>& markers, bool first_line_free);

 private:
  Result<std::string> Schema(const boost::json::object& root, const boost::json::value& schema);
  Result<std::string> OfType(const boost::json::object& root, const boost::json::object& schema, std::string_view type);
  Result<std::string> Object(const boost::json::object& root, const boost::json::object& schema);
  Result<std::string> Reference(const boost::json::object& root, std::string_view reference);
  std::string AnyJson();
  std::string Shared(std::string_view name, std::string_view body);
  std::string NewName() { return fmt::format("v{}", names_++); }

  std::string text_;
  size_t names_ = 0;
  size_t depth_ = 0;
  bool recursive_ = false;                                      // a rule has called one that is not complete
  std::map<std::string, std::string, std::less<>> shared_;      // by name
  std::map<std::string, std::string, std::less<>> references_;  // by what "$ref" says
  std::vector<std::string> open_;                               // references whose rules are not complete
};

}  // namespace inferflux::dspy
