// A cursor over a signature's text, and the annotations of Python in it.
#pragma once

#include <string>
#include <string_view>

#include "dspy/error.h"
#include "dspy/signature/field_type.h"

namespace inferflux::dspy {

class TypeParser {
 public:
  TypeParser(std::string_view text, const NamedTypes& types) : text_(text), types_(types) {}

  // Of the field that follows: errors name it.
  void Enter(std::string_view field) { field_ = field; }

  void SkipSpace();
  bool Take(std::string_view token);  // behind white space
  std::string_view TakeName();        // a Python identifier; empty where none follows
  Result<FieldType> Parse() { return ParseUnion(0); }

  size_t at() const { return at_; }
  bool AtEnd() const { return at_ == text_.size(); }
  std::string_view Rest() const { return text_.substr(at_); }
  // "the field 'x': ... (at byte 4 of 'question -> x: inf')"
  tl::unexpected<Error> Wrong(std::string_view what) const;

 private:
  Result<FieldType> ParseUnion(size_t depth);
  Result<FieldType> ParseOne(size_t depth);
  Result<std::vector<FieldType>> ParseArguments(size_t depth);
  Result<FieldType> ParseLiteral();
  Result<boost::json::value> ParseLiteralValue();

  std::string_view text_;
  const NamedTypes& types_;
  std::string field_;
  size_t at_ = 0;
};

}  // namespace inferflux::dspy
