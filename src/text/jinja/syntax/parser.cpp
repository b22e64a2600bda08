#include "text/jinja/syntax/parser.h"

#include <initializer_list>
#include <utility>

#include "text/jinja/syntax/expression_parser.h"
#include "text/jinja/syntax/lexer.h"

namespace inferflux::text::jinja {
namespace {

// Bounds the nesting of statements, and so the recursion of parsing and rendering.
constexpr int kMaxBlockDepth = 100;

class StatementParser {
 public:
  explicit StatementParser(TokenStream stream) : stream_(std::move(stream)), expressions_(stream_, symbols_) {}

  Template Run() {
    Template out;
    out.body = ParseBody({});
    expressions_.RaiseUnknown(0);
    out.loop = symbols_.Intern("loop");
    out.caller = symbols_.Intern("caller");
    out.varargs = symbols_.Intern("varargs");
    out.kwargs = symbols_.Intern("kwargs");
    out.names = symbols_.TakeNames();
    return out;
  }

 private:
  using Names = std::initializer_list<std::string_view>;

  // Statements up to the first tag in `end_names`, whose name becomes the current token; without `end_names`, up to the
  // end.
  Body ParseBody(Names end_names) {
    if (depth_ >= kMaxBlockDepth) RaiseAt(stream_.Line(), "blocks nest deeper than {} levels", kMaxBlockDepth);
    ++depth_;
    Body body;
    Output output;
    int output_line = stream_.Line();
    const auto flush = [&] {
      if (!output.parts.empty()) body.push_back({std::exchange(output, {}), output_line});
      output_line = stream_.Line();
    };
    while (!stream_.Is(TokenType::kEnd)) {
      if (stream_.Is(TokenType::kData)) {
        output.parts.push_back(DataExpr(stream_.Take()));
      } else if (stream_.Is(TokenType::kVariableBegin)) {
        stream_.Take();
        output.parts.push_back(expressions_.ParseTuple());
        stream_.Expect(TokenType::kVariableEnd, "'}}'");
      } else {
        stream_.Expect(TokenType::kBlockBegin, "a tag");
        flush();
        if (stream_.IsAnyName(end_names)) {
          --depth_;
          return body;
        }
        ParseStatement(body, end_names);
        stream_.Expect(TokenType::kBlockEnd, "'%}'");
      }
    }
    flush();
    if (end_names.size() > 0) {
      RaiseAt(stream_.Line(), "the template ends inside a block: '{{% {} %}}' is missing", *(end_names.end() - 1));
    }
    --depth_;
    return body;
  }

  // A body after the rest of its opening tag, up to and including the name of its closing tag.
  Body ParseBlock(std::string_view end_name) {
    Body body = ParseBlockUpTo({end_name});
    stream_.Take();
    return body;
  }

  Body ParseBlockUpTo(Names end_names) {
    stream_.SkipOperator(":");
    stream_.Expect(TokenType::kBlockEnd, "'%}'");
    return ParseBody(end_names);
  }

  // Jinja2 compiles these bodies separately: a condition around them does not excuse an unknown filter inside.
  Body ParseHardBlock(std::string_view end_name) {
    const size_t mark = expressions_.UnknownMark();
    Body body = ParseBlock(end_name);
    expressions_.RaiseUnknown(mark);
    return body;
  }

  // A body whose text is collected: it cannot break or continue a loop around it.
  Body ParseCapturedBlock(std::string_view end_name) {
    const int outer_loops = std::exchange(loops_, 0);
    Body body = ParseHardBlock(end_name);
    loops_ = outer_loops;
    return body;
  }

  static ExprPtr DataExpr(const Token& token) {
    Str text{std::make_shared<const StrData>(nullptr, TracedText(token.text, true))};
    return std::make_unique<Expr>(Expr{Constant{std::move(text)}, token.line, 1});
  }

  void ParseStatement(Body& body, Names end_names) {
    using Method = Stmt::Node (StatementParser::*)();
    static constexpr std::pair<std::string_view, Method> kTags[] = {
        {"for", &StatementParser::ParseFor},
        {"if", &StatementParser::ParseIf},
        {"set", &StatementParser::ParseSet},
        {"macro", &StatementParser::ParseMacro},
        {"call", &StatementParser::ParseCallBlock},
        {"filter", &StatementParser::ParseFilterBlock},
        {"with", &StatementParser::ParseWith},
        {"print", &StatementParser::ParsePrint},
        {"break", &StatementParser::ParseLoopControl},
        {"continue", &StatementParser::ParseLoopControl},
        {"generation", &StatementParser::ParseGeneration},
        {"block", &StatementParser::ParseNamedBlock},
    };
    const Token& tag = stream_.Current();
    if (tag.type != TokenType::kName)
      RaiseAt(tag.line, "expected the name of a tag, got {}", TokenStream::Describe(tag));
    for (const auto& [name, method] : kTags) {
      if (tag.text != name) continue;
      body.push_back({(this->*method)(), tag.line});
      return;
    }
    for (const std::string_view name : {"extends", "include", "import", "from", "autoescape"}) {
      if (tag.text == name) RaiseAt(tag.line, "the tag '{}' is not supported: a chat template is a single file", name);
    }
    if (end_names.size() == 0) RaiseAt(tag.line, "unknown tag '{}'", tag.text);
    RaiseAt(tag.line, "unknown tag '{}' inside a block that ends with '{}'", tag.text, *(end_names.end() - 1));
  }

  Stmt::Node ParseFor() {
    stream_.Take();
    For out;
    const int line = stream_.Line();
    out.target = expressions_.ParseTarget("in");
    RequireNotLoop(*out.target, line);
    stream_.ExpectName("in");
    out.iterable = expressions_.ParseTuple(false, "recursive");
    const size_t mark = expressions_.UnknownMark();
    if (stream_.SkipName("if")) out.filter = expressions_.ParseExpression();
    out.recursive = stream_.SkipName("recursive");
    ++loops_;
    out.body = ParseBlockUpTo({"else", "endfor"});
    --loops_;
    if (stream_.Take().text == "else") out.otherwise = ParseBlock("endfor");
    expressions_.RaiseUnknown(mark);
    return out;
  }

  void RequireNotLoop(const Expr& target, int line) {
    if (const auto* name = std::get_if<Name>(&target.node);
        name != nullptr && name->symbol == symbols_.Intern("loop")) {
      RaiseAt(line, "can't assign to the special variable 'loop'");
    }
    if (const auto* tuple = std::get_if<ListExpr>(&target.node)) {
      for (const ExprPtr& item : tuple->items) RequireNotLoop(*item, line);
    }
  }

  Stmt::Node ParseIf() {
    If out;
    const size_t mark = expressions_.UnknownMark();
    while (true) {
      stream_.Take();  // if or elif
      ExprPtr test = expressions_.ParseTuple(false);
      out.branches.emplace_back(std::move(test), ParseBlockUpTo({"elif", "else", "endif"}));
      if (!stream_.IsName("elif")) break;
    }
    if (stream_.Take().text == "else") out.otherwise = ParseBlock("endif");
    expressions_.ForgiveUnknown(mark);
    return out;
  }

  Stmt::Node ParseSet() {
    const int line = stream_.Take().line;
    ExprPtr target = expressions_.ParseTarget({}, true);
    if (loops_ > 0) RequireNotLoop(*target, line);
    if (stream_.SkipOperator("=")) return Set{std::move(target), expressions_.ParseTuple()};
    ExprPtr filter = expressions_.ParseFilters(nullptr, false);
    return SetBlock{std::move(target), std::move(filter), ParseCapturedBlock("endset")};
  }

  Stmt::Node ParseWith() {
    stream_.Take();
    With out;
    while (!stream_.Is(TokenType::kBlockEnd)) {
      if (!out.bindings.empty()) stream_.ExpectOperator(",");
      ExprPtr target = expressions_.ParseTarget();
      stream_.ExpectOperator("=");
      out.bindings.emplace_back(std::move(target), expressions_.ParseExpression());
    }
    out.body = ParseHardBlock("endwith");
    return out;
  }

  Stmt::Node ParsePrint() {
    stream_.Take();
    Output out;
    while (!stream_.Is(TokenType::kBlockEnd)) {
      if (!out.parts.empty()) stream_.ExpectOperator(",");
      out.parts.push_back(expressions_.ParseExpression());
    }
    return out;
  }

  Stmt::Node ParseLoopControl() {
    const Token& tag = stream_.Take();
    if (loops_ == 0) RaiseAt(tag.line, "'{}' outside of a loop", tag.text);
    return LoopControl{tag.text == "break"};
  }

  std::vector<Parameter> ParseSignature() {
    stream_.ExpectOperator("(");
    std::vector<Parameter> out;
    while (!stream_.IsOperator(")")) {
      if (!out.empty()) stream_.ExpectOperator(",");
      const Token& name = expressions_.ParseTargetName();
      Parameter parameter{symbols_.Intern(name.text), name.text, nullptr};
      for (const Parameter& other : out) {
        if (other.name == parameter.name) RaiseAt(name.line, "the parameter '{}' is named twice", name.text);
      }
      if (stream_.SkipOperator("=")) {
        parameter.fallback = expressions_.ParseExpression();
      } else if (!out.empty() && out.back().fallback != nullptr) {
        RaiseAt(name.line, "a parameter without a default follows one with a default");
      }
      out.push_back(std::move(parameter));
    }
    stream_.ExpectOperator(")");
    return out;
  }

  // The body of a macro or call block; records which of the special variables it mentions.
  void ParseMacroBody(MacroDefinition& macro, std::string_view end_name) {
    const bool outer_caller = std::exchange(expressions_.saw_caller, false);
    const bool outer_varargs = std::exchange(expressions_.saw_varargs, false);
    const bool outer_kwargs = std::exchange(expressions_.saw_kwargs, false);
    macro.body = ParseCapturedBlock(end_name);
    macro.uses_caller = std::exchange(expressions_.saw_caller, expressions_.saw_caller || outer_caller);
    macro.uses_varargs = std::exchange(expressions_.saw_varargs, expressions_.saw_varargs || outer_varargs);
    macro.uses_kwargs = std::exchange(expressions_.saw_kwargs, expressions_.saw_kwargs || outer_kwargs);
    for (const Parameter& parameter : macro.parameters) {
      if (parameter.name == "varargs") macro.uses_varargs = false;
      if (parameter.name == "kwargs") macro.uses_kwargs = false;
      if (parameter.name == "caller" && macro.uses_caller && parameter.fallback == nullptr) {
        RaiseAt(stream_.Line(), "the special parameter 'caller' must have a default");
      }
    }
  }

  Stmt::Node ParseMacro() {
    stream_.Take();
    MacroStmt out;
    const size_t mark = expressions_.UnknownMark();
    out.macro.name = expressions_.ParseTargetName().text;
    out.macro.symbol = symbols_.Intern(out.macro.name);
    out.macro.parameters = ParseSignature();
    expressions_.RaiseUnknown(mark);
    ParseMacroBody(out.macro, "endmacro");
    return out;
  }

  Stmt::Node ParseCallBlock() {
    const int line = stream_.Take().line;
    CallBlock out;
    out.caller.symbol = symbols_.Intern("caller");
    if (stream_.IsOperator("(")) out.caller.parameters = ParseSignature();
    out.call = expressions_.ParseExpression();
    if (!std::holds_alternative<Call>(out.call->node)) RaiseAt(line, "a call block needs a call");
    ParseMacroBody(out.caller, "endcall");
    return out;
  }

  Stmt::Node ParseFilterBlock() {
    stream_.Take();
    ExprPtr filter = expressions_.ParseFilters(nullptr, true);
    return FilterBlock{std::move(filter), ParseCapturedBlock("endfilter")};
  }

  // {% generation %} marks the model's own text, for training; here its body is just rendered.
  Stmt::Node ParseGeneration() {
    stream_.Take();
    return ScopeBlock{true, ParseCapturedBlock("endgeneration")};
  }

  // Nothing extends a chat template, so a named block is rendered in place.
  Stmt::Node ParseNamedBlock() {
    stream_.Take();
    const std::string name = stream_.Expect(TokenType::kName, "the name of a block").text;
    const bool scoped = stream_.SkipName("scoped");
    Body body = ParseCapturedBlock("endblock");
    stream_.SkipName(name);
    return ScopeBlock{scoped, std::move(body)};
  }

  TokenStream stream_;
  SymbolTable symbols_;
  ExpressionParser expressions_;
  int depth_ = 0;
  int loops_ = 0;  // loops around the current position, within one macro
};

}  // namespace

Template Parse(std::string_view source) { return StatementParser(TokenStream(Tokenize(source))).Run(); }

}  // namespace inferflux::text::jinja
