#include "server/load_request.h"

#include <optional>
#include <string>
#include <utility>

#include "config/model_setting.h"
#include "config/schema.h"
#include "routing/target.h"

namespace inferflux::server {
namespace {

constexpr size_t kMaxPathBytes = 4096;
constexpr size_t kMaxWordBytes = 256;

struct Body {
  std::string path;
  std::string id;
  std::string backend;
  std::string kv_dtype;
  std::string draft;
  std::optional<int64_t> context, device, gpu_layers;
  bool is_default = false;
  bool stream = false;
};

constexpr Field<Body> kFields[] = {
    {"path", TextField<Body>{&Body::path, kMaxPathBytes}},
    {"id", TextField<Body>{&Body::id, kMaxWordBytes}},
    {"backend", TextField<Body>{&Body::backend, kMaxWordBytes}},
    {"kv_dtype", TextField<Body>{&Body::kv_dtype, kMaxWordBytes}},
    {"draft", TextField<Body>{&Body::draft, kMaxPathBytes}},
    {"device", IntegerField<Body>{&Body::device, 0, config::kMaxDevice}},
    {"gpu_layers", IntegerField<Body>{&Body::gpu_layers, -1, config::kMaxGpuLayers}},
    {"context", IntegerField<Body>{&Body::context, 1, config::kMaxContext}},
    {"default", BooleanField<Body>{&Body::is_default}},
    {"stream", BooleanField<Body>{&Body::stream}},
};

}  // namespace

ApiResult<AdminLoad> ParseAdminLoad(const boost::json::object& body, const routing::LoadRequest& defaults) {
  Body fields;
  if (ApiStatus taken = TakeObject<Body>(kFields, "", body, fields); !taken) return Forward(taken);
  if (fields.path.empty()) return Refuse("path", "is needed: a GGUF file, or a Hugging Face directory");
  AdminLoad out{.request = defaults, .is_default = fields.is_default, .stream = fields.stream};
  out.request.id = fields.id.empty() ? config::ModelIdOf(fields.path) : std::move(fields.id);
  out.request.path = std::move(fields.path);
  if (!fields.backend.empty()) {
    if (const auto known = routing::ParseTarget(fields.backend); !known) {
      return Refuse("backend", "{}", known.error().message);
    }
    out.request.requested_backend = fields.backend;
    out.request.backends = {std::move(fields.backend)};
  }
  out.request.draft = std::move(fields.draft);
  if (!fields.kv_dtype.empty()) out.request.config.kv_dtype = std::move(fields.kv_dtype);
  if (fields.device) out.request.config.device = static_cast<int32_t>(*fields.device);
  if (fields.gpu_layers) out.request.config.gpu_layers = static_cast<int32_t>(*fields.gpu_layers);
  if (fields.context) out.request.context = static_cast<int32_t>(*fields.context);
  return out;
}

}  // namespace inferflux::server
