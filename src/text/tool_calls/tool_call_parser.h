// Finds tool calls in generated text as it arrives, in the model's format.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/stream_parser.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/tool_calls/element_reader.h"
#include "text/tool_calls/read_step.h"
#include "text/tool_calls/tool_call_syntax.h"
#include "text/tool_calls/value_reader.h"

namespace inferflux::text {

class ToolCallParser {
 public:
  using Tools = std::shared_ptr<const std::vector<OfferedTool>>;

  struct Output {
    std::string content;
    std::vector<FoundToolCall> calls;
  };

  // `syntax` must outlive the parser. `tools` are those that the request offers: a bare call must name one of them, and
  // tagged arguments have the types of their schemas. Without `several`, a bare call is the only one.
  ToolCallParser(const ToolCallSyntax& syntax, Tools tools, bool several);

  // Returns what `text` decides. Text that may be the beginning of a call, and space that may precede one, is held
  // back. Text that turns out not to be a call becomes content, unchanged.
  Output Feed(std::string_view text);
  // The end of the text: held-back text becomes content, unless it is a call that lacks only its closing.
  Output Finish();

  // The number of calls found so far.
  size_t found() const { return found_; }

 private:
  // What the parser expects next.
  enum class At : uint8_t { kAnswer, kText, kOpens, kCallOpens, kName, kJson, kKey, kValue, kCallCloses, kBehindCall };
  using Step = ReadStep;

  Step Next(Output& out);
  void Run(Output& out);
  Step Answer();
  Step Text(Output& out);
  Step Expect(std::string_view marker, At next);
  Step Name();
  Step Json();
  Step Arguments();
  Step Key(Output& out);
  Step Value();
  Step CallCloses(Output& out);
  Step BehindCall();
  void Deliver(Output& out);
  void Release(size_t bytes, Output& out);

  const ToolCallSyntax& syntax_;
  const Tools tools_;
  const bool several_;
  const std::string opens_, closes_;     // of all calls, including a list's brackets
  std::vector<std::string> bare_opens_;  // how an answer that is a bare call begins

  std::string pending_;  // undecided: space, then a call that has begun
  At at_state_;
  size_t at_ = 0;     // of pending_, what is decided so far
  size_t begun_ = 0;  // of pending_, where the call begins
  size_t found_ = 0;
  bool ended_ = false;

  // Of the call that has begun.
  FoundToolCall call_;
  boost::json::stream_parser json_;
  bool in_json_ = false;
  ValueReader values_;
  ElementReader elements_;
  boost::json::value parameters_;  // the called tool's schema
  boost::json::object arguments_;  // of a kTagged
  std::string key_;
  size_t value_ = 0;  // of pending_, where the value begins
};

}  // namespace inferflux::text
