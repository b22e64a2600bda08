#include "text/reasoning/reasoning_form.h"

namespace inferflux::text {
namespace {

constexpr ReasoningForm kReasoningForms[] = {
    {.id = "think", .opens = "<think>", .closes = "</think>"},
    {.id = "thinking", .opens = "<thinking>", .closes = "</thinking>"},
    {.id = "seed", .opens = "<seed:think>", .closes = "</seed:think>"},
    {.id = "minimax 3", .opens = "<mm:think>", .closes = "</mm:think>"},
    {.id = "magistral", .opens = "[THINK]", .closes = "[/THINK]"},
    {.id = "command", .opens = "<|START_THINKING|>", .closes = "<|END_THINKING|>"},
    {.id = "gemma 4", .opens = "<|channel>thought\n", .closes = "<channel|>"},
    {.id = "apriel", .opens = "Here are my reasoning steps:\n", .closes = "[BEGIN FINAL RESPONSE]"},
    {.id = "harmony",
     .opens = "<|channel|>analysis<|message|>",
     .closes = "<|end|>",
     .turn_opens = "<|start|>assistant",
     .answer_opens = "<|channel|>final<|message|>"},
    {.id = "solar",
     .opens = "<|think|>",
     .closes = "<|end|>",
     .turn_opens = "<|begin|>assistant",
     .answer_opens = "<|content|>"},
};

}  // namespace

std::span<const ReasoningForm> ReasoningForms() { return kReasoningForms; }

}  // namespace inferflux::text
