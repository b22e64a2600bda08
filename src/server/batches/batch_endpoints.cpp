#include "server/batches/batch_endpoints.h"

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <ctime>
#include <optional>
#include <string>
#include <utility>

#include "server/batches/batch_body.h"
#include "server/batches/batch_runner.h"
#include "server/files/upload_form.h"
#include "server/reply/page_query.h"
#include "server/request/fields.h"
#include "server/request/json_body.h"
#include "server/request/unique_id.h"

namespace inferflux::server {
namespace asio = boost::asio;
namespace json = boost::json;
namespace {

constexpr int64_t kWindowSeconds = 24 * 3600;
constexpr int64_t kBatchLifetime = 30 * 24 * 3600;  // seconds from its creation, after which it is forgotten
constexpr int64_t kMostUnfinished = 100;            // batches of a key
constexpr size_t kMostBatchLabels = 16, kMostLabelName = 64, kMostLabelValue = 512;

struct BatchFields {
  std::string input;
  std::string endpoint;
  std::string window;
  json::object metadata;
  std::optional<int64_t> output_lifetime;
};

ApiStatus TakeBatchLabels(const json::value& value, std::string_view param, BatchFields& out) {
  const auto object = ReadObject(value, param);
  if (!object) return Forward(object);
  if ((*object)->size() > kMostBatchLabels) return Refuse(param, "must have at most {} entries", kMostBatchLabels);
  for (const auto& [name, text] : **object) {
    if (name.size() > kMostLabelName) return Refuse(param, "must have names of at most {} bytes", kMostLabelName);
    if (auto label = ReadText(text, Join(param, name), kMostLabelValue); !label) return Forward(label);
  }
  out.metadata = **object;
  return {};
}

ApiStatus TakeWindow(const json::value& value, std::string_view param, BatchFields& out) {
  if (value != "24h") return Refuse(param, "must be \"24h\"");
  out.window = "24h";
  return {};
}

struct OutputExpiry {
  std::string anchor;
  std::optional<int64_t> seconds;
};

ApiStatus TakeOutputExpiry(const json::value& value, std::string_view param, BatchFields& out) {
  static constexpr Field<OutputExpiry> kFields[] = {
      {"anchor", TextField<OutputExpiry>{&OutputExpiry::anchor, 32}},
      {"seconds", IntegerField<OutputExpiry>{&OutputExpiry::seconds, 0, kBatchLifetime}},
  };
  const auto object = ReadObject(value, param);
  if (!object) return Forward(object);
  OutputExpiry parsed;
  if (ApiStatus taken = ParseObject<OutputExpiry>(kFields, param, **object, parsed); !taken) return taken;
  if (parsed.anchor != "created_at") return Refuse(Join(param, "anchor"), "must be \"created_at\"");
  const auto lifetime = CheckLifetime(Join(param, "seconds"), parsed.seconds.value_or(0));
  if (!lifetime) return Forward(lifetime);
  out.output_lifetime = lifetime->count();
  return {};
}

constexpr Field<BatchFields> kBatchFields[] = {
    {"input_file_id", TextField<BatchFields>{&BatchFields::input, 128}},
    {"endpoint", TextField<BatchFields>{&BatchFields::endpoint, 128}},
    {"completion_window", CustomField<BatchFields>{TakeWindow}},
    {"metadata", CustomField<BatchFields>{TakeBatchLabels}},
    {"output_expires_after", CustomField<BatchFields>{TakeOutputExpiry}},
};

ApiResult<BatchFields> ParseBatchRequest(const net::Request& request) {
  const auto body = ParseJsonBody(request.body);
  if (!body) return Forward(body);
  BatchFields out;
  if (ApiStatus taken = ParseObject<BatchFields>(kBatchFields, "", *body, out); !taken) return Forward(taken);
  for (const auto& [name, text] : {std::pair("input_file_id", &out.input), std::pair("endpoint", &out.endpoint),
                                   std::pair("completion_window", &out.window)}) {
    if (text->empty()) return RefuseAs("missing_required_parameter", name, fmt::format("'{}' is missing", name));
  }
  if (BatchEndpoint(out.endpoint) == nullptr) return Refuse("endpoint", "must be one of {}", BatchEndpoints());
  return out;
}

json::object NewBatch(BatchFields fields) {
  const int64_t now = std::time(nullptr);
  json::object out;
  out["id"] = UniqueId("batch_");
  out["object"] = "batch";
  out["endpoint"] = std::move(fields.endpoint);
  out["input_file_id"] = std::move(fields.input);
  out["completion_window"] = std::move(fields.window);
  out["status"] = "validating";
  out["created_at"] = now;
  out["expires_at"] = now + kWindowSeconds;
  SetBatchCounts(out, {});
  out["metadata"] = std::move(fields.metadata);
  if (fields.output_lifetime) {
    out["output_expires_after"] = json::object{{"anchor", "created_at"}, {"seconds", *fields.output_lifetime}};
  }
  return out;
}

ApiResult<json::object> StoreBatch(Services& services, const Caller& caller, const net::Request& request) {
  auto fields = ParseBatchRequest(request);
  if (!fields) return Forward(fields);
  const auto file = services.files->Get(caller.account, fields->input);
  if (!file) return Refuse("input_file_id", "names no file: {}", fields->input);
  if (file->purpose != "batch") return Refuse("input_file_id", "names a file of the purpose '{}'", file->purpose);
  if (services.batches->CountUnfinished(caller.account) >= kMostUnfinished) {
    return tl::make_unexpected(
        ApiError{429, fmt::format("{} batches of this key have not ended; wait for some of them", kMostUnfinished),
                 "rate_limit_error", "", "too_many_batches", 60});
  }
  json::object body = NewBatch(std::move(*fields));
  StoredBatch batch{.id = std::string(body.at("id").as_string()),
                    .owner = caller.account,
                    .input = file->id,
                    .expires = std::time(nullptr) + kBatchLifetime,
                    .body = json::serialize(body)};
  if (Status added = services.batches->Add(batch); !added) return tl::make_unexpected(FromError(added.error(), ""));
  services.batch_runner->Add(batch.owner, batch.id);
  return body;
}

json::object DescribeBatch(Services& services, const StoredBatch& batch) {
  json::object out = json::parse(batch.body).as_object();
  if (batch.unfinished && BatchStatus(out) != "validating") SetBatchCounts(out, services.batches->Counts(batch.id));
  return out;
}

ApiResult<StoredBatch> FindBatch(Services& services, const Caller& caller, const net::Request& request) {
  const std::string& id = request.parameters.at("id");
  auto found = services.batches->Get(caller.account, id);
  if (found) return std::move(*found);
  return tl::make_unexpected(
      ApiError{404, fmt::format("No batch found with id '{}'.", id), "invalid_request_error", "id", "not_found"});
}

ApiResult<json::object> BatchPageJson(Services& services, const Caller& caller, const net::Request& request) {
  const auto page = ReadPageQuery(request, 20, 100);
  if (!page) return Forward(page);
  const auto found = services.batches->List(caller.account, page->after, page->limit);
  if (!found) return Refuse("after", "names no batch");
  json::array data;
  for (const StoredBatch& batch : found->batches) data.push_back(DescribeBatch(services, batch));
  json::object out;
  out["object"] = "list";
  if (!data.empty()) {
    out["first_id"] = found->batches.front().id;
    out["last_id"] = found->batches.back().id;
  }
  out["has_more"] = found->has_more;
  out["data"] = std::move(data);
  return out;
}

ApiResult<json::object> CancelFound(Services& services, const Caller& caller, const net::Request& request) {
  const auto found = FindBatch(services, caller, request);
  if (!found) return Forward(found);
  json::object body = DescribeBatch(services, *found);
  if (BatchStatus(body) == "cancelling" || BatchStatus(body) == "cancelled") return body;
  if (!found->unfinished) {
    return tl::make_unexpected(ApiError{409,
                                        fmt::format("the batch is {}, so it cannot be cancelled", BatchStatus(body)),
                                        "invalid_request_error", "id", "batch_ended"});
  }
  services.batch_runner->Cancel(caller.account, found->id);
  SetBatchStatus(body, "cancelling");
  return body;
}

}  // namespace

asio::awaitable<void> CreateBatch(Services& services, const Caller& caller, const net::Request& request,
                                  net::ResponseWriter& writer) {
  return AnswerInPool(services, caller, writer, [&] { return ObjectReply(StoreBatch(services, caller, request)); });
}

asio::awaitable<void> ListBatches(Services& services, const Caller& caller, const net::Request& request,
                                  net::ResponseWriter& writer) {
  return AnswerInPool(services, caller, writer, [&] { return ObjectReply(BatchPageJson(services, caller, request)); });
}

asio::awaitable<void> GetBatch(Services& services, const Caller& caller, const net::Request& request,
                               net::ResponseWriter& writer) {
  return AnswerInPool(services, caller, writer, [&] {
    return ObjectReply(FindBatch(services, caller, request).map([&](const StoredBatch& batch) {
      return DescribeBatch(services, batch);
    }));
  });
}

asio::awaitable<void> CancelBatch(Services& services, const Caller& caller, const net::Request& request,
                                  net::ResponseWriter& writer) {
  return AnswerInPool(services, caller, writer, [&] { return ObjectReply(CancelFound(services, caller, request)); });
}

std::vector<FieldRow> BatchFieldRows() {
  std::vector<FieldRow> out;
  AppendRows<BatchFields>(kBatchFields, out);
  return out;
}

}  // namespace inferflux::server
