#include "text/tool_calls/grammar/marked_grammar.h"

#include <algorithm>
#include <utility>

namespace inferflux::text {
namespace {

constexpr std::string_view kRare = "|]";  // rare in text, rarer than the other characters of markers
constexpr uint32_t kMaxExact = 16;        // characters that can be counted while searching for the mark

Expr BareName() {
  static const CodeRanges kLetters = {{'$', '$'}, {'-', '9'}, {'@', 'Z'}, {'_', '_'}, {'a', 'z'}, {0xC0, 0xD7FF}};
  return Repeat(OneOf(kLetters), 1, kUnbounded);
}

bool MayHold(const Expression& expression, char c) {
  const auto code = static_cast<char32_t>(c);
  return expression.text.find(c) != std::string::npos ||
         std::ranges::any_of(expression.ranges,
                             [&](const CodeRange& range) { return range.first <= code && code <= range.last; }) ||
         std::ranges::any_of(expression.parts, [&](const Expr& part) { return MayHold(*part, c); });
}

}  // namespace

Expr MarkedGrammar::Enclosed(Expr content) const { return Sequence({around_, std::move(content), around_}); }

Expr MarkedGrammar::String() {
  if (!string_) {
    string_ = grammar().Add("a string", Enclosed(texts_.ToExpression()));
    grammar().rules[*string_].apart = true;
  }
  return Call(*string_);
}

Result<Expr> MarkedGrammar::String(uint32_t min, uint32_t max) {
  if (min == 0 && max == kUnbounded) return String();
  if ((max == kUnbounded ? min : max) <= kMaxExact) {
    auto counted = CharAutomaton::OfLength(min, max);
    if (counted) counted = counted->And(texts_);
    if (!counted) return Forward(counted);
    return Enclosed(counted->ToExpression());
  }
  const size_t rare = mark_.find_first_of(kRare);
  const auto never = static_cast<char32_t>(mark_[rare == std::string::npos ? 0 : rare]);
  return Enclosed(Repeat(OneOf(Complement({{never, never}})), min, max));
}

Result<Expr> MarkedGrammar::Quoted(const Expr& content) {
  if (!MayHold(*content, mark_[0])) return Enclosed(content);
  const auto contents = CharAutomaton::Of(*content);
  if (!contents) return Forward(contents);
  return Quoted(*contents);
}

Result<Expr> MarkedGrammar::Quoted(const CharAutomaton& contents) {
  const auto free = contents.And(texts_);
  if (!free) return Forward(free);
  if (free->empty() && !contents.empty()) {
    return Fail(ErrorCode::kUnsupported, "the model's strings end at '{0}', so they cannot contain it", mark_);
  }
  return Enclosed(free->ToExpression());
}

// Templates never print values as Python does.
Expr MarkedGrammar::Word(std::string_view word) {
  if (word != "null") return Literal(std::string(word));
  return Choice({Literal("null"), Literal("None")});
}

Expr MarkedGrammar::Name() {
  if (!name_) name_ = grammar().Add("a name", BareName());
  return Call(*name_);
}

Result<Expr> MarkedGrammar::Name(std::string_view name) {
  const auto bare = CharAutomaton::Of(*BareName());
  if (bare && bare->Matches(name)) return Literal(std::string(name));
  return Fail(ErrorCode::kUnsupported,
              "the model writes names without quotes, so they need to be letters, digits and '_-.$@/'");
}

Result<Expr> MarkedGrammar::NameExcept(const std::vector<std::string_view>& names) {
  if (names.empty()) return Name();
  const auto others = NamesBut(names);
  if (!others) return Forward(others);
  return NameIn(*others);
}

Result<Expr> MarkedGrammar::NameIn(const CharAutomaton& names) {
  const auto bare = CharAutomaton::Of(*BareName());
  if (!bare) return Forward(bare);
  const auto both = names.And(*bare);
  if (!both) return Forward(both);
  return both->ToExpression();
}

}  // namespace inferflux::text
