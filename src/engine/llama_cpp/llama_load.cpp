#include "engine/llama_cpp/llama_load.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <exception>
#include <limits>
#include <optional>
#include <string_view>

#include "base/host_memory.h"
#include "engine/llama_cpp/create_llama_engine.h"
#include "engine/llama_cpp/llama_devices.h"
#include "engine/llama_cpp/llama_versions.h"
#include "model/families/read_pooling.h"
#include "model/model_config.h"

namespace inferflux::engine {
namespace {

constexpr int32_t kUsefulSequences = 16;  // sequences of full length that the default KV size has room for
constexpr int32_t kStates = 32;           // sequences of a recurrent model, which reserves memory for each of them
constexpr int32_t kMaxBatch = 1 << 16;

struct KvType {
  std::string_view name;
  ggml_type type;
  int32_t bytes;
};
constexpr std::array kKvTypes = {KvType{"fp32", GGML_TYPE_F32, 4}, KvType{"fp16", GGML_TYPE_F16, 2},
                                 KvType{"bf16", GGML_TYPE_BF16, 2}};

std::optional<int64_t> MetadataNumber(const llama_model& model, const std::string& key) {
  std::array<char, 64> text{};
  const int32_t length = llama_model_meta_val_str(&model, key.c_str(), text.data(), text.size());
  int64_t number = 0;
  if (length <= 0 || std::from_chars(text.data(), text.data() + text.size(), number).ec != std::errc()) return {};
  return number;
}

// Estimates the bytes of KV per token, for a budget: layers that keep less than the first count like it.
int64_t TokenBytes(const llama_model& model, int32_t element_bytes) {
  std::array<char, 64> architecture{};
  llama_model_meta_val_str(&model, "general.architecture", architecture.data(), architecture.size());
  const std::string prefix = std::string(architecture.data()) + ".attention.";
  const int64_t head = llama_model_n_embd(&model) / std::max(1, llama_model_n_head(&model));
  const int64_t key = MetadataNumber(model, prefix + "key_length").value_or(head);
  const int64_t value = MetadataNumber(model, prefix + "value_length").value_or(head);
  return std::max<int64_t>(
      1, int64_t{llama_model_n_layer(&model)} * llama_model_n_head_kv(&model) * (key + value) * element_bytes);
}

Status CheckOptions(const LlamaOptions& options) {
  const auto in_range = [](int32_t value, int32_t most) { return value >= 1 && value <= most; };
  if (!in_range(options.batch, kMaxBatch) || !in_range(options.micro_batch, kMaxBatch)) {
    return Fail(ErrorCode::kInvalidArgument, "batches of {} and {} tokens: they must be 1 to {}", options.batch,
                options.micro_batch, kMaxBatch);
  }
  if (options.context < 0 || options.kv_bytes < 0 || options.gpu_layers < -1) {
    return Fail(ErrorCode::kInvalidArgument, "a negative context ({}), KV budget ({}) or number of layers ({})",
                options.context, options.kv_bytes, options.gpu_layers);
  }
  return {};
}

Status CheckDevice(const LlamaOptions& options) {
  if (options.device < 0) return {};
  return compute::FindDevice(LlamaDeviceList(options.target), std::to_string(options.device),
                             "llama.cpp on " + options.target)
      .map([](int32_t) {});
}

// Free bytes where the KV is allocated: on the devices that hold layers, or on the host if none does or none reports
// it.
int64_t FreeMemory(const LlamaOptions& options) {
  const int64_t host = ReadHostMemory().free;
  if (options.target == "cpu" || options.gpu_layers == 0) return host;
  const auto devices = LlamaDeviceList(options.target);
  int64_t free = 0;
  for (size_t i = 0; i < devices.size(); ++i) {
    if (options.device < 0 || static_cast<size_t>(options.device) == i) free += devices[i].free_bytes;
  }
  return free > 0 ? free : host;
}

Result<LlamaModelPtr> LoadModelFile(const std::string& path, const LlamaOptions& options) {
  auto devices = LlamaDevices(options.target, options.device);
  llama_model_params params = llama_model_default_params();
  params.devices = devices.data();
  params.n_gpu_layers = devices.size() > 1 ? (options.gpu_layers < 0 ? 9999 : options.gpu_layers) : 0;
  auto progress = options.on_progress;
  if (progress) {
    params.progress_callback = [](float part, void* callback) {
      (*static_cast<std::function<void(float)>*>(callback))(part);
      return true;
    };
    params.progress_callback_user_data = &progress;
  }
  const LlamaComplaints complaints;
  LlamaModelPtr model(llama_model_load_from_file(path.c_str(), params));
  if (!model) return Fail(ErrorCode::kUnsupported, "llama.cpp cannot load {}: {}", path, complaints.text());
  if (llama_model_has_encoder(model.get())) {
    return Fail(ErrorCode::kUnsupported,
                "{} encodes one text to decode another: the llama.cpp engine serves no such models", path);
  }
  if (llama_model_is_diffusion(model.get())) {
    return Fail(ErrorCode::kUnsupported, "{} makes text by diffusion: the llama.cpp engine serves no such models",
                path);
  }
  return model;
}

// Whether tokens see only earlier tokens.
Result<bool> IsCausal(const model::ModelSource& source, const std::string& architecture) {
  return source.metadata().GetOr<bool>(architecture + ".attention.causal", true);
}

llama_context_params ContextParams(const LoadedLlama& loaded, const LlamaOptions& options, ggml_type kv,
                                   int64_t cells) {
  llama_context_params params = llama_context_default_params();
  params.n_ctx = static_cast<uint32_t>(cells);
  // Each sequence may need an output in one call: the library aborts if the batch is smaller than that.
  params.n_batch = static_cast<uint32_t>(std::max(options.batch, loaded.ids));
  params.n_ubatch = static_cast<uint32_t>(std::min(options.batch, options.micro_batch));
  if (!loaded.causal) {  // a batch must hold whole texts
    params.n_batch = params.n_ubatch = static_cast<uint32_t>(std::max(loaded.sequence_context, loaded.ids));
  }
  params.n_seq_max = static_cast<uint32_t>(loaded.ids);
  params.n_threads = params.n_threads_batch = options.threads;
  params.type_k = params.type_v = kv;
  SetFlashAttention(params, options.flash_attention);
  params.pooling_type = LLAMA_POOLING_TYPE_NONE;  // one hidden state per token: the scheduler pools them
  params.kv_unified = true;                       // sequences share prefixes: they must be in one stream
  params.swa_full = true;                         // a cut or a copy may need keys from before the sliding window
  params.no_perf = true;
  return params;
}

}  // namespace

Result<LoadedLlama> LoadLlama(const model::ModelSource& source, const LlamaOptions& options) {
  const std::string& path = source.path();
  if (auto valid = CheckOptions(options); !valid) return Forward(valid);
  if (auto there = CheckDevice(options); !there) return Forward(there);
  const auto* kv = std::ranges::find(kKvTypes, options.kv_dtype, &KvType::name);
  if (kv == kKvTypes.end()) {
    return Fail(ErrorCode::kInvalidArgument, "no KV type '{}' on llama.cpp: it has fp32, fp16, bf16", options.kv_dtype);
  }
  auto model = LoadModelFile(path, options);
  if (!model) return Forward(model);
  const int32_t trained = llama_model_n_ctx_train(model->get());
  if (options.context > trained) {
    return Fail(ErrorCode::kInvalidArgument, "a context of {} tokens: this model was trained for {}", options.context,
                trained);
  }
  model::ModelConfig config{.hidden = llama_model_n_embd(model->get())};
  auto architecture = source.metadata().Get<std::string>("general.architecture");
  if (!architecture) return Forward(architecture, path);
  config.architecture = std::move(*architecture);
  const auto causal = IsCausal(source, config.architecture);
  if (!causal) return Forward(causal);

  LoadedLlama out{.causal = *causal};
  out.guards = GuardMappingsOf(path);
  out.partial_copies = !llama_model_is_recurrent(model->get()) && !IsHybrid(*model->get(), config.architecture);
  const auto library_ids = static_cast<int32_t>(std::min<size_t>(llama_max_parallel_sequences(), 1 << 16));
  out.ids = out.partial_copies ? library_ids : std::min(library_ids, kStates);
  out.sequence_context = options.context > 0 ? options.context : trained;
  const int64_t budget = options.kv_bytes > 0 ? options.kv_bytes : FreeMemory(options) / 4;
  const int64_t cells =
      std::min({budget / TokenBytes(**model, kv->bytes), int64_t{out.sequence_context} * kUsefulSequences,
                int64_t{std::numeric_limits<int32_t>::max() / 2}});
  if (cells < 1) return Fail(ErrorCode::kResourceExhausted, "{} bytes for KV do not hold one token", budget);
  out.sequence_context = static_cast<int32_t>(std::min<int64_t>(out.sequence_context, cells));
  out.ids = static_cast<int32_t>(std::min<int64_t>(out.ids, cells));  // the library ends the program if there are more

  const LlamaComplaints complaints;
  // A model without a memory is an encoder, whatever its file says: only a context reports this.
  for (const bool again : {true, false}) {
    if (!out.causal)
      out.sequence_context = std::min(out.sequence_context, std::max(options.batch, options.micro_batch));
    out.context.reset(llama_init_from_model(model->get(), ContextParams(out, options, kv->type, cells)));
    if (!out.context) {
      return Fail(ErrorCode::kResourceExhausted, "llama.cpp cannot make a context of {} tokens for {}: {}", cells, path,
                  complaints.text());
    }
    if (!again || !out.causal || llama_get_memory(out.context.get()) != nullptr) break;
    out.causal = false;
  }
  if (!out.causal && options.target == "vulkan") {
    return Fail(ErrorCode::kUnsupported,
                "{} is an encoder: of those llama.cpp's Vulkan device gives other vectors than the CPU, in tests with "
                "RoBERTa by a tenth; ask for cpu or llama_cpp_cpu",
                path);
  }
  config.causal = out.causal;
  if (auto pooling = model::ReadPooling(source, &config); !pooling) return Forward(pooling);
  if (config.pooling.scores() || !config.head.empty()) {
    return Fail(ErrorCode::kUnsupported,
                "{} has a head for pooled states ({}), which the llama.cpp engine does not compute; ask for cpu", path,
                config.head.back().tensor);
  }
  out.pooling = std::move(config.pooling);
  out.model = std::move(*model);
  return out;
}

}  // namespace inferflux::engine
