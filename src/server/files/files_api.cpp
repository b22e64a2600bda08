#include "server/files/files_api.h"

#include "server/files/file_endpoints.h"

namespace inferflux::server {
namespace {

constexpr Route kFilesRoutes[] = {
    {"POST", "/v1/files", Access::kGenerate, &UploadFile},
    {"GET", "/v1/files", Access::kGenerate, &ListFiles},
    {"GET", "/v1/files/{id}", Access::kGenerate, &GetFile},
    {"DELETE", "/v1/files/{id}", Access::kGenerate, &DeleteFile},
    {"GET", "/v1/files/{id}/content", Access::kGenerate, &GetFileContent},
};

}  // namespace

Api FilesApi() { return {.routes = kFilesRoutes}; }

}  // namespace inferflux::server
