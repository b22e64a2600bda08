#include "server/request/find_model.h"

#include <utility>

namespace inferflux::server {
namespace {

ApiError Refusal(const Services& services, const std::string& id, double timeout, serving::NoSelection refused) {
  using Why = serving::NoSelection::Why;
  if (refused.why == Why::kMissingCapability) {
    return {422, std::move(refused.message), "invalid_request_error", "model", "missing_capability"};
  }
  if (refused.why == Why::kFailed)
    return {500, std::move(refused.message), "server_error", "model", "model_load_failed"};
  if (refused.why == Why::kNotReady) return FromStatus(503, refused.message);
  if (!services.ready) return FromStatus(503, "the models are still being loaded; see /readyz");
  if (refused.why == Why::kNotLoaded) {
    ApiError out{503, std::move(refused.message), "service_unavailable_error", "model", "model_not_loaded"};
    out.load_first = id;
    out.load_timeout = timeout;
    return out;
  }
  if (refused.why == Why::kNoModel) return FromStatus(503, refused.message);
  return {404, std::move(refused.message), "invalid_request_error", "model", "model_not_found"};
}

}  // namespace

ApiResult<std::shared_ptr<const serving::ServedModel>> FindModel(const Services& services, const std::string& id,
                                                                 std::span<const serving::Feature> needs,
                                                                 double timeout) {
  auto selected = services.pool.Select(id, needs);
  if (!selected) return tl::make_unexpected(Refusal(services, id, timeout, std::move(selected.error())));
  return std::move(*selected);
}

}  // namespace inferflux::server
