// What goes into a language model and what comes out: fields with names, types and descriptions, and an instruction.
#pragma once

#include <boost/json/object.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dspy/error.h"
#include "dspy/signature/field_type.h"

namespace inferflux::dspy {

struct Field {
  std::string name;
  FieldType type = FieldType::Str();
  std::string desc = {};    // "${name}" where nobody gave one, which prompts leave out
  std::string prefix = {};  // "Name:"; part of DSPy's saved states
};

class Signature {
 public:
  // "question, context -> answer: float". Without `instructions`, or with empty ones, they are DSPy's "Given the
  // fields ..., produce the fields ...". An error is kInvalidConfig with the field and the byte where it is wrong.
  static Result<Signature> Parse(std::string_view text, std::optional<std::string> instructions = std::nullopt,
                                 const NamedTypes& types = {});

  const std::vector<Field>& inputs() const { return inputs_; }
  const std::vector<Field>& outputs() const { return outputs_; }
  // Cleaned as Python cleans a docstring.
  const std::string& instructions() const { return instructions_; }

  const Field* FindInput(std::string_view name) const;
  const Field* FindOutput(std::string_view name) const;

  Signature WithInstructions(std::string_view instructions) const;
  // A field of the same name leaves its side first, as in Python.
  Signature WithInput(Field field) const;          // at the end
  Signature WithOutput(Field field) const;         // at the end
  Signature WithOutputInFront(Field field) const;  // before all outputs
  Signature Without(std::string_view name) const;  // unchanged where there is no such field
  Signature WithoutOutputs() const;

  // "question, context -> answer"
  std::string ToString() const;
  // Instructions, descriptions and prefixes as DSPy saves them; types are the program's own.
  boost::json::object DumpState() const;
  // The same signature with what a state says. kInvalidConfig where the state has another form or number of fields.
  Result<Signature> LoadState(const boost::json::object& state) const;
  // As DSPy compares: names, instructions, descriptions and prefixes.
  bool Equals(const Signature& other) const;

 private:
  friend class SignatureBuilder;
  void Complete();  // descriptions, prefixes

  std::vector<Field> inputs_;
  std::vector<Field> outputs_;
  std::string instructions_;
};

// SignatureBuilder().Instruction("Answer.").Input("question").Output("answer", FieldType::Int(), "a number").Build()
class SignatureBuilder {
 public:
  SignatureBuilder& Instruction(std::string text);
  SignatureBuilder& Input(std::string name, FieldType type = FieldType::Str(), std::string desc = {},
                          std::string prefix = {});
  SignatureBuilder& Output(std::string name, FieldType type = FieldType::Str(), std::string desc = {},
                           std::string prefix = {});

  // kInvalidConfig names a field that has no identifier for a name, occurs twice, or has an empty type. The position is
  // the field's place among all.
  Result<Signature> Build() const;

 private:
  struct Entry {
    Field field;
    bool output = false;
  };
  std::vector<Entry> entries_;
  std::optional<std::string> instructions_;
};

}  // namespace inferflux::dspy
