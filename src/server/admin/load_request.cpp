#include "server/admin/load_request.h"

#include <optional>
#include <string>
#include <utility>

#include "config/model_setting.h"
#include "config/schema.h"
#include "config/value_parser.h"
#include "serving/backends/target.h"

namespace inferflux::server {
namespace {

constexpr size_t kMaxPathBytes = 4096;
constexpr size_t kMaxWordBytes = 256;
constexpr size_t kMaxChainWords = 32;

struct LoadBody {
  std::string path;
  std::string id;
  std::string backend;
  std::string kv_dtype;
  std::string draft;
  std::optional<std::string> device;
  std::optional<int64_t> context, gpu_layers, keep_alive;
  bool is_default = false;
  bool pin = false;
  bool stream = false;
};

// "cuda,auto", or the words as a list.
ApiStatus ReadChain(const boost::json::value& value, std::string_view param, LoadBody& out) {
  std::string chain;
  if (value.is_array()) {
    const auto words = ReadArray(value, param, kMaxChainWords);
    if (!words) return Forward(words);
    for (const boost::json::value& entry : **words) {
      auto word = ReadText(entry, param, kMaxWordBytes);
      if (!word) return Forward(word);
      chain += (chain.empty() ? "" : ",") + *word;
    }
  } else {
    auto text = ReadText(value, param, kMaxChainWords * kMaxWordBytes);
    if (!text) return Forward(text);
    chain = std::move(*text);
  }
  if (const auto known = serving::ParseChain(chain); !known) return Refuse(param, "{}", known.error().message);
  out.backend = std::move(chain);
  return {};
}

// A number, or a text that says which.
ApiStatus ReadDevice(const boost::json::value& value, std::string_view param, LoadBody& out) {
  if (!value.is_string()) {
    return ReadInteger(value, param, -1, config::kMaxDevice).map([&](int64_t number) {
      out.device = std::to_string(number);
    });
  }
  auto text = ReadText(value, param, config::kMaxDeviceBytes);
  if (!text) return Forward(text);
  const config::Key key{param, config::Type::kDevice, "", "", "", -1, config::kMaxDevice};
  if (const auto valid = config::ParseValue(key, *text, "in the request"); !valid) {
    return Refuse(param, "{}", valid.error().message);
  }
  out.device = std::move(*text);
  return {};
}

constexpr Field<LoadBody> kLoadFields[] = {
    {"path", TextField<LoadBody>{&LoadBody::path, kMaxPathBytes}},
    {"id", TextField<LoadBody>{&LoadBody::id, kMaxWordBytes}},
    {"backend", CustomField<LoadBody>{&ReadChain}},
    {"kv_dtype", TextField<LoadBody>{&LoadBody::kv_dtype, kMaxWordBytes}},
    {"draft", TextField<LoadBody>{&LoadBody::draft, kMaxPathBytes}},
    {"device", CustomField<LoadBody>{&ReadDevice}},
    {"gpu_layers", IntegerField<LoadBody>{&LoadBody::gpu_layers, -1, config::kMaxGpuLayers}},
    {"context", IntegerField<LoadBody>{&LoadBody::context, 1, config::kMaxContext}},
    {"keep_alive", IntegerField<LoadBody>{&LoadBody::keep_alive, -1, config::kMaxKeepAlive}},
    {"pin", BooleanField<LoadBody>{&LoadBody::pin}},
    {"default", BooleanField<LoadBody>{&LoadBody::is_default}},
    {"stream", BooleanField<LoadBody>{&LoadBody::stream}},
};

}  // namespace

ApiResult<AdminLoad> ParseAdminLoad(const boost::json::object& body, const serving::ModelPool& pool) {
  LoadBody fields;
  if (ApiStatus taken = ParseObject<LoadBody>(kLoadFields, "", body, fields); !taken) return Forward(taken);
  if (fields.path.empty() && !fields.id.empty()) {
    auto path = pool.PathOf(fields.id);
    if (!path) return tl::make_unexpected(FromError(path.error(), "id"));
    fields.path = std::move(*path);
  }
  if (fields.path.empty()) {
    return Refuse("path",
                  "is needed: a GGUF file, or a Hugging Face directory; or 'id' alone, for a model of the models "
                  "directory");
  }
  AdminLoad out{.request = pool.defaults(), .is_default = fields.is_default, .stream = fields.stream};
  out.request.id = fields.id.empty() ? config::ModelIdOf(fields.path) : std::move(fields.id);
  out.request.path = std::move(fields.path);
  if (!fields.backend.empty()) out.request.requested_backend = std::move(fields.backend);
  out.request.draft = std::move(fields.draft);
  if (!fields.kv_dtype.empty()) out.request.config.kv_dtype = std::move(fields.kv_dtype);
  if (fields.device) out.request.config.device = std::move(fields.device);
  if (fields.gpu_layers) out.request.config.gpu_layers = static_cast<int32_t>(*fields.gpu_layers);
  if (fields.context) out.request.context = static_cast<int32_t>(*fields.context);
  out.request.pinned = fields.pin;
  if (fields.keep_alive) out.request.keep_alive = serving::KeepAlive(*fields.keep_alive);
  return out;
}

}  // namespace inferflux::server
