#include "server/responses/conversations.h"

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cstddef>
#include <ctime>
#include <string>
#include <utility>

#include "server/request/fields.h"
#include "server/request/json_body.h"
#include "server/request/unique_id.h"
#include "server/responses/input_items.h"
#include "server/responses/stored_responses.h"

namespace inferflux::server {
namespace asio = boost::asio;
namespace json = boost::json;
namespace {

constexpr std::string_view kKind = "conversation";
constexpr size_t kMostLabels = 16;

struct ConversationRequest {
  json::array items;
  json::object metadata;
};

ApiStatus TakeConversationItems(const json::value& value, std::string_view param, ConversationRequest& out) {
  if (!value.is_array()) return Refuse(param, "must be a list of items");
  return ReadInputItems(value, param).map([&](InputItems input) { out.items = std::move(input.items); });
}

ApiStatus TakeLabels(const json::value& value, std::string_view param, ConversationRequest& out) {
  const auto object = ReadObject(value, param);
  if (!object) return Forward(object);
  if ((*object)->size() > kMostLabels) return Refuse(param, "must have at most {} entries", kMostLabels);
  for (const auto& [name, label] : **object) {
    if (auto text = ReadText(label, Join(param, name), 512); !text) return Forward(text);
  }
  out.metadata = **object;
  return {};
}

constexpr Field<ConversationRequest> kConversationFields[] = {
    {"items", CustomField<ConversationRequest>{TakeConversationItems}},
    {"metadata", CustomField<ConversationRequest>{TakeLabels}},
};

ApiResult<ConversationRequest> ReadConversation(const net::Request& request) {
  ConversationRequest out;
  if (request.body.empty()) return out;
  auto body = ParseJsonBody(request.body);
  if (!body) return Forward(body);
  if (ApiStatus taken = ParseObject<ConversationRequest>(kConversationFields, "", *body, out); !taken) {
    return Forward(taken);
  }
  return out;
}

ApiResult<StoredObject> FindConversation(const Services& services, const Caller& caller, const net::Request& request) {
  const std::string& id = request.parameters.at("id");
  auto found = services.objects->Get(kKind, caller.account, id);
  if (found) return std::move(*found);
  return tl::make_unexpected(
      ApiError{404, fmt::format("Conversation with id '{}' not found", id), "invalid_request_error", "", "not_found"});
}

ApiStatus Keep(const Services& services, const Caller& caller, const StoredObject& conversation) {
  if (Status kept = services.objects->Put(kKind, caller.account, conversation); !kept) {
    return tl::make_unexpected(FromError(kept.error(), ""));
  }
  return {};
}

using Body = ApiResult<json::object>;

Body Created(Services& services, const Caller& caller, const net::Request& request) {
  auto given = ReadConversation(request);
  if (!given) return Forward(given);
  json::object out;
  out["id"] = UniqueId("conv_");
  out["object"] = "conversation";
  out["created_at"] = std::time(nullptr);
  out["metadata"] = std::move(given->metadata);
  const StoredObject object{
      .id = std::string(out["id"].as_string()), .body = json::serialize(out), .history = json::serialize(given->items)};
  if (ApiStatus kept = Keep(services, caller, object); !kept) return Forward(kept);
  return out;
}

Body Got(Services& services, const Caller& caller, const net::Request& request) {
  const auto found = FindConversation(services, caller, request);
  if (!found) return Forward(found);
  return json::parse(found->body).as_object();
}

Body Updated(Services& services, const Caller& caller, const net::Request& request) {
  auto found = FindConversation(services, caller, request);
  if (!found) return Forward(found);
  auto given = ReadConversation(request);
  if (!given) return Forward(given);
  json::object out = json::parse(found->body).as_object();
  out["metadata"] = std::move(given->metadata);
  found->body = json::serialize(out);
  if (ApiStatus kept = Keep(services, caller, *found); !kept) return Forward(kept);
  return out;
}

Body Deleted(Services& services, const Caller& caller, const net::Request& request) {
  const auto found = FindConversation(services, caller, request);
  if (!found) return Forward(found);
  services.objects->Delete(kKind, caller.account, found->id);
  return json::object{{"id", found->id}, {"object", "conversation.deleted"}, {"deleted", true}};
}

Body ListedItems(Services& services, const Caller& caller, const net::Request& request) {
  const auto found = FindConversation(services, caller, request);
  if (!found) return Forward(found);
  return PageOfItems(json::parse(found->history).as_array(), request);
}

Body AddedItems(Services& services, const Caller& caller, const net::Request& request) {
  auto found = FindConversation(services, caller, request);
  if (!found) return Forward(found);
  auto given = ReadConversation(request);
  if (!given) return Forward(given);
  if (given->items.empty()) return Refuse("items", "must hold at least one item");
  json::array all = json::parse(found->history).as_array();
  for (const json::value& item : given->items) all.push_back(item);
  found->history = json::serialize(all);
  if (ApiStatus kept = Keep(services, caller, *found); !kept) return Forward(kept);
  json::object out;
  out["object"] = "list";
  out["first_id"] = given->items.front().at("id");
  out["last_id"] = given->items.back().at("id");
  out["has_more"] = false;
  out["data"] = std::move(given->items);
  return out;
}

// Where the item of the request's path is among the conversation's items.
ApiResult<size_t> FindItem(const json::array& items, const net::Request& request) {
  const std::string& id = request.parameters.at("item");
  const auto* found =
      std::ranges::find_if(items, [&](const json::value& item) { return item.at("id") == json::string(id); });
  if (found != items.end()) return static_cast<size_t>(found - items.begin());
  return tl::make_unexpected(ApiError{404, fmt::format("Item with id '{}' not found in the conversation", id),
                                      "invalid_request_error", "", "not_found"});
}

Body GotItem(Services& services, const Caller& caller, const net::Request& request) {
  const auto found = FindConversation(services, caller, request);
  if (!found) return Forward(found);
  const json::array items = json::parse(found->history).as_array();
  const auto index = FindItem(items, request);
  if (!index) return Forward(index);
  return items[*index].as_object();
}

// The answer is the conversation.
Body DeletedItem(Services& services, const Caller& caller, const net::Request& request) {
  auto found = FindConversation(services, caller, request);
  if (!found) return Forward(found);
  json::array items = json::parse(found->history).as_array();
  const auto index = FindItem(items, request);
  if (!index) return Forward(index);
  items.erase(items.begin() + static_cast<std::ptrdiff_t>(*index));
  found->history = json::serialize(items);
  if (ApiStatus kept = Keep(services, caller, *found); !kept) return Forward(kept);
  return json::parse(found->body).as_object();
}

asio::awaitable<void> SendBody(Body body, net::ResponseWriter& writer) {
  net::Response reply =
      body ? net::Response(200, "application/json", json::serialize(*body)) : ErrorResponse(body.error());
  co_await writer.Send(std::move(reply));
}

}  // namespace

asio::awaitable<void> CreateConversation(Services& services, const Caller& caller, const net::Request& request,
                                         net::ResponseWriter& writer) {
  return SendBody(Created(services, caller, request), writer);
}

asio::awaitable<void> GetConversation(Services& services, const Caller& caller, const net::Request& request,
                                      net::ResponseWriter& writer) {
  return SendBody(Got(services, caller, request), writer);
}

asio::awaitable<void> UpdateConversation(Services& services, const Caller& caller, const net::Request& request,
                                         net::ResponseWriter& writer) {
  return SendBody(Updated(services, caller, request), writer);
}

asio::awaitable<void> DeleteConversation(Services& services, const Caller& caller, const net::Request& request,
                                         net::ResponseWriter& writer) {
  return SendBody(Deleted(services, caller, request), writer);
}

asio::awaitable<void> ListConversationItems(Services& services, const Caller& caller, const net::Request& request,
                                            net::ResponseWriter& writer) {
  return SendBody(ListedItems(services, caller, request), writer);
}

asio::awaitable<void> AddConversationItems(Services& services, const Caller& caller, const net::Request& request,
                                           net::ResponseWriter& writer) {
  return SendBody(AddedItems(services, caller, request), writer);
}

asio::awaitable<void> GetConversationItem(Services& services, const Caller& caller, const net::Request& request,
                                          net::ResponseWriter& writer) {
  return SendBody(GotItem(services, caller, request), writer);
}

asio::awaitable<void> DeleteConversationItem(Services& services, const Caller& caller, const net::Request& request,
                                             net::ResponseWriter& writer) {
  return SendBody(DeletedItem(services, caller, request), writer);
}

}  // namespace inferflux::server
