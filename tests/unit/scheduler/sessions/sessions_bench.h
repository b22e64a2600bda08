// Sessions by themselves: an engine, a disk and a store that work when a test says so, and requests without a
// scheduler.
#pragma once

#include <gtest/gtest.h>
#include <prometheus/collectable.h>
#include <prometheus/text_serializer.h>

#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "metrics/model_metrics.h"
#include "metrics/registry.h"
#include "scheduler/fake_engine.h"
#include "scheduler/sessions/disk_by_hand.h"
#include "scheduler/sessions/sessions.h"

namespace inferflux::scheduler {
struct ScriptedStore final : SessionStore {
  std::map<std::string, std::string> blobs;
  std::optional<ErrorCode> fails;
  int gets = 0, removes = 0;

  Status Put(const std::string& name, std::string blob, WallTime) override {
    if (fails) return Fail(*fails, "it fails");
    blobs[name] = std::move(blob);
    return {};
  }
  Result<std::string> Get(const std::string& name, size_t) override {
    ++gets;
    if (fails) return Fail(*fails, "it fails");
    const auto found = blobs.find(name);
    if (found == blobs.end()) return Fail(ErrorCode::kNotFound, "none");
    return found->second;
  }
  Status Remove(const std::string& name) override {
    ++removes;
    blobs.erase(name);
    return {};
  }
};

struct SessionsBench {
  struct Options {
    int64_t memory = 0;
    std::string directory = {};
    int64_t disk_bytes = 1 << 20;
    std::shared_ptr<ScriptedStore> store = nullptr;
    int64_t store_bytes = 1 << 20;
    int32_t blocks = 100;
  };
  explicit SessionsBench(const Options& options)
      : engine({.blocks = options.blocks, .block_size = 4, .max_sequences = 32, .context = 400}, Babble) {
    std::unique_ptr<SessionFiles> files;
    if (!options.directory.empty()) {
      auto by_hand = std::make_unique<DiskByHand>();
      disk = by_hand.get();
      files =
          std::move(*SessionFiles::Open(options.directory, options.disk_bytes, 1, WallTimeIn({}), std::move(by_hand)));
    }
    std::unique_ptr<SharedSessions> shared;
    if (options.store) {
      auto write = std::make_unique<DiskByHand>(), read = std::make_unique<DiskByHand>();
      writer = write.get();
      reader = read.get();
      shared =
          std::make_unique<SharedSessions>(options.store, 1, options.store_bytes, std::move(write), std::move(read));
    }
    sessions = std::make_unique<Sessions>(engine, options.memory, std::move(files), std::move(shared),
                                          metrics::ModelMetrics(registry, "m", "b").session_file_errors, now);
  }

  std::unique_ptr<Request> Make(const std::string& id, size_t tokens, TokenId token = 'a', bool once = false) {
    static const auto tokenizer = FakeTokenizer();
    GenerationRequest spec{.prompt = std::vector<TokenId>(tokens, token)};
    spec.session = SessionUse{.id = id, .ttl = std::chrono::seconds(100), .once = once};
    auto request = std::make_unique<Request>(Request{.number = next_number++,
                                                     .spec = std::move(spec),
                                                     .stream = std::make_shared<TokenStream>(),
                                                     .output = OutputText(tokenizer, {}, {})});
    request->tokens = request->spec.prompt;
    return request;
  }
  // Computes all of the request's tokens, and keeps them as its session.
  void Keep(Request& request) {
    request.sequence = engine.Open({}, 0)->sequence;
    Compute(request);
    sessions->Keep(request, now);
  }
  void Compute(Request& request) {
    const int32_t length = *engine.Length(*request.sequence);
    ASSERT_TRUE(engine.Reserve(*request.sequence, static_cast<int32_t>(request.tokens.size())));
    engine::BatchItem item{.sequence = *request.sequence,
                           .tokens = {request.tokens.begin() + length, request.tokens.end()},
                           .first_position = length};
    ASSERT_TRUE(engine.ExecuteUnifiedBatch({.items = {std::move(item)}}));
    request.length = static_cast<int32_t>(request.tokens.size());
  }
  void Keep(const std::string& id, size_t tokens, TokenId token = 'a') { Keep(*Make(id, tokens, token)); }
  bool Awaits(const Request& request) { return sessions->AwaitsKv(request, request.tokens, now); }

  std::string Do(SessionCommand::Action action, const std::string& id = {}) {
    std::string out = "no reply";
    sessions->Do({.action = action, .id = id}, now, [&](auto reply) { out = Said(reply); });
    return out;
  }
  static std::string Said(const Result<std::vector<SessionInfo>>& reply) {
    if (!reply) return "error: " + reply.error().message;
    constexpr const char* kTiers[] = {"engine", "memory", "disk"};
    std::string out;
    for (const SessionInfo& each : *reply) {
      out += fmt::format("{}{}: {} tokens in {}, {} bytes{}, {} s", out.empty() ? "" : "; ", each.id, each.tokens,
                         kTiers[static_cast<int>(each.tier)], each.bytes, each.on_disk ? " and a file" : "",
                         each.expires_in);
    }
    return out;
  }
  std::string List() { return Do(SessionCommand::Action::kList); }
  int Errors() const {
    std::istringstream lines(prometheus::TextSerializer().Serialize(registry.Collectable().Collect()));
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("inferflux_session_file_errors_total")) return std::stoi(line.substr(line.rfind(' ')));
    }
    return -1;
  }

  TimePoint now = TimePoint() + std::chrono::hours(1000);
  uint64_t next_number = 1;
  metrics::Registry registry;
  FakeEngine engine;
  DiskByHand *disk = nullptr, *writer = nullptr, *reader = nullptr;
  std::unique_ptr<Sessions> sessions;
};

}  // namespace inferflux::scheduler
