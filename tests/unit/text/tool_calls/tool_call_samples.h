// Calls as models write them: the output of their chat templates, by format.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace inferflux::text::testing {

struct ToolCallSample {
  std::string_view syntax;
  std::string_view opens, call, between, closes;  // in `call` # is its number, $ a word, and % an integer
};

inline constexpr ToolCallSample kToolCallSamples[] = {
    {"hermes", "", "<tool_call>\n{\"name\": \"look_up\", \"arguments\": {\"word\": \"$\", \"pages\": %}}\n</tool_call>",
     "\n", ""},
    {"llama 3", "", R"({"name": "look_up", "parameters": {"word": "$", "pages": %}})", "; ", ""},
    {"llama 4", "", R"({"name": "look_up", "parameters": {"word": "$", "pages": %}})", "; ", ""},
    {"mistral", "[TOOL_CALLS][", R"({"name": "look_up", "arguments": {"word": "$", "pages": %}})", ", ", "]"},
    {"mistral, named", "", R"([TOOL_CALLS]look_up[ARGS]{"word": "$", "pages": %})", "", ""},
    {"mistral, numbered", "", R"([TOOL_CALLS]look_up[CALL_ID]a0000000#[ARGS]{"word": "$", "pages": %})", "", ""},
    {"granite 3", "<|tool_call|>[", R"({"name": "look_up", "arguments": {"word": "$", "pages": %}})", ", ", "]"},
    {"deepseek 3.1", "<｜tool▁calls▁begin｜>",
     R"(<｜tool▁call▁begin｜>look_up<｜tool▁sep｜>{"word": "$", "pages": %}<｜tool▁call▁end｜>)", "",
     "<｜tool▁calls▁end｜>"},
    {"deepseek 3", "<｜tool▁calls▁begin｜>",
     "<｜tool▁call▁begin｜>function<｜tool▁sep｜>look_up\n```json\n{\"word\": \"$\", \"pages\": "
     "%}\n```<｜tool▁call▁end｜>",
     "\n", "<｜tool▁calls▁end｜>"},
    {"kimi", "<|tool_calls_section_begin|>",
     R"(<|tool_call_begin|>functions.look_up:#<|tool_call_argument_begin|>{"word": "$", "pages": %}<|tool_call_end|>)",
     "", "<|tool_calls_section_end|>"},
    {"qwen coder", "",
     "<tool_call>\n<function=look_up>\n<parameter=word>\n$\n</parameter>\n<parameter=pages>\n%\n</parameter>\n"
     "</function>\n</tool_call>",
     "\n", ""},
    {"glm", "",
     "<tool_call>look_up\n<arg_key>word</arg_key>\n<arg_value>$</arg_value>\n<arg_key>pages</arg_key>\n"
     "<arg_value>%</arg_value>\n</tool_call>",
     "\n", ""},
    {"command r7b", "<|START_ACTION|>[\n    ",
     R"({"tool_call_id": "#", "tool_name": "look_up", "parameters": {"word": "$", "pages": %}})", ",\n    ",
     "\n]<|END_ACTION|>"},
    {"nemotron 2", "<TOOLCALL>[", R"({"name": "look_up", "arguments": {"word": "$", "pages": %}})", ", ",
     "]</TOOLCALL>"},
    {"apriel", "<tool_calls>[", R"({"name": "look_up", "arguments": {"word": "$", "pages": %}})", ", ",
     "]</tool_calls>"},
    {"apertus", "<|tools_prefix|>[", R"({"look_up": {"word": "$", "pages": %}})", ", ", "]<|tools_suffix|>"},
    {"gigachat 3.1", "", R"(<|function_call|>{"name": "look_up", "arguments": {"word": "$", "pages": %}})", "", ""},
    {"gigachat 3", "",
     "function call<|role_sep|>\n{\"name\": \"look_up\", \"arguments\": {\"word\": \"$\", \"pages\": %}}", "", ""},
    {"solar", "<|tool_calls|>",
     R"(<|tool_call:begin|>call0000#<|tool_call:name|>look_up<|tool_call:args|>{"word": "$", "pages": %})"
     "<|tool_call:end|>",
     "", "<|calls|>"},
    {"seed", "",
     "<seed:tool_call>\n<function=look_up>\n<parameter=word>$</parameter>\n<parameter=pages>%</parameter>\n</"
     "function>\n"
     "</seed:tool_call>",
     "\n", ""},
    {"minimax 2", "<minimax:tool_call>\n",
     "<invoke name=\"look_up\">\n<parameter name=\"word\">$</parameter>\n<parameter name=\"pages\">%</parameter>\n"
     "</invoke>\n",
     "", "</minimax:tool_call>"},
    {"deepseek 4", "<｜DSML｜tool_calls>\n",
     "<｜DSML｜invoke name=\"look_up\">\n<｜DSML｜parameter name=\"word\" string=\"true\">$</｜DSML｜parameter>\n"
     "<｜DSML｜parameter name=\"pages\" string=\"false\">%</｜DSML｜parameter>\n</｜DSML｜invoke>\n",
     "", "</｜DSML｜tool_calls>"},
    {"deepseek 3.2", "<｜DSML｜function_calls>\n",
     "<｜DSML｜invoke name=\"look_up\">\n<｜DSML｜parameter name=\"word\" string=\"true\">$</｜DSML｜parameter>\n"
     "<｜DSML｜parameter name=\"pages\" string=\"false\">%</｜DSML｜parameter>\n</｜DSML｜invoke>\n",
     "", "</｜DSML｜function_calls>"},
    {"hunyuan 3", "<tool_calls:opensource>\n",
     "<tool_call:opensource>look_up<tool_sep:opensource>\n<arg_key:opensource>word</arg_key:opensource>\n"
     "<arg_value:opensource>$</arg_value:opensource>\n<arg_key:opensource>pages</arg_key:opensource>\n"
     "<arg_value:opensource>%</arg_value:opensource>\n</tool_call:opensource>\n",
     "", "</tool_calls:opensource>"},
    {"minicpm 5", "",
     R"(<function name="look_up"><param name="word">$</param><param name="pages">%</param></function>)", "\n", ""},
    {"gemma 4", "", R"(<|tool_call>call:look_up{pages:%,word:<|"|>$<|"|>}<tool_call|>)", "", ""},
    {"lfm", "<|tool_call_start|>[", "look_up(word='$', pages=%)", ", ", "]<|tool_call_end|>"},
    {"minimax 3", "]<]minimax[>[<tool_call>\n",
     "]<]minimax[>[<invoke name=\"look_up\">]<]minimax[>[<word>$]<]minimax[>[</word>"
     "]<]minimax[>[<pages>%]<]minimax[>[</pages>]<]minimax[>[</invoke>\n",
     "", "]<]minimax[>[</tool_call>"},
};

struct WordAndPages {
  std::string_view word, pages;
};

inline std::string Written(const ToolCallSample& sample, const std::vector<WordAndPages>& calls) {
  std::string out(sample.opens);
  for (size_t i = 0; i < calls.size(); ++i) {
    if (i > 0) out += sample.between;
    for (const char c : sample.call) {
      if (c == '#') {
        out += std::to_string(i);
      } else if (c == '$') {
        out += calls[i].word;
      } else if (c == '%') {
        out += calls[i].pages;
      } else {
        out += c;
      }
    }
  }
  return out.append(sample.closes);
}

}  // namespace inferflux::text::testing
