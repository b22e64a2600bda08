#include "server/responses/responses_api.h"

#include "server/responses/conversations.h"
#include "server/responses/create_response.h"
#include "server/responses/stored_responses.h"

namespace inferflux::server {
namespace {

constexpr Route kResponsesRoutes[] = {
    {"POST", "/v1/responses", Access::kGenerate, &CreateResponse},
    {"GET", "/v1/responses/{id}", Access::kGenerate, &GetResponse},
    {"DELETE", "/v1/responses/{id}", Access::kGenerate, &DeleteResponse},
    {"POST", "/v1/responses/{id}/cancel", Access::kGenerate, &CancelResponse},
    {"GET", "/v1/responses/{id}/input_items", Access::kGenerate, &ListInputItems},
    {"POST", "/v1/conversations", Access::kGenerate, &CreateConversation},
    {"GET", "/v1/conversations/{id}", Access::kGenerate, &GetConversation},
    {"POST", "/v1/conversations/{id}", Access::kGenerate, &UpdateConversation},
    {"DELETE", "/v1/conversations/{id}", Access::kGenerate, &DeleteConversation},
    {"GET", "/v1/conversations/{id}/items", Access::kGenerate, &ListConversationItems},
    {"POST", "/v1/conversations/{id}/items", Access::kGenerate, &AddConversationItems},
    {"GET", "/v1/conversations/{id}/items/{item}", Access::kGenerate, &GetConversationItem},
    {"DELETE", "/v1/conversations/{id}/items/{item}", Access::kGenerate, &DeleteConversationItem},
    {"POST", "/responses", Access::kGenerate, &CreateResponse},
};

}  // namespace

Api ResponsesApi() { return {.routes = kResponsesRoutes}; }

}  // namespace inferflux::server
