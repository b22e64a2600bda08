// One question to a model behind an OpenAI-compatible server.
//
// usage: dspy_remote URL [QUESTION]        URL: http://127.0.0.1:8080/v1
#include <inferflux/dspy.h>
#include <inferflux/dspy_http/http_adapter.h>

#include <cstdio>
#include <string>

using namespace inferflux;

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: dspy_remote URL [QUESTION]\n");
    return 2;
  }
  const auto adapter =
      dspy::HttpAdapter::Connect({.url = argv[1], .call = {.sampling = {.max_tokens = 64, .temperature = 0.0}}});
  const auto signature = dspy::Signature::Parse("question -> answer: int");
  if (!adapter || !signature) {
    const embedded::Error& error = adapter ? signature.error() : adapter.error();
    fmt::print(stderr, "{}: {}\n", embedded::NameOf(error.code), error.message);
    return 1;
  }
  const dspy::Predict program(*signature);
  const auto prediction = program.Call({{"question", argc > 2 ? argv[2] : "What is 2+2?"}}, {.adapter = *adapter});
  if (!prediction) {
    fmt::print(stderr, "{}: {}\n", embedded::NameOf(prediction.error().code), prediction.error().message);
    return 1;
  }
  fmt::print("answer: {}\ntokens: {} prompt, {} completion\n", prediction->Int("answer").value(),
             prediction->usage().prompt, prediction->usage().completion);
  return 0;
}
