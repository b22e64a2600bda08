// One question through signatures of two types and two formats, on a model of a pool.
//
// usage: dspy_qa [--models-dir DIR] [--model NAME] [QUESTION]
#include <inferflux/dspy.h>
#include <inferflux/model_pool.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

using namespace inferflux;

namespace {

int Report(const embedded::Error& error) {
  fmt::print(stderr, "{}: {}{}\n", embedded::NameOf(error.code), error.message,
             error.field.empty() ? "" : fmt::format(" (field '{}')", error.field));
  return 1;
}

// Asks in the signature's terms, and prints the answer and what it cost.
int Ask(const std::string& signature_text, const std::shared_ptr<const dspy::Adapter>& adapter,
        const std::string& question) {
  const auto signature = dspy::Signature::Parse(signature_text);
  if (!signature) return Report(signature.error());
  const dspy::Predict program(*signature, {.sampling = {.max_tokens = 64, .temperature = 0.0}});
  const auto prediction = program.Call({{"question", question}}, {.adapter = adapter});
  if (!prediction) return Report(prediction.error());
  const auto* answer = prediction->values().if_contains("answer");
  const std::string text =
      answer->is_string() ? std::string(answer->as_string()) : fmt::format("{}", answer->as_int64());
  const dspy::Usage& usage = prediction->usage();
  fmt::print("{} ({})\nanswer: {}\ntokens: {} prompt, {} cached, {} completion, {} in total\n", signature_text,
             adapter->name(), text, usage.prompt, usage.cached, usage.completion, usage.total());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::string models_dir = "models/tiny", name = "inferflux-tiny", question = "What is 2+2?";
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  for (size_t i = 0; i < arguments.size(); ++i) {
    const bool more = i + 1 < arguments.size();
    if (arguments[i] == "--models-dir" && more) {
      models_dir = arguments[++i];
    } else if (arguments[i] == "--model" && more) {
      name = arguments[++i];
    } else if (arguments[i].starts_with("--")) {
      fmt::print(stderr, "usage: dspy_qa [--models-dir DIR] [--model NAME] [QUESTION]\n");
      return 2;
    } else {
      question = arguments[i];
    }
  }

  const auto pool = embedded::ModelPool::Open({.models_dir = models_dir});
  if (!pool) return Report(pool.error());
  const auto engine = pool->LoadModel(name);
  if (!engine) return Report(engine.error());
  const auto model = embedded::LanguageModel(*engine);
  dspy::Configure(model);

  if (const int failed = Ask("question -> answer: int", std::make_shared<dspy::ChatAdapter>(), question)) return failed;
  const auto plain = dspy::LlamaCppAdapter::FromLoadedModel(model);
  if (!plain) return Report(plain.error());
  return Ask("question -> answer: str", *plain, question);
}
