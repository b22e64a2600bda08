// inferctl bench: measures an OpenAI-compatible server under load, or two servers alternately.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <cstdio>
#include <memory>
#include <random>

#include "apps/inferctl/bench/load_report.h"
#include "apps/inferctl/bench/load_run.h"
#include "apps/inferctl/client/api_client.h"
#include "apps/inferctl/client/interrupt.h"
#include "apps/inferctl/client/streams.h"
#include "apps/inferctl/command.h"

namespace inferflux::apps {
namespace {

struct BenchFlags {
  LoadShape shape;
  bool seeded = false;
  std::string against;
  int rounds = 1;
};

// On a terminal, one line that shows the progress of a run; elsewhere nothing.
class Display {
 public:
  Display(const std::string& url, int32_t total) : url_(url), total_(total), shown_(::isatty(STDERR_FILENO) == 1) {}
  ~Display() {
    if (shown_) fmt::print(stderr, "\r\033[K");
  }

  void Take(const RequestRecord& record) {
    ++done_;
    failed_ += record.failure.empty() ? 0 : 1;
    tokens_ += record.output_tokens;
    if (!shown_) return;
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
    fmt::print(stderr, "\r\033[K{}  {}/{} requests, {} failed, {:.1f} tokens/s, last first token {:.0f} ms", url_,
               done_, total_, failed_, static_cast<double>(tokens_) / seconds, record.first_token * 1e3);
    std::fflush(stderr);
  }

 private:
  const std::string& url_;
  const int32_t total_;
  const bool shown_;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  int32_t done_ = 0;
  int32_t failed_ = 0;
  int64_t tokens_ = 0;
};

Result<LoadTarget> TargetAt(const std::string& url, const std::string& key) {
  auto address = net::ParsePlainAddress(url);
  if (!address) return Forward(address);
  return LoadTarget{url, std::move(*address), key};
}

int RunBench(const CommandContext& context, const BenchFlags& flags) {
  std::vector<LoadTarget> targets;
  std::vector<std::string> urls{context.settings.Text("client.url")};
  if (!flags.against.empty()) urls.push_back(flags.against);
  for (const std::string& url : urls) {
    auto target = TargetAt(url, context.settings.Text("client.api_key"));
    if (!target) return Complain(target.error());
    if (Status there = ApiClient(target->address, target->api_key).CheckAnswers(); !there)
      return Complain(there.error());
    targets.push_back(std::move(*target));
  }
  LoadShape shape = flags.shape;
  if (!flags.seeded) shape.seed = (uint64_t{std::random_device()()} << 32) | std::random_device()();

  const InterruptScope scope;
  std::vector<std::vector<LoadResult>> results(targets.size());
  for (int round = 0; round < flags.rounds; ++round) {
    for (size_t i = 0; i < targets.size(); ++i) {
      Display display(targets[i].url, shape.requests);
      results[i].push_back(RunLoad(
          targets[i], shape, static_cast<uint64_t>(round), [&](const RequestRecord& record) { display.Take(record); },
          InterruptScope::Interrupted));
    }
  }
  std::vector<LoadReport> reports;
  for (size_t i = 0; i < targets.size(); ++i) reports.push_back(Summarise(targets[i].url, results[i]));
  if (context.json) {
    boost::json::array out;
    for (const LoadReport& report : reports) out.push_back(ToJson(report));
    PrintJson(out);
  } else {
    fmt::print("{}", ToTable(reports));
  }
  if (InterruptScope::Interrupted()) return kInterrupted;
  return std::ranges::all_of(reports, [](const LoadReport& r) { return r.failures.empty(); }) ? kOk : kFailed;
}

}  // namespace

Run AddBench(Command& app) {
  auto flags = std::make_shared<BenchFlags>();
  LoadShape& shape = flags->shape;
  Command bench = app.AddCommand("bench", "put load on a server, and report what its clients saw");
  bench.Add("--model", shape.model, "which model; without it the server's default");
  bench.Add("-c,--concurrency", shape.concurrency, "clients, each with one request after the other").Between(1, 1024);
  bench.Add("--rate", shape.rate, "requests per second at random times (Poisson), instead of a fixed number of clients")
      .Between(0.0, 10000.0);
  bench.Add("-n,--requests", shape.requests, "requests in a round").Between(1, 4096);
  bench.Add("--prompt-tokens", shape.prompt_tokens, "length of each prompt").Between(1, 1 << 20);
  bench.Add("--shared-prefix", shape.shared_prefix, "share of the prompt that all prompts have in common, 0 to 1")
      .Between(0.0, 1.0);
  bench.Add("--max-tokens", shape.max_tokens, "length of each answer; its end is not obeyed").Between(1, 1 << 20);
  bench.Add("--vocab", shape.vocab, "prompts are random token ids below this").Between(2, 1 << 24);
  const CommandOption seed = bench.Add("--seed", shape.seed, "of the prompts; without it they are always new");
  bench.Add("--against", flags->against, "a second server's address; runs alternate between the two");
  bench.Add("--rounds", flags->rounds, "rounds, each with new prompts").Between(1, 1000);
  return [flags, seed](const CommandContext& context) {
    flags->seeded = seed.given();
    return RunBench(context, *flags);
  };
}

}  // namespace inferflux::apps
