#include "server/batches/batches_api.h"

#include "server/batches/batch_endpoints.h"

namespace inferflux::server {
namespace {

constexpr Route kBatchesRoutes[] = {
    {"POST", "/v1/batches", Access::kGenerate, &CreateBatch},
    {"GET", "/v1/batches", Access::kGenerate, &ListBatches},
    {"GET", "/v1/batches/{id}", Access::kGenerate, &GetBatch},
    {"POST", "/v1/batches/{id}/cancel", Access::kGenerate, &CancelBatch},
};

}  // namespace

Api BatchesApi() { return {.routes = kBatchesRoutes}; }

}  // namespace inferflux::server
