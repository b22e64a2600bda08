// Threads that share one model, under the load of `inferctl bench`: prompts of random tokens, greedy answers of a fixed
// length. docs/benchmarks.md compares the two.
//
// usage: embedded_bench MODEL.gguf [THREADS [REQUESTS [PROMPT_TOKENS [MAX_TOKENS [VOCABULARY [SEED]]]]]]
#include <inferflux/engine.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

using namespace inferflux::embedded;

namespace {

using Clock = std::chrono::steady_clock;

double Since(Clock::time_point then) { return std::chrono::duration<double>(Clock::now() - then).count(); }

struct Load {
  int threads = 16;
  int requests = 32;
  int prompt_tokens = 128;
  int max_tokens = 32;
  int vocabulary = 256;
  unsigned seed = 0;
};

struct Record {
  std::string failure;  // empty: the answer is as requested
  double first_token = 0;
};

Record RunOne(const Engine& engine, const Load& load, const std::vector<int32_t>& prompt) {
  GenerateOptions options{.sampling = {.max_tokens = load.max_tokens, .temperature = 0.0}};
  options.ignore_eos = true;
  Record record;
  const auto began = Clock::now();
  auto stream = engine.Stream(prompt, options);
  if (!stream) return {stream.error().message};
  while (true) {
    const auto piece = stream->Next();
    if (!piece) return {piece.error().message};
    if (!*piece) break;
    if (record.first_token == 0) record.first_token = Since(began);
  }
  const Reply& reply = stream->reply();
  if (reply.text.empty() || reply.finish != FinishReason::kLength ||
      reply.usage.completion != static_cast<uint64_t>(load.max_tokens)) {
    record.failure = "the answer is empty, or not as long as was asked for";
  }
  return record;
}

std::vector<std::vector<int32_t>> Prompts(const Load& load) {
  std::mt19937_64 random(load.seed);
  std::uniform_int_distribution<int32_t> id(1, load.vocabulary - 1);
  std::vector<std::vector<int32_t>> out(static_cast<size_t>(load.requests));
  for (auto& prompt : out) {
    for (int i = 0; i < load.prompt_tokens; ++i) prompt.push_back(id(random));
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s MODEL.gguf [THREADS [REQUESTS [PROMPT_TOKENS [MAX_TOKENS [VOCABULARY [SEED]]]]]]\n",
                 argv[0]);
    return 2;
  }
  Load load;
  if (argc > 2) load.threads = std::atoi(argv[2]);
  if (argc > 3) load.requests = std::atoi(argv[3]);
  if (argc > 4) load.prompt_tokens = std::atoi(argv[4]);
  if (argc > 5) load.max_tokens = std::atoi(argv[5]);
  if (argc > 6) load.vocabulary = std::atoi(argv[6]);
  if (argc > 7) load.seed = static_cast<unsigned>(std::atoi(argv[7]));
  if (load.threads < 1 || load.requests < 1 || load.prompt_tokens < 1 || load.max_tokens < 1 || load.vocabulary < 2) {
    std::fprintf(stderr, "every number must be positive\n");
    return 2;
  }
  const auto engine = Engine::Load(argv[1]);
  if (!engine) {
    std::fprintf(stderr, "%s\n", engine.error().message.c_str());
    return 1;
  }
  const auto prompts = Prompts(load);
  std::vector<Record> records(prompts.size());
  std::atomic<size_t> next = 0;
  const auto began = Clock::now();
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < load.threads; ++i) {
      threads.emplace_back([&] {
        for (size_t mine = next++; mine < prompts.size(); mine = next++) {
          records[mine] = RunOne(*engine, load, prompts[mine]);
        }
      });
    }
  }
  const double seconds = Since(began);
  std::vector<double> first;
  for (const Record& record : records) {
    if (!record.failure.empty()) {
      std::fprintf(stderr, "%s\n", record.failure.c_str());
      return 1;
    }
    first.push_back(record.first_token);
  }
  std::ranges::sort(first);
  std::printf("%zu requests on %d threads: %.1f output tokens/s, first token after %.1f ms (median)\n", records.size(),
              load.threads, static_cast<double>(records.size()) * load.max_tokens / seconds,
              first[first.size() / 2] * 1e3);
  return 0;
}
