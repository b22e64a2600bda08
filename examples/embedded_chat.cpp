// A conversation with a model in this process, written as it grows.
//
// usage: embedded_chat [MODEL.gguf] [QUESTION]...
#include <inferflux/engine.h>

#include <cstdio>
#include <string>
#include <vector>

using namespace inferflux::embedded;

namespace {

int Report(const Error& error) {
  std::fprintf(stderr, "%s: %s\n", std::string(NameOf(error.code)).c_str(), error.message.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string path = argc > 1 ? argv[1] : "models/tiny/inferflux-tiny.gguf";
  std::vector<std::string> questions(argv + (argc > 2 ? 2 : argc), argv + argc);
  if (questions.empty()) questions = {"What is the capital of France?", "And what is the capital of Japan?"};

  const auto engine = Engine::Load(path);
  if (!engine) return Report(engine.error());
  const ModelInfo& info = engine->info();
  std::printf("%s on %s (%s)\n", info.name.c_str(), info.backend.c_str(), info.provider.c_str());

  std::vector<Message> messages;
  Usage usage;
  for (const std::string& question : questions) {
    messages.push_back({"user", question});
    std::printf("> %s\n", question.c_str());
    auto stream = engine->StreamChat(messages, {.sampling = {.max_tokens = 128, .temperature = 0.0}});
    if (!stream) return Report(stream.error());
    while (true) {
      const auto piece = stream->Next();
      if (!piece) return Report(piece.error());
      if (!*piece) break;
      std::printf("%s", (*piece)->c_str());
      std::fflush(stdout);
    }
    std::printf("\n");
    messages.push_back({"assistant", stream->reply().text});
    usage += stream->reply().usage;
  }
  std::printf("tokens: %llu prompt (%llu cached), %llu completion\n", static_cast<unsigned long long>(usage.prompt),
              static_cast<unsigned long long>(usage.cached), static_cast<unsigned long long>(usage.completion));
  return 0;
}
