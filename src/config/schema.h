// All configuration keys. To add a key, add a row. The key `server.port` is the YAML path server: port:, the
// environment variable INFERFLUX_SERVER_PORT, and the flag --server-port with its short form and letter, if it has
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string_view>

namespace inferflux::config {

enum class Type {
  kText,
  kWords,  // comma-separated; in a file also a list
  kInteger,
  kBytes,   // a number with an optional unit: KiB, MiB, GiB or TiB, also as K, M, G or T; KB, MB, GB or TB
  kSwitch,  // true or false
  kDevice,  // an integer, or any other text: a device's UUID, PCI address or name; empty: none is set
};

// Which programs read a key. All programs share a file and an environment; only the readers offer the flag.
enum Program : uint8_t { kServer = 1, kClient = 2, kBoth = 3, kWorker = 4 };

struct Key {
  std::string_view name;
  Type type;
  std::string_view initial;  // the default, as a user would write it
  std::string_view help;
  std::string_view short_flag = {};
  int64_t min = 0;
  int64_t max = std::numeric_limits<int64_t>::max();
  std::string_view choices = {};  // for a text: "a|b|c"; empty: any
  Program readers = kServer;
  bool secret = false;  // its value is never printed
  char letter = 0;      // a flag of one letter, as -c; 0: none
};

// Which models are loaded, and for how long. A worker has one, and a memory budget of its own.
constexpr bool IsOfModelPool(std::string_view name) {
  return name == "runtime.models_dir" || name == "runtime.memory_budget" || name == "runtime.keep_alive";
}

// Whether a program reads a key. A worker runs one model, so it reads the server's settings of a model's run.
constexpr bool Reads(Program program, const Key& key) {
  if ((key.readers & program) != 0) return true;
  if ((program & kWorker) == 0 || IsOfModelPool(key.name)) return false;
  return key.name.starts_with("log.") ||
         (key.name.starts_with("runtime.") && !key.name.starts_with("runtime.capability_routing."));
}

inline constexpr int32_t kMaxContext = 1 << 24;
inline constexpr int64_t kMaxDevice = 1023;
inline constexpr size_t kMaxDeviceBytes = 256;
inline constexpr int64_t kMaxGpuLayers = 65536;
inline constexpr int64_t kMaxRanks = 64;
inline constexpr int64_t kMaxKeepAlive = int64_t{365} * 24 * 3600;

inline constexpr Key kSchema[] = {
    {"server.host", Type::kText, "127.0.0.1", "address to listen on; 0.0.0.0 lets other machines in", "host"},
    {"server.port", Type::kInteger, "8080", "port to listen on; 0 takes any free one", "port", 0, 65535},
    {"server.tls_cert", Type::kText, "",
     "PEM file of the certificate and those between it and the root; empty: plain HTTP", "tls-cert"},
    {"server.tls_key", Type::kText, "", "PEM file of the certificate's private key", "tls-key"},
    {"server.tls_client_ca", Type::kText, "",
     "PEM file of the authorities that sign clients' certificates; with it a client must show one"},
    {"server.unix_socket", Type::kText, "", "path of a Unix socket to listen on too; empty: none"},
    {"server.admin_host", Type::kText, "127.0.0.1", "address of the listener for administration and metrics"},
    {"server.admin_port", Type::kInteger, "-1",
     "port of a listener for administration and metrics, which the server's own port then refuses; 0: any free one; "
     "-1: none",
     "", -1, 65535},
    {"server.io_threads", Type::kInteger, "2", "threads that read and write sockets", "", 1, 64},
    {"server.max_body_bytes", Type::kBytes, "32MiB", "largest request body", "", 1024, int64_t{1} << 30},
    {"server.max_connections", Type::kInteger, "16384", "connections open at once", "", 1, 1 << 20},
    {"server.grace_seconds", Type::kInteger, "10", "how long running requests may go on after a stop signal", "", 0,
     3600},
    {"server.request_timeout_seconds", Type::kInteger, "0",
     "most seconds of a request that runs a model, waiting included; a client may ask for less; 0: no limit",
     "request-timeout", 0, 86400},
    {"server.api_keys_file", Type::kText, "",
     "file of SHA-256 hashes of API keys, one per line; empty: no key is required"},
    {"server.allowed_hosts", Type::kWords, "",
     "names by which clients may call this server, beside localhost and addresses; *: any; with keys: empty checks "
     "none"},
    {"server.allowed_origins", Type::kWords, "",
     "web sites whose pages may use this server (CORS), such as https://chat.example.com; *: any"},
    {"server.open_metrics", Type::kSwitch, "false",
     "/metrics needs no key; false: one with the scope metrics, where keys are required"},
    {"server.api_key", Type::kText, "",
     "one API key that clients must send, with the scopes read, generate and load; others can see it in a list of "
     "processes, unless a file or the environment sets it",
     "api-key", 0, 0, "", kServer, true},
    {"server.jwt.jwks_file", Type::kText, "",
     "JSON file of an OpenID Connect issuer's public keys (JWKS), whose tokens (JWT) are taken in place of API keys; "
     "empty: none are"},
    {"server.jwt.issuer", Type::kText, "", "the issuer: what a token's iss must be"},
    {"server.jwt.audience", Type::kWords, "",
     "this server's names for the issuer: a token's aud must have one of them"},
    {"server.jwt.scope_claim", Type::kText, "scope",
     "the claim with a token's scopes, a string of words or a list; /a/b: the member b of the claim a"},
    {"server.jwt.scope_prefix", Type::kText, "",
     "what the names of this server's scopes begin with in tokens, as inferflux: in inferflux:generate"},
    {"server.jwt.account_claim", Type::kText, "sub", "the claim that tells a token's account from others"},
    {"server.jwt.leeway_seconds", Type::kInteger, "60", "what the issuer's clock may differ from this machine's", "", 0,
     600},
    {"server.page", Type::kSwitch, "true", "serve a page for people at /", "page"},
    {"runtime.backend", Type::kWords, "auto", "the backend to run on, or several to try in order; auto: by priority",
     "backend"},
    {"runtime.backend_priority", Type::kWords, "auto",
     "what auto tries, in order; auto: what this build has, GPUs first"},
    {"runtime.backend_exposure.prefer_native", Type::kSwitch, "true", "try InferFlux's own engines before llama.cpp"},
    {"runtime.backend_exposure.allow_llama_fallback", Type::kSwitch, "true",
     "fall back to llama.cpp where it is built in"},
    {"runtime.capability_routing.allow_default_fallback", Type::kSwitch, "true",
     "whether a request that names no model may go to another one that can do what it asks"},
    {"runtime.capability_routing.require_ready_backend", Type::kSwitch, "true",
     "false: where a model that may is still being loaded, the answer is to try again"},
    {"runtime.capability_routing.fallback_scope", Type::kText, "same_path_only", "to which models it may go", "", 0, 0,
     "same_path_only|any_compatible"},
    {"runtime.device", Type::kDevice, "-1",
     "which of a backend's devices: its number, UUID, PCI address or name, from `inferctl backends`; -1: its own "
     "choice",
     "device", -1, kMaxDevice},
    {"runtime.llama_cpp.gpu_layers", Type::kInteger, "-1",
     "layers that llama.cpp puts on a GPU; -1: as many as its free memory holds", "", -1, kMaxGpuLayers},
    {"runtime.llama_cpp.batch", Type::kInteger, "0", "tokens a call into llama.cpp; 0: chosen by the device", "", 0,
     65536},
    {"runtime.llama_cpp.micro_batch", Type::kInteger, "0", "tokens that llama.cpp computes at once; 0: chosen", "", 0,
     65536},
    {"runtime.llama_cpp.flash_attention", Type::kText, "auto", "llama.cpp's flash attention", "", 0, 0, "auto|on|off"},
    {"runtime.mlx_requantise", Type::kSwitch, "false",
     "on MLX, hold weights of a type that it has no form for in 8 bits, at a loss, instead of as BF16"},
    {"runtime.repack", Type::kSwitch, "true",
     "on cpu, lay weights out for speed as a model is loaded; false: leave them in the file, start at once, and run "
     "slower",
     "repack"},
    {"runtime.cuda_graphs", Type::kSwitch, "true",
     "on cuda, capture decode steps as graphs and replay them; false: launch each step's kernels one by one",
     "cuda-graphs"},
    {"runtime.cuda_streams", Type::kInteger, "1",
     "on cuda, streams of a step; 2: prompts run beside decodes, and weights are read twice", "cuda-streams", 1, 2},
    {"runtime.rope_context", Type::kText, "configured",
     "of models with LongRoPE or dynamic scaling, on InferFlux's own engines: scale RoPE for the configured context, "
     "or "
     "leave it as trained and limit the context to what that allows",
     "", 0, 0, "configured|original"},
    {"runtime.tensor_parallel", Type::kInteger, "1",
     "processes that share a model, each with a part of every layer; on cpu and cuda", "tensor-parallel", 1, kMaxRanks},
    {"runtime.pipeline_parallel", Type::kInteger, "1",
     "processes that share a model, each with some of its layers; on cpu and cuda", "pipeline-parallel", 1, kMaxRanks},
    {"runtime.collectives", Type::kText, "auto",
     "what the GPUs of processes that share a model exchange data through: NCCL, or the host's memory; auto: NCCL "
     "where "
     "all have it",
     "collectives", 0, 0, "auto|nccl|host"},
    {"runtime.context", Type::kInteger, "0", "most tokens in a sequence; 0: each model's own limit", "context", 0,
     kMaxContext, "", kServer, false, 'c'},
    {"runtime.threads", Type::kInteger, "0", "compute threads; 0: one a usable core", "threads", 0, 1024, "", kServer,
     false, 't'},
    {"runtime.max_running", Type::kInteger, "0", "requests that a model runs at once; 0: as many as its engine can",
     "max-running", 0, 1 << 16},
    {"runtime.kv_dtype", Type::kText, "fp16", "type of cached keys and values", "", 0, 0, "fp32|fp16|bf16|int8|fp8"},
    {"runtime.kv_budget", Type::kBytes, "0",
     "memory for keys and values a model; 0: half of what runtime.memory_budget has left", "kv-budget", 0,
     int64_t{1} << 44},
    {"runtime.models_dir", Type::kText, "", "directory of models that are loaded by name when they are first used",
     "models-dir"},
    {"runtime.memory_budget", Type::kBytes, "0",
     "host memory for the weights, keys and values of all models; 0: nine tenths of what this process may use",
     "memory-budget", 0, int64_t{1} << 50},
    {"runtime.keep_alive", Type::kInteger, "-1",
     "seconds that an unused model stays loaded, unless --model named it; 0: until its last request ends; -1: until "
     "its "
     "memory is needed",
     "keep-alive", -1, kMaxKeepAlive},
    {"runtime.max_queue", Type::kInteger, "1024", "requests that may wait for a model", "", 1, 1 << 20},
    {"runtime.max_batch_tokens", Type::kInteger, "0", "tokens a step may compute; 0: as many as the backend does best",
     "", 0, 1 << 20},
    {"runtime.goal", Type::kText, "throughput", "size of a step: all that fits, or at most three quiet steps long",
     "goal", 0, 0, "throughput|latency"},
    {"runtime.speculation", Type::kText, "auto",
     "the draft of requests that name none; auto: the draft model if there is one", "", 0, 0,
     "auto|none|prompt_lookup|draft"},
    {"runtime.max_draft_tokens", Type::kInteger, "4", "draft tokens a step, where they pay", "", 1, 16},
    {"runtime.session_memory", Type::kBytes, "256MiB", "host memory for sessions that the KV budget has no room for",
     "", 0, int64_t{1} << 44},
    {"runtime.session_dir", Type::kText, "", "directory for sessions on disk; empty: none go there"},
    {"runtime.session_store", Type::kText, "",
     "where the servers of a fleet share sessions: /FOLDER or s3://BUCKET/PREFIX; empty: nowhere"},
    {"runtime.session_store_key_file", Type::kText, "",
     "file with the key that authenticates what is in the session store, the same on each machine"},
    {"server.store_file", Type::kText, "",
     "SQLite file for stored responses, conversations, files and batches; empty: in memory, until the server ends"},
    {"runtime.session_disk", Type::kBytes, "4GiB", "what the sessions of a model may take on disk", "", 0,
     int64_t{1} << 50},
    {"limits.running", Type::kInteger, "0",
     "sequences of one key (of one address where no keys are required) that a model runs at once; 0: no limit", "", 0,
     1 << 16},
    {"limits.queued", Type::kInteger, "512", "sequences of one key or address that wait for a model; 0: no limit", "",
     0, 1 << 20},
    {"limits.body_bytes", Type::kBytes, "128MiB", "request bodies of one key or address in memory at once; 0: no limit",
     "", 0, int64_t{1} << 40},
    {"limits.connections", Type::kInteger, "8192",
     "open connections of one address, and those on which one key has a request at once; 0: no limit", "", 0, 1 << 20},
    {"limits.preparations", Type::kInteger, "2",
     "requests of one key or address that are rendered, tokenised and compiled at once; 0: no limit", "", 0, 64},
    {"limits.tokens_per_minute", Type::kInteger, "0",
     "tokens that are computed for one key or address in a minute, without cached ones; 0: no limit", "", 0,
     int64_t{1} << 40},
    {"limits.preparation_threads", Type::kInteger, "4", "threads that prepare requests", "", 1, 64},
    {"limits.preparation_cpu_ms", Type::kInteger, "5000",
     "processor time in milliseconds to render, tokenise and compile one request; 0: no limit", "", 0, 3'600'000},
    {"limits.preparation_seconds", Type::kInteger, "30",
     "seconds until a request is prepared, with the wait for a thread; 0: no limit", "", 0, 3600},
    {"workers.enabled", Type::kSwitch, "false", "run each model in worker processes, and supervise them"},
    {"workers.count", Type::kInteger, "1", "worker processes a model", "", 1, 64},
    {"workers.prefill", Type::kInteger, "0",
     "of these, workers that only compute long prompts, for the others to go on with; needs runtime.session_store", "",
     0, 63},
    {"workers.rank_launcher", Type::kText, "",
     "what starts a worker whose model several processes share, such as mpirun --host a,b: -n, their number and the "
     "worker follow; empty: the worker starts them on this host"},
    {"workers.directory", Type::kText, "", "where the worker programs are; empty: beside this one"},
    {"workers.start_seconds", Type::kInteger, "600", "how long a worker may take to load its model", "", 1, 86400},
    {"workers.heartbeat_seconds", Type::kInteger, "15",
     "time between two heartbeats; a worker that misses three is dead", "", 1, 3600},
    {"workers.grace_seconds", Type::kInteger, "30", "how long a worker's running requests may go on when it is drained",
     "", 0, 3600},
    {"worker.id", Type::kText, "worker", "this worker's name in messages", "worker-id", 0, 0, "", kWorker},
    {"worker.host", Type::kText, "127.0.0.1", "address to listen on", "host", 0, 0, "", kWorker},
    {"worker.port", Type::kInteger, "0", "port to listen on; 0 takes any free one", "port", 0, 65535, "", kWorker},
    {"worker.callback_url", Type::kText, "", "the pool to register with; empty: serve alone", "callback-url", 0, 0, "",
     kWorker},
    {"worker.token_file", Type::kText, "", "file with the token that requests must carry; empty: none", "token-file", 0,
     0, "", kWorker},
    {"worker.memory_budget", Type::kBytes, "0", "memory for weights, keys and values; 0: what is free", "memory-budget",
     0, int64_t{1} << 44, "", kWorker},
    {"worker.heartbeat_seconds", Type::kInteger, "15", "time between two heartbeats", "", 1, 3600, "", kWorker},
    {"worker.grace_seconds", Type::kInteger, "30", "how long running requests may go on after a stop signal", "", 0,
     3600, "", kWorker},
    {"telemetry.otlp_endpoint", Type::kText, "",
     "address of an OpenTelemetry collector, http://HOST:4318, that gets traces of requests; empty: there are none"},
    {"telemetry.service_name", Type::kText, "inferflux", "this server's name in traces"},
    {"telemetry.sampling_percent", Type::kInteger, "100",
     "how many of the traces that begin here are recorded; a request with a traceparent says it itself", "", 0, 100},
    {"client.url", Type::kText, "http://127.0.0.1:8080", "the server to talk to", "url", 0, 0, "", kClient},
    {"client.api_key", Type::kText, "", "API key to send", "api-key", 0, 0, "", kClient, true},
    {"log.level", Type::kText, "info", "what is logged", "log-level", 0, 0, "debug|info|warning|error", kBoth},
    {"log.format", Type::kText, "text", "how a line of the log is written", "log-format", 0, 0, "text|json", kServer},
};
inline constexpr size_t kKeyCount = std::size(kSchema);

// Environment variables in addition to those derived from the keys' names.
struct Alias {
  std::string_view variable;
  std::string_view key;
};
inline constexpr Alias kAliases[] = {
    {"INFERFLUX_API_KEYS_FILE", "server.api_keys_file"},
    {"INFERFLUX_BACKEND_PRIORITY", "runtime.backend_priority"},
    {"INFERFLUX_BACKEND_PREFER_NATIVE", "runtime.backend_exposure.prefer_native"},
    {"INFERFLUX_BACKEND_ALLOW_LLAMA_FALLBACK", "runtime.backend_exposure.allow_llama_fallback"},
};

// Flags of llama-server and vLLM that mean the same, so that their users' habits work.
struct Spelling {
  std::string_view typed;
  std::string_view key;
};
inline constexpr Spelling kSpellings[] = {
    {"-ngl", "runtime.llama_cpp.gpu_layers"},
    {"--gpu-layers", "runtime.llama_cpp.gpu_layers"},
    {"--n-gpu-layers", "runtime.llama_cpp.gpu_layers"},
    {"--ctx-size", "runtime.context"},
    {"--max-model-len", "runtime.context"},
    {"-np", "runtime.max_running"},
    {"--parallel", "runtime.max_running"},
    {"--max-num-seqs", "runtime.max_running"},
    {"--tensor-parallel-size", "runtime.tensor_parallel"},
    {"--pipeline-parallel-size", "runtime.pipeline_parallel"},
};

// Finds a key's row by name at compile time: a name that is missing from the schema or has another type does not
// compile.
template <Type type>
struct KeyRef {
  size_t index = 0;

  consteval KeyRef(const char* name) {  // NOLINT: implicit, so that settings.Integer("server.port") reads well
    while (index < kKeyCount && kSchema[index].name != name) ++index;
    if (index == kKeyCount) throw "no such key in the schema";
    if (kSchema[index].type != type) throw "the key is of another type";
  }
};

}  // namespace inferflux::config
