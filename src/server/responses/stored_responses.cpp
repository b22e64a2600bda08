#include "server/responses/stored_responses.h"

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <charconv>
#include <iterator>
#include <utility>
#include <vector>

#include "base/log.h"
#include "server/reply/background_runs.h"

namespace inferflux::server {
namespace asio = boost::asio;
namespace json = boost::json;
namespace {

constexpr std::string_view kResponses = "response";
constexpr std::string_view kConversations = "conversation";
constexpr std::string_view kEvents = "events";

tl::unexpected<ApiError> NotStored(std::string_view what, std::string_view id) {
  return tl::make_unexpected(
      ApiError{404, fmt::format("{} with id '{}' not found", what, id), "invalid_request_error", "", "not_found"});
}

ApiResult<StoredObject> FindResponse(const Services& services, const Caller& caller, const net::Request& request) {
  const std::string& id = request.parameters.at("id");
  const bool running = services.background->IsRunning(id);
  auto found = services.objects->Get(kResponses, caller.account, id);
  if (!found) return NotStored("Response", id);
  json::object response = json::parse(found->body).as_object();
  if (!running && response.at("status") == "in_progress") {  // its server ended before it did
    response["status"] = "failed";
    response["error"] = {{"code", "server_error"}, {"message", "the server stopped before the response was complete"}};
    found->body = json::serialize(response);
  }
  return std::move(*found);
}

net::Response StoredReply(const ApiResult<json::object>& body) {
  if (!body) return ErrorResponse(body.error());
  return net::Response(200, "application/json", json::serialize(*body));
}

// What is stored beside a response: the items that a later response continues, and those of its own input.
json::object HistoryJson(json::array items, const json::array& input) {
  json::object out;
  out["items"] = std::move(items);
  out["input"] = input;
  return out;
}

ApiResult<json::object> Cancelled(Services& services, const Caller& caller, const net::Request& request) {
  auto found = FindResponse(services, caller, request);
  if (!found) return Forward(found);
  json::object response = json::parse(found->body).as_object();
  if (response.at("background") != true) {
    return Refuse("", "only a response that was created with 'background' can be cancelled");
  }
  if (response.at("status") != "in_progress") return response;
  services.background->Cancel(found->id);
  response["status"] = "cancelled";
  found->body = json::serialize(response);
  if (Status kept = services.objects->Put(kResponses, caller.account, *found); !kept) {
    return tl::make_unexpected(FromError(kept.error(), ""));
  }
  return response;
}

// The events of a background response: from its log while it runs, from the store once it has ended.
ApiResult<std::shared_ptr<EventLog>> FindEvents(const Services& services, const Caller& caller, const std::string& id) {
  if (auto running = services.background->EventsOf(id)) return running;
  const auto kept = services.objects->Get(kEvents, caller.account, id);
  if (!kept) {
    return Refuse("stream",
                  "needs a response that was created with 'background' and 'stream'; leave it out to get the "
                  "response whole");
  }
  auto log = std::make_shared<EventLog>();
  log->Append(kept->body);
  log->End();
  return log;
}

// The number of the first event to send.
ApiResult<size_t> FirstEvent(const net::Request& request) {
  const auto given = request.query.find("starting_after");
  if (given == request.query.end()) return 0;
  const std::string& text = given->second;
  uint32_t after = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), after);
  if (error != std::errc() || end != text.data() + text.size()) {
    return Refuse("starting_after", "must be the sequence_number of an event, but is {}", text);
  }
  return size_t{after} + 1;
}

}  // namespace

void KeepEvents(ObjectStore& objects, const std::string& owner, const std::string& id, const EventLog& events) {
  if (!objects.Get(kResponses, owner, id)) return;  // it was deleted meanwhile
  if (Status kept = objects.Put(kEvents, owner, {.id = id, .body = events.bytes(), .history = {}}); !kept) {
    log::Warning("the events of response {} were not stored: {}", id, kept.error().message);
  }
}

void KeepResponse(ObjectStore& objects, const std::string& owner, const json::object& response,
                  const json::array& input, const json::array& history) {
  json::array items = history;
  for (const json::value& item : response.at("output").as_array()) items.push_back(item);
  const StoredObject object{.id = std::string(response.at("id").as_string()),
                            .body = json::serialize(response),
                            .history = json::serialize(HistoryJson(std::move(items), input))};
  if (Status kept = objects.Put(kResponses, owner, object); !kept) {
    log::Warning("response {} was not stored: {}", object.id, kept.error().message);
  }
}

ApiResult<json::array> HistoryOfResponse(ObjectStore& objects, const Caller& caller, std::string_view id) {
  const auto found = objects.Get(kResponses, caller.account, id);
  if (!found) {
    return tl::make_unexpected(ApiError{404, fmt::format("Previous response with id '{}' not found", id),
                                        "invalid_request_error", "previous_response_id",
                                        "previous_response_not_found"});
  }
  const json::value status = json::parse(found->body).at("status");
  if (status != "completed" && status != "incomplete") {
    return Refuse("previous_response_id", "names a response that is {}", std::string_view(status.as_string()));
  }
  return json::parse(found->history).at("items").as_array();
}

ApiResult<json::array> ItemsOfConversation(ObjectStore& objects, const Caller& caller, std::string_view id) {
  const auto found = objects.Get(kConversations, caller.account, id);
  if (!found) return NotStored("Conversation", id);
  return json::parse(found->history).as_array();
}

void AppendToConversation(ObjectStore& objects, const std::string& owner, std::string_view id,
                          const json::array& items) {
  auto found = objects.Get(kConversations, owner, id);
  if (!found) return;  // it was deleted meanwhile
  json::array all = json::parse(found->history).as_array();
  for (const json::value& item : items) all.push_back(item);
  found->history = json::serialize(all);
  if (Status kept = objects.Put(kConversations, owner, *found); !kept) {
    log::Warning("conversation {} did not grow: {}", id, kept.error().message);
  }
}

asio::awaitable<void> GetResponse(Services& services, const Caller& caller, const net::Request& request,
                                  net::ResponseWriter& writer) {
  const auto found = FindResponse(services, caller, request);
  net::Response reply = found ? net::Response(200, "application/json", found->body) : ErrorResponse(found.error());
  const auto stream = request.query.find("stream");
  if (found && stream != request.query.end() && stream->second == "true") {
    const auto first = FirstEvent(request);
    const auto events = FindEvents(services, caller, found->id);
    if (first && events) {
      co_await FollowEvents(*events, *first, writer);
      co_return;
    }
    reply = ErrorResponse(first ? events.error() : first.error());
  }
  co_await writer.Send(std::move(reply));
}

asio::awaitable<void> DeleteResponse(Services& services, const Caller& caller, const net::Request& request,
                                     net::ResponseWriter& writer) {
  const std::string& id = request.parameters.at("id");
  ApiResult<json::object> body = json::object{{"id", id}, {"object", "response"}, {"deleted", true}};
  if (!services.objects->Delete(kResponses, caller.account, id)) {
    body = NotStored("Response", id);
  } else {
    services.background->Cancel(id);
    services.objects->Delete(kEvents, caller.account, id);
  }
  net::Response reply = StoredReply(body);
  co_await writer.Send(std::move(reply));
}

asio::awaitable<void> CancelResponse(Services& services, const Caller& caller, const net::Request& request,
                                     net::ResponseWriter& writer) {
  net::Response reply = StoredReply(Cancelled(services, caller, request));
  co_await writer.Send(std::move(reply));
}

ApiResult<json::object> PageOfItems(const json::array& items, const net::Request& request) {
  const auto query = [&](const char* name) {
    const auto found = request.query.find(name);
    return found == request.query.end() ? std::string() : found->second;
  };
  size_t limit = 20;
  if (const std::string given = query("limit"); !given.empty()) {
    const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), limit);
    if (error != std::errc() || end != given.data() + given.size() || limit < 1 || limit > 100) {
      return Refuse("limit", "must be from 1 to 100, but is {}", given);
    }
  }
  const std::string order = query("order");
  if (!order.empty() && order != "asc" && order != "desc") return Refuse("order", "must be \"asc\" or \"desc\"");
  std::vector<const json::value*> sorted;
  for (const json::value& item : items) sorted.push_back(&item);
  if (order != "asc") std::ranges::reverse(sorted);
  auto first = sorted.begin();
  if (const std::string after = query("after"); !after.empty()) {
    first =
        std::ranges::find_if(sorted, [&](const json::value* item) { return item->at("id") == json::string(after); });
    if (first == sorted.end()) return Refuse("after", "names no item of the list");
    ++first;
  }
  const auto last = first + static_cast<std::ptrdiff_t>(std::min(limit, static_cast<size_t>(sorted.end() - first)));
  json::array data;
  for (auto item = first; item != last; ++item) data.push_back(**item);
  json::object out;
  out["object"] = "list";
  out["first_id"] = data.empty() ? json::value(nullptr) : data.front().at("id");
  out["last_id"] = data.empty() ? json::value(nullptr) : data.back().at("id");
  out["has_more"] = last != sorted.end();
  out["data"] = std::move(data);
  return out;
}

asio::awaitable<void> ListInputItems(Services& services, const Caller& caller, const net::Request& request,
                                     net::ResponseWriter& writer) {
  const auto found = FindResponse(services, caller, request);
  net::Response reply;
  if (!found) {
    reply = ErrorResponse(found.error());
  } else {
    const json::value history = json::parse(found->history);
    reply = StoredReply(PageOfItems(history.at("input").as_array(), request));
  }
  co_await writer.Send(std::move(reply));
}

}  // namespace inferflux::server
