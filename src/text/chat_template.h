// A model's chat template: turns messages and tools into the text of the prompt, with the origin of every byte.
#pragma once

#include <boost/json/object.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/text_span.h"

namespace inferflux::text {

namespace jinja {
struct Template;
}

struct RenderOptions {
  // The time for strftime_now(); the system clock's UTC time if it is absent.
  std::optional<std::chrono::sys_seconds> now;
  // Context variables from the model's own files. Their strings may match control tokens, like the template's own text.
  // A caller must not let a request set a variable with such a name.
  std::vector<std::string> trusted_variables = {"bos_token", "eos_token", "unk_token", "sep_token",
                                                "pad_token", "cls_token", "mask_token"};
  // One step is roughly one evaluated node, one visited item, or 32 copied bytes.
  uint64_t max_steps = 20'000'000;
  // Live bytes of all values while rendering, including the context.
  uint64_t max_memory_bytes = 512ULL << 20;
  uint64_t max_output_bytes = 64ULL << 20;
  // Nested evaluations: expressions within expressions, blocks within blocks, macros that call macros.
  int max_recursion_depth = 1000;
};

// Jinja2 3.1's ImmutableSandboxedEnvironment as configured by Hugging Face's transformers: trim_blocks, lstrip_blocks,
// loop controls, tojson as plain json.dumps, raise_exception, strftime_now, {% generation %}. Differences: an int has
// 64 bits; {% include %} and related tags and the filters pprint, random, striptags, urlize and wordwrap are refused;
// and a template may change a list in a namespace by append and pop, which Kimi K2's templates need to render calls.
//
// Immutable after Compile, so any number of threads may render at once.
class ChatTemplate {
 public:
  // kInvalidArgument, with the line, for what Jinja2 does not compile and for unsupported features.
  static Result<ChatTemplate> Compile(std::string_view source);

  // `context` holds the variables: messages, tools, add_generation_prompt, bos_token, ... Absent ones are undefined.
  // Neighbouring spans differ in trust; their concatenated texts are the rendered text. Errors name the template's
  // line: kInvalidArgument if the template raises or cannot continue, kResourceExhausted if it reaches a limit.
  Result<std::vector<TextSpan>> Render(const boost::json::object& context, const RenderOptions& options = {}) const;

  // The text that was compiled.
  const std::string& source() const { return source_; }

 private:
  ChatTemplate(std::shared_ptr<const jinja::Template> parsed, std::string_view source)
      : parsed_(std::move(parsed)), source_(source) {}

  std::shared_ptr<const jinja::Template> parsed_;
  std::string source_;
};

}  // namespace inferflux::text
