#include "text/jinja/syntax/expression_parser.h"

#include <algorithm>
#include <charconv>
#include <iterator>

namespace inferflux::text::jinja {
namespace {

// Bounds the recursion of the parser, and the height of the tree over which evaluation recurses.
constexpr int kMaxParserDepth = 500;
constexpr int kMaxHeight = 300;

class DepthGuard {
 public:
  DepthGuard(int& depth, int line) : depth_(depth) {
    if (depth_ >= kMaxParserDepth) RaiseAt(line, "an expression nests deeper than {} levels", kMaxParserDepth);
    ++depth_;
  }
  ~DepthGuard() { --depth_; }
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;

 private:
  int& depth_;
};

int HeightOf(const ExprPtr& expr) { return expr != nullptr ? expr->height : 0; }

int HeightOf(const ArgList& args) {
  int height = std::max(HeightOf(args.varargs), HeightOf(args.kwargs));
  for (const Arg& arg : args.args) height = std::max(height, HeightOf(arg.value));
  return height;
}

int HeightOf(const std::vector<ExprPtr>& items) {
  int height = 0;
  for (const ExprPtr& item : items) height = std::max(height, HeightOf(item));
  return height;
}

template <class Node>
ExprPtr Make(int line, int children_height, Node node) {
  if (children_height >= kMaxHeight) RaiseAt(line, "an expression has more than {} levels", kMaxHeight);
  return std::make_unique<Expr>(Expr{std::move(node), line, children_height + 1});
}

}  // namespace

SymbolId SymbolTable::Intern(std::string_view name) {
  const auto [entry, is_new] = ids_.emplace(name, static_cast<SymbolId>(names_.size()));
  if (is_new) names_.emplace_back(name);
  return entry->second;
}

void ExpressionParser::RaiseUnknown(size_t mark) const {
  if (unknown_.size() > mark) RaiseAt(unknown_[mark].line, "there is no {}", unknown_[mark].what);
}

ExprPtr ExpressionParser::ParseExpression(bool with_conditional) {
  return with_conditional ? ParseConditional() : ParseOr();
}

ExprPtr ExpressionParser::ParseConditional() {
  const DepthGuard guard(depth_, stream_.Line());
  const int line = stream_.Line();
  const size_t mark = UnknownMark();
  ExprPtr then = ParseOr();
  while (stream_.SkipName("if")) {
    ExprPtr test = ParseOr();
    ExprPtr otherwise = stream_.SkipName("else") ? ParseConditional() : nullptr;
    ForgiveUnknown(mark);
    const int height = std::max({HeightOf(test), HeightOf(then), HeightOf(otherwise)});
    then = Make(line, height, Conditional{std::move(test), std::move(then), std::move(otherwise)});
  }
  return then;
}

ExprPtr ExpressionParser::ParseOr() {
  ExprPtr left = ParseAnd();
  while (stream_.IsName("or")) {
    const int line = stream_.Take().line;
    ExprPtr right = ParseAnd();
    const int height = std::max(HeightOf(left), HeightOf(right));
    left = Make(line, height, Logical{false, std::move(left), std::move(right)});
  }
  return left;
}

ExprPtr ExpressionParser::ParseAnd() {
  ExprPtr left = ParseNot();
  while (stream_.IsName("and")) {
    const int line = stream_.Take().line;
    ExprPtr right = ParseNot();
    const int height = std::max(HeightOf(left), HeightOf(right));
    left = Make(line, height, Logical{true, std::move(left), std::move(right)});
  }
  return left;
}

ExprPtr ExpressionParser::ParseNot() {
  if (!stream_.IsName("not")) return ParseCompare();
  const int line = stream_.Take().line;
  const DepthGuard guard(depth_, line);
  ExprPtr operand = ParseNot();
  const int height = HeightOf(operand);
  return Make(line, height, Unary{Unary::Op::kNot, std::move(operand)});
}

ExprPtr ExpressionParser::ParseCompare() {
  static constexpr std::pair<std::string_view, CompareOp> kOperators[] = {
      {"==", CompareOp::kEq}, {"!=", CompareOp::kNe}, {"<", CompareOp::kLt},
      {"<=", CompareOp::kLe}, {">", CompareOp::kGt},  {">=", CompareOp::kGe}};
  const int line = stream_.Line();
  ExprPtr first = ParseSum();
  int height = HeightOf(first);
  std::vector<std::pair<CompareOp, ExprPtr>> rest;
  while (true) {
    const auto* const op = std::find_if(std::begin(kOperators), std::end(kOperators),
                                        [&](const auto& each) { return stream_.IsOperator(each.first); });
    CompareOp chosen = CompareOp::kIn;
    if (op != std::end(kOperators)) {
      chosen = op->second;
    } else if (stream_.IsName("not") && stream_.Ahead().IsName("in")) {
      stream_.Take();
      chosen = CompareOp::kNotIn;
    } else if (!stream_.IsName("in")) {
      break;
    }
    stream_.Take();
    rest.emplace_back(chosen, ParseSum());
    height = std::max(height, HeightOf(rest.back().second));
  }
  if (rest.empty()) return first;
  return Make(line, height, CompareExpr{std::move(first), std::move(rest)});
}

ExprPtr ExpressionParser::ParseSum() {
  ExprPtr left = ParseConcat();
  while (stream_.IsOperator("+") || stream_.IsOperator("-")) {
    const Token& op = stream_.Take();
    ExprPtr right = ParseConcat();
    const int height = std::max(HeightOf(left), HeightOf(right));
    const auto kind = op.text == "+" ? BinaryOp::kAdd : BinaryOp::kSub;
    left = Make(op.line, height, BinaryExpr{kind, std::move(left), std::move(right)});
  }
  return left;
}

ExprPtr ExpressionParser::ParseConcat() {
  const int line = stream_.Line();
  std::vector<ExprPtr> parts;
  parts.push_back(ParseProduct());
  while (stream_.SkipOperator("~")) parts.push_back(ParseProduct());
  if (parts.size() == 1) return std::move(parts[0]);
  const int height = HeightOf(parts);
  return Make(line, height, ConcatExpr{std::move(parts)});
}

ExprPtr ExpressionParser::ParseProduct() {
  static constexpr std::pair<std::string_view, BinaryOp> kOperators[] = {
      {"*", BinaryOp::kMul}, {"/", BinaryOp::kDiv}, {"//", BinaryOp::kFloorDiv}, {"%", BinaryOp::kMod}};
  ExprPtr left = ParsePower();
  while (true) {
    const auto* const op = std::find_if(std::begin(kOperators), std::end(kOperators),
                                        [&](const auto& each) { return stream_.IsOperator(each.first); });
    if (op == std::end(kOperators)) return left;
    const int line = stream_.Take().line;
    ExprPtr right = ParsePower();
    const int height = std::max(HeightOf(left), HeightOf(right));
    left = Make(line, height, BinaryExpr{op->second, std::move(left), std::move(right)});
  }
}

ExprPtr ExpressionParser::ParsePower() {
  ExprPtr left = ParseUnary();
  while (stream_.IsOperator("**")) {
    const int line = stream_.Take().line;
    ExprPtr right = ParseUnary();
    const int height = std::max(HeightOf(left), HeightOf(right));
    left = Make(line, height, BinaryExpr{BinaryOp::kPow, std::move(left), std::move(right)});
  }
  return left;
}

ExprPtr ExpressionParser::ParseUnary(bool with_filter) {
  const DepthGuard guard(depth_, stream_.Line());
  ExprPtr node;
  if (stream_.IsOperator("-") || stream_.IsOperator("+")) {
    const Token& sign = stream_.Take();
    ExprPtr operand = ParseUnary(false);
    const int height = HeightOf(operand);
    node = Make(sign.line, height, Unary{sign.text == "-" ? Unary::Op::kNegate : Unary::Op::kPlus, std::move(operand)});
  } else {
    node = ParsePrimary();
  }
  node = ParsePostfix(std::move(node));
  return with_filter ? ParseFiltersAndTests(std::move(node)) : std::move(node);
}

ExprPtr ExpressionParser::ParsePrimary(bool with_namespace) {
  const Token& token = stream_.Current();
  if (token.type == TokenType::kName) return ParseName(with_namespace);
  if (token.type == TokenType::kInteger || token.type == TokenType::kFloat) return ParseNumber();
  if (token.type == TokenType::kString) {
    std::string text;
    while (stream_.Is(TokenType::kString)) text += stream_.Take().text;  // "a" "b" is "ab"
    return Make(token.line, 0,
                Constant{Str{std::make_shared<const StrData>(nullptr, TracedText(std::move(text), true))}});
  }
  if (stream_.SkipOperator("(")) {
    ExprPtr inner = ParseTuple(true, {}, true);
    stream_.ExpectOperator(")");
    return inner;
  }
  if (stream_.IsOperator("[")) return ParseList();
  if (stream_.IsOperator("{")) return ParseDict();
  RaiseAt(token.line, "expected an expression, got {}", TokenStream::Describe(token));
}

ExprPtr ExpressionParser::ParseName(bool with_namespace) {
  const Token& token = stream_.Take();
  const std::string& name = token.text;
  if (name == "true" || name == "True") return Make(token.line, 0, Constant{Value::Bool(true, true)});
  if (name == "false" || name == "False") return Make(token.line, 0, Constant{Value::Bool(false, true)});
  if (name == "none" || name == "None") return Make(token.line, 0, Constant{Value()});
  if (with_namespace && stream_.SkipOperator(".")) {
    const Token& attribute = stream_.Expect(TokenType::kName, "an attribute name");
    return Make(token.line, 0, NamespaceRef{symbols_.Intern(name), attribute.text});
  }
  saw_caller |= name == "caller";
  saw_varargs |= name == "varargs";
  saw_kwargs |= name == "kwargs";
  return Make(token.line, 0, Name{symbols_.Intern(name)});
}

ExprPtr ExpressionParser::ParseNumber() {
  const Token& token = stream_.Take();
  const char* begin = token.text.data();
  const char* end = begin + token.text.size();
  if (token.type == TokenType::kFloat) {
    double value = 0;
    const auto parsed = std::from_chars(begin, end, value);
    if (parsed.ec == std::errc::result_out_of_range) RaiseAt(token.line, "the number {} is out of range", token.text);
    return Make(token.line, 0, Constant{Value::Float(value, true)});
  }
  const char prefix = token.text.size() > 2 ? static_cast<char>(token.text[1] | 0x20) : '0';
  const int base = prefix == 'x' ? 16 : prefix == 'o' ? 8 : prefix == 'b' ? 2 : 10;
  int64_t value = 0;
  const auto parsed = std::from_chars(base == 10 ? begin : begin + 2, end, value, base);
  if (parsed.ec != std::errc()) RaiseAt(token.line, "the number {} does not fit a 64-bit integer", Shorten(token.text));
  return Make(token.line, 0, Constant{Value::Int(value, true)});
}

ExprPtr ExpressionParser::ParseList() {
  const int line = stream_.Take().line;
  std::vector<ExprPtr> items;
  while (!stream_.IsOperator("]")) {
    if (!items.empty()) stream_.ExpectOperator(",");
    if (stream_.IsOperator("]")) break;
    items.push_back(ParseExpression());
  }
  stream_.ExpectOperator("]");
  const int height = HeightOf(items);
  return Make(line, height, ListExpr{std::move(items), false});
}

ExprPtr ExpressionParser::ParseDict() {
  const int line = stream_.Take().line;
  std::vector<std::pair<ExprPtr, ExprPtr>> items;
  int height = 0;
  while (!stream_.IsOperator("}")) {
    if (!items.empty()) stream_.ExpectOperator(",");
    if (stream_.IsOperator("}")) break;
    ExprPtr key = ParseExpression();
    stream_.ExpectOperator(":");
    ExprPtr value = ParseExpression();
    height = std::max({height, HeightOf(key), HeightOf(value)});
    items.emplace_back(std::move(key), std::move(value));
  }
  stream_.ExpectOperator("}");
  return Make(line, height, DictExpr{std::move(items)});
}

bool ExpressionParser::AtTupleEnd(std::string_view end_name) const {
  return stream_.Is(TokenType::kVariableEnd) || stream_.Is(TokenType::kBlockEnd) || stream_.IsOperator(")") ||
         (!end_name.empty() && stream_.IsName(end_name));
}

ExprPtr ExpressionParser::ParseTuple(bool with_conditional, std::string_view end_name, bool in_parentheses) {
  const int line = stream_.Line();
  std::vector<ExprPtr> items;
  bool is_tuple = false;
  while (true) {
    if (!items.empty()) stream_.ExpectOperator(",");
    if (AtTupleEnd(end_name)) break;
    items.push_back(ParseExpression(with_conditional));
    if (!stream_.IsOperator(",")) break;
    is_tuple = true;
  }
  if (!is_tuple && !items.empty()) return std::move(items[0]);
  if (!is_tuple && !in_parentheses) {
    RaiseAt(line, "expected an expression, got {}", TokenStream::Describe(stream_.Current()));
  }
  const int height = HeightOf(items);
  return Make(line, height, ListExpr{std::move(items), true});
}

ExprPtr ExpressionParser::ParseTarget(std::string_view end_name, bool with_namespace) {
  const int line = stream_.Line();
  std::vector<ExprPtr> items;
  bool is_tuple = false;
  while (true) {
    if (!items.empty()) stream_.ExpectOperator(",");
    if (AtTupleEnd(end_name)) break;
    items.push_back(ParsePrimary(with_namespace));
    RequireAssignable(*items.back());
    if (!stream_.IsOperator(",")) break;
    is_tuple = true;
  }
  if (!is_tuple && !items.empty()) return std::move(items[0]);
  if (items.empty()) RaiseAt(line, "expected a name to assign to");
  const int height = HeightOf(items);
  return Make(line, height, ListExpr{std::move(items), true});
}

const Token& ExpressionParser::ParseTargetName() {
  const Token& token = stream_.Expect(TokenType::kName, "a name");
  for (const std::string_view constant : {"true", "false", "none", "True", "False", "None"}) {
    if (token.text == constant) RaiseAt(token.line, "can't assign to '{}'", token.text);
  }
  return token;
}

void ExpressionParser::RequireAssignable(const Expr& target) const {
  if (std::holds_alternative<Name>(target.node) || std::holds_alternative<NamespaceRef>(target.node)) return;
  const ListExpr* tuple = std::get_if<ListExpr>(&target.node);
  if (tuple == nullptr || !tuple->is_tuple) RaiseAt(target.line, "can't assign to this expression");
  for (const ExprPtr& item : tuple->items) RequireAssignable(*item);
}

ExprPtr ExpressionParser::ParsePostfix(ExprPtr node) {
  while (true) {
    if (stream_.IsOperator(".") || stream_.IsOperator("[")) {
      node = ParseSubscript(std::move(node));
    } else if (stream_.IsOperator("(")) {
      node = ParseCall(std::move(node));
    } else {
      return node;
    }
  }
}

ExprPtr ExpressionParser::ParseFiltersAndTests(ExprPtr node) {
  while (true) {
    if (stream_.IsOperator("|")) {
      node = ParseFilters(std::move(node), false);
    } else if (stream_.IsName("is")) {
      node = ParseTest(std::move(node));
    } else if (stream_.IsOperator("(")) {
      node = ParseCall(std::move(node));
    } else {
      return node;
    }
  }
}

ExprPtr ExpressionParser::ParseCall(ExprPtr callee) {
  const int line = stream_.Line();
  ArgList args = ParseArgs();
  const int height = std::max(HeightOf(callee), HeightOf(args));
  return Make(line, height, Call{std::move(callee), std::move(args)});
}

std::string ExpressionParser::ParseDottedName() {
  std::string name = stream_.Expect(TokenType::kName, "a name").text;
  while (stream_.SkipOperator(".")) name += "." + stream_.Expect(TokenType::kName, "a name").text;
  return name;
}

ExprPtr ExpressionParser::ParseFilters(ExprPtr input, bool inline_start) {
  while (inline_start || stream_.IsOperator("|")) {
    if (!inline_start) stream_.Take();
    inline_start = false;
    const int line = stream_.Line();
    std::string name = ParseDottedName();
    const Builtin* filter = FindFilter(name);
    if (filter == nullptr) unknown_.push_back({line, "filter '" + name + "'"});
    ArgList args = stream_.IsOperator("(") ? ParseArgs() : ArgList{};
    const int height = std::max(HeightOf(input), HeightOf(args));
    input = Make(line, height, FilterExpr{std::move(input), std::move(name), filter, std::move(args)});
  }
  return input;
}

ExprPtr ExpressionParser::ParseTest(ExprPtr input) {
  const int line = stream_.Take().line;
  const bool negated = stream_.SkipName("not");
  std::string name = ParseDottedName();
  const Builtin* test = FindTest(name);
  if (test == nullptr) unknown_.push_back({line, "test '" + name + "'"});
  ArgList args;
  const bool starts_argument = stream_.Is(TokenType::kName) || stream_.Is(TokenType::kString) ||
                               stream_.Is(TokenType::kInteger) || stream_.Is(TokenType::kFloat) ||
                               stream_.IsOperator("[") || stream_.IsOperator("{");
  if (stream_.IsOperator("(")) {
    args = ParseArgs();
  } else if (starts_argument && !stream_.IsAnyName({"else", "or", "and"})) {
    if (stream_.IsName("is")) RaiseAt(line, "tests cannot be chained with 'is'");
    args.args.push_back({"", ParsePostfix(ParsePrimary())});
  }
  const int height = std::max(HeightOf(input), HeightOf(args));
  ExprPtr node = Make(line, height, TestExpr{std::move(input), std::move(name), test, std::move(args)});
  if (!negated) return node;
  return Make(line, height + 1, Unary{Unary::Op::kNot, std::move(node)});
}

ExprPtr ExpressionParser::ParseSubscript(ExprPtr object) {
  const Token& token = stream_.Take();
  const int height = HeightOf(object);
  if (token.text == ".") {
    if (stream_.Is(TokenType::kName)) {
      return Make(token.line, height, Attribute{std::move(object), stream_.Take().text});
    }
    if (!stream_.Is(TokenType::kInteger)) RaiseAt(token.line, "expected a name or a number after '.'");
    return Make(token.line, height, Item{std::move(object), ParseNumber()});
  }
  std::vector<ExprPtr> keys;
  while (!stream_.IsOperator("]")) {
    if (!keys.empty()) stream_.ExpectOperator(",");
    keys.push_back(ParseSubscriptKey());
  }
  stream_.ExpectOperator("]");
  if (keys.empty()) RaiseAt(token.line, "a subscript is empty");
  const int key_height = HeightOf(keys);
  ExprPtr key = std::move(keys[0]);
  if (keys.size() > 1) {
    keys[0] = std::move(key);
    key = Make(token.line, key_height, ListExpr{std::move(keys), true});
  }
  return Make(token.line, std::max(height, key_height + 1), Item{std::move(object), std::move(key)});
}

ExprPtr ExpressionParser::ParseSubscriptKey() {
  const int line = stream_.Line();
  const auto parse_bound = [&]() -> ExprPtr {
    const bool absent = stream_.IsOperator(":") || stream_.IsOperator("]") || stream_.IsOperator(",");
    return absent ? nullptr : ParseExpression();
  };
  ExprPtr start = stream_.IsOperator(":") ? nullptr : ParseExpression();
  if (!stream_.SkipOperator(":")) return start;
  ExprPtr stop = parse_bound();
  ExprPtr step = stream_.SkipOperator(":") ? parse_bound() : nullptr;
  const int height = std::max({HeightOf(start), HeightOf(stop), HeightOf(step)});
  return Make(line, height, Slice{std::move(start), std::move(stop), std::move(step)});
}

ArgList ExpressionParser::ParseArgs() {
  const int line = stream_.Line();
  const auto require = [&](bool valid) {
    if (!valid) RaiseAt(line, "invalid order of arguments in a call");
  };
  stream_.ExpectOperator("(");
  ArgList out;
  bool saw_keyword = false;
  for (bool is_first = true; !stream_.IsOperator(")"); is_first = false) {
    if (!is_first) {
      stream_.ExpectOperator(",");
      if (stream_.IsOperator(")")) break;
    }
    if (stream_.SkipOperator("*")) {
      require(out.varargs == nullptr && out.kwargs == nullptr);
      out.varargs = ParseExpression();
    } else if (stream_.SkipOperator("**")) {
      require(out.kwargs == nullptr);
      out.kwargs = ParseExpression();
    } else if (stream_.Is(TokenType::kName) && stream_.Ahead().IsOperator("=")) {
      require(out.kwargs == nullptr);
      std::string name = stream_.Take().text;
      stream_.Take();
      saw_keyword = true;
      out.args.push_back({std::move(name), ParseExpression()});
    } else {
      require(out.varargs == nullptr && out.kwargs == nullptr && !saw_keyword);
      out.args.push_back({"", ParseExpression()});
    }
  }
  stream_.ExpectOperator(")");
  return out;
}

}  // namespace inferflux::text::jinja
