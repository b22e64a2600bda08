// Every message between a pool and its workers. docs/worker-contract.schema.json is made of these tables, and the tests
// of both sides check what they send against that file.
//
//   worker -> pool   POST {callback_url}/ready       ReadyCallback      once the model serves
//                    POST {callback_url}/heartbeat   Heartbeat          from the start, at a fixed interval
//                    POST {callback_url}/deregister  Deregistration     before the worker stops, or when it failed
//   pool -> worker   GET  /healthz, /readyz, /info                      WorkerInfo
//                    POST /execute                   ExecuteRequest     answered by events, or by Refusal
//                    POST /cancel                    CancelRequest
//                    POST /sessions                  SessionRequest     answered by SessionList
//                    POST /shutdown                                     drains, then ends the process
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/token_id.h"
#include "worker/contract/engine_messages.h"
#include "worker/contract/error_code.h"
#include "worker/contract/message.h"

namespace inferflux::worker {

inline constexpr double kMostTokens = 1 << 24;  // of a prompt
inline constexpr double kMostTextBytes = 32 << 20;

enum class WorkerState : uint8_t { kStarting, kLoading, kReady, kBusy, kDraining, kFailed };
template <>
struct WordsOf<WorkerState> {
  static constexpr std::pair<std::string_view, WorkerState> kWords[] = {
      {"starting", WorkerState::kStarting}, {"loading", WorkerState::kLoading},   {"ready", WorkerState::kReady},
      {"busy", WorkerState::kBusy},         {"draining", WorkerState::kDraining}, {"failed", WorkerState::kFailed}};
};

enum class MemoryArchitecture : uint8_t { kHost, kDiscrete, kUnified };
template <>
struct WordsOf<MemoryArchitecture> {
  static constexpr std::pair<std::string_view, MemoryArchitecture> kWords[] = {
      {"host", MemoryArchitecture::kHost},
      {"discrete", MemoryArchitecture::kDiscrete},
      {"unified", MemoryArchitecture::kUnified}};
};

// --- a worker's life ---

struct LoadStage {
  std::string stage;      // "device", "weights", "warm-up"
  double fraction = 0;    // of the weights
  int64_t bytes = 0;      // loaded
  int64_t all_bytes = 0;  // to load
};
template <>
struct MessageOf<LoadStage> {
  static constexpr std::string_view kName = "LoadStage";
  static constexpr std::string_view kHelp = "How far a load is.";
  static consteval auto Fields() {
    return std::tuple{Required("stage", &LoadStage::stage, "device, weights or warm-up"),
                      Required("fraction", &LoadStage::fraction, "of the weights").Within(0, 1),
                      Required("bytes", &LoadStage::bytes, "of weights that are loaded, about"),
                      Required("all_bytes", &LoadStage::all_bytes, "of weights in the file")};
  }
};

struct WorkerLoad {
  int32_t running = 0;
  int32_t queued = 0;
  int64_t kv_blocks_used = 0;
  int64_t kv_blocks_free = 0;
  int64_t kv_blocks_cached = 0;
  int64_t preemptions = 0;
  int64_t drafted_tokens = 0;
  int64_t accepted_tokens = 0;
  int64_t graphs = 0;
  int64_t graph_replays = 0;
  int64_t graph_refusals = 0;
  int32_t retry_after_seconds = 1;
};
template <>
struct MessageOf<WorkerLoad> {
  using T = WorkerLoad;
  static constexpr std::string_view kName = "WorkerLoad";
  static constexpr std::string_view kHelp = "What the worker's scheduler does.";
  static consteval auto Fields() {
    return std::tuple{Required("running", &T::running, "requests in a step"),
                      Required("queued", &T::queued, "requests that wait for admission"),
                      Required("kv_blocks_used", &T::kv_blocks_used, "KV blocks held by running requests"),
                      Required("kv_blocks_free", &T::kv_blocks_free, "the others, cached prefixes too"),
                      Optional("kv_blocks_cached", &T::kv_blocks_cached, "free blocks that are kept for their prefix"),
                      Optional("preemptions", &T::preemptions, "since the start"),
                      Optional("drafted_tokens", &T::drafted_tokens, "since the start"),
                      Optional("accepted_tokens", &T::accepted_tokens, "since the start"),
                      Optional("graphs", &T::graphs, "decode steps that are captured"),
                      Optional("graph_replays", &T::graph_replays, "steps that replayed one, since the start"),
                      Optional("graph_refusals", &T::graph_refusals, "captures that failed"),
                      Optional("retry_after_seconds", &T::retry_after_seconds, "advice for a refused client")};
  }
};

struct ReadyCallback {
  std::string worker_id;
  std::string model_ref;
  std::string backend;
  std::string uri;
  int64_t memory_bytes = 0;
  MemoryArchitecture memory_architecture = MemoryArchitecture::kHost;
  std::vector<std::string> capabilities;
  std::string version;
};
template <>
struct MessageOf<ReadyCallback> {
  using T = ReadyCallback;
  static constexpr std::string_view kName = "ReadyCallback";
  static constexpr std::string_view kHelp = "The worker's model is loaded and warm.";
  static consteval auto Fields() {
    return std::tuple{Required("worker_id", &T::worker_id, "as the pool named it"),
                      Required("model_ref", &T::model_ref, "the model's file or directory"),
                      Required("backend", &T::backend, "target and provider, such as cpu/native"),
                      Required("uri", &T::uri, "where the worker answers"),
                      Required("memory_bytes", &T::memory_bytes, "held for weights, keys and values"),
                      Required("memory_architecture", &T::memory_architecture, "which memory that is"),
                      Required("capabilities", &T::capabilities, "what its engine can do"),
                      Required("version", &T::version, "of the worker program")};
  }
};

struct Heartbeat {
  std::string worker_id;
  std::string uri;
  WorkerState state = WorkerState::kStarting;
  std::optional<LoadStage> progress;
  WorkerLoad load;
};
template <>
struct MessageOf<Heartbeat> {
  using T = Heartbeat;
  static constexpr std::string_view kName = "Heartbeat";
  static constexpr std::string_view kHelp = "The worker lives. Three that are missing mean that it does not.";
  static consteval auto Fields() {
    return std::tuple{Required("worker_id", &T::worker_id, "as the pool named it"),
                      Required("uri", &T::uri, "where the worker answers"), Required("state", &T::state, "its state"),
                      Optional("progress", &T::progress, "while it loads"), Required("load", &T::load, "its load")};
  }
};

struct Deregistration {
  std::string worker_id;
  WorkerErrorCode code = WorkerErrorCode::kWorkerUnhealthy;
  std::string reason;
};
template <>
struct MessageOf<Deregistration> {
  using T = Deregistration;
  static constexpr std::string_view kName = "Deregistration";
  static constexpr std::string_view kHelp = "The worker takes no more requests and will end.";
  static consteval auto Fields() {
    return std::tuple{Required("worker_id", &T::worker_id, "as the pool named it"),
                      Required("code", &T::code, "CANCELLED when it was asked to stop, else what failed"),
                      Required("reason", &T::reason, "in words")};
  }
};

struct WorkerInfo {
  std::string worker_id;
  std::string version;
  WorkerState state = WorkerState::kStarting;
  double uptime_seconds = 0;
  std::string model;
  std::string architecture;
  std::string quantization;
  MemoryArchitecture memory_architecture = MemoryArchitecture::kHost;
  int64_t memory_bytes = 0;
  std::string error;
  std::optional<LoadStage> progress;
  std::optional<engine::EngineInfo> engine;
  WorkerLoad load;
};
template <>
struct MessageOf<WorkerInfo> {
  using T = WorkerInfo;
  static constexpr std::string_view kName = "WorkerInfo";
  static constexpr std::string_view kHelp = "The answer of GET /info.";
  static consteval auto Fields() {
    return std::tuple{Required("worker_id", &T::worker_id, "its name"),
                      Required("version", &T::version, "of the worker program"),
                      Required("state", &T::state, "its state"),
                      Required("uptime_seconds", &T::uptime_seconds, "since its start"),
                      Required("model", &T::model, "the model's file or directory"),
                      Required("architecture", &T::architecture, "empty until the model is loaded"),
                      Required("quantization", &T::quantization, "the commonest type of its weights"),
                      Required("memory_architecture", &T::memory_architecture, "which memory it holds"),
                      Required("memory_bytes", &T::memory_bytes, "held for weights, keys and values"),
                      Required("error", &T::error, "why it failed; empty: it did not"),
                      Optional("progress", &T::progress, "while it loads"),
                      Optional("engine", &T::engine, "once it is loaded"),
                      Required("load", &T::load, "its load")};
  }
};

// --- errors ---

struct WireError {
  WorkerErrorCode code = WorkerErrorCode::kInternal;
  std::string message;
  bool retriable = false;
  ErrorCode kind = ErrorCode::kInternal;
};
template <>
struct MessageOf<WireError> {
  using T = WireError;
  static constexpr std::string_view kName = "error";
  static constexpr std::string_view kHelp = "The last event of a generation that failed, and the body of a refusal.";
  static constexpr std::string_view kType = "error";
  static consteval auto Fields() {
    return std::tuple{Required("code", &T::code, "the contract's code"), Required("message", &T::message, "in words"),
                      Required("retriable", &T::retriable, "whether the same request may succeed later or elsewhere"),
                      Required("kind", &T::kind, "InferFlux's own code, finer than the contract's")};
  }
};

struct InvalidField {
  std::string field;
  std::string constraint;
  std::string message;
};
template <>
struct MessageOf<InvalidField> {
  using T = InvalidField;
  static constexpr std::string_view kName = "InvalidField";
  static constexpr std::string_view kHelp = "One thing that is wrong with a request; never quotes it.";
  static consteval auto Fields() {
    return std::tuple{Required("field", &T::field, "its path, as sampling.top_p"),
                      Required("constraint", &T::constraint, "JSON Schema's keyword of the violated rule"),
                      Required("message", &T::message, "in words")};
  }
};
struct InvalidRequest {
  std::vector<InvalidField> errors;
};
template <>
struct MessageOf<InvalidRequest> {
  static constexpr std::string_view kName = "InvalidRequest";
  static constexpr std::string_view kHelp = "The body of 400: everything that is wrong.";
  static consteval auto Fields() { return std::tuple{Required("errors", &InvalidRequest::errors, "at most 64")}; }
};

}  // namespace inferflux::worker
