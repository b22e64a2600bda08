#include "server/files/file_endpoints.h"

#include <boost/json/array.hpp>
#include <string>
#include <utility>

#include "server/files/upload_form.h"
#include "server/reply/page_query.h"
#include "server/request/unique_id.h"

namespace inferflux::server {
namespace asio = boost::asio;
namespace json = boost::json;
namespace {

constexpr int64_t kMostListedFiles = 10'000;

tl::unexpected<ApiError> NoSuchFile(const std::string& id) {
  return tl::make_unexpected(
      ApiError{404, fmt::format("No such File object: {}", id), "invalid_request_error", "id", "not_found"});
}

json::object DescribeFile(const StoredFile& file) {
  json::object out;
  out["id"] = file.id;
  out["object"] = "file";
  out["bytes"] = file.bytes;
  out["created_at"] = file.created;
  out["expires_at"] = file.expires;
  out["filename"] = file.filename;
  out["purpose"] = file.purpose;
  out["status"] = "processed";
  return out;
}

ApiResult<json::object> StoreUpload(Services& services, const Caller& caller, const net::Request& request) {
  const auto form = ParseUpload(net::FindHeader(request.headers, "Content-Type"), request.body);
  if (!form) return Forward(form);
  const auto file = services.files->Put(caller.account,
                                        {.id = UniqueId("file-"), .filename = form->filename, .purpose = form->purpose},
                                        form->content, form->lifetime);
  if (file) return DescribeFile(*file);
  ApiError error = FromError(file.error(), "file");
  if (file.error().code == ErrorCode::kResourceExhausted) {  // no later try helps
    error = ApiError{400, file.error().message, "invalid_request_error", "file", "storage_limit_exceeded"};
  }
  return tl::make_unexpected(std::move(error));
}

ApiResult<json::object> FilePageJson(Services& services, const Caller& caller, const net::Request& request) {
  const auto page = ReadPageQuery(request, kMostListedFiles, kMostListedFiles);
  if (!page) return Forward(page);
  const auto found = services.files->List(caller.account, {.purpose = QueryText(request, "purpose"),
                                                           .after = page->after,
                                                           .limit = page->limit,
                                                           .newest_first = page->newest_first});
  if (!found) return Refuse("after", "names no file");
  json::array data;
  for (const StoredFile& file : found->files) data.push_back(DescribeFile(file));
  json::object out;
  out["object"] = "list";
  out["first_id"] = found->files.empty() ? std::string() : found->files.front().id;
  out["last_id"] = found->files.empty() ? std::string() : found->files.back().id;
  out["has_more"] = found->has_more;
  out["data"] = std::move(data);
  return out;
}

ApiResult<json::object> RemoveFile(Services& services, const Caller& caller, const std::string& id) {
  if (services.batches->IsInput(caller.account, id)) {
    return tl::make_unexpected(ApiError{409, fmt::format("a batch that has not ended reads {}; cancel it first", id),
                                        "invalid_request_error", "id", "file_in_use"});
  }
  if (!services.files->Delete(caller.account, id)) return NoSuchFile(id);
  return json::object{{"id", id}, {"object", "file"}, {"deleted", true}};
}

}  // namespace

asio::awaitable<void> UploadFile(Services& services, const Caller& caller, const net::Request& request,
                                 net::ResponseWriter& writer) {
  return AnswerInPool(services, caller, writer, [&] { return ObjectReply(StoreUpload(services, caller, request)); });
}

asio::awaitable<void> ListFiles(Services& services, const Caller& caller, const net::Request& request,
                                net::ResponseWriter& writer) {
  return AnswerInPool(services, caller, writer, [&] { return ObjectReply(FilePageJson(services, caller, request)); });
}

asio::awaitable<void> GetFile(Services& services, const Caller& caller, const net::Request& request,
                              net::ResponseWriter& writer) {
  return AnswerInPool(services, caller, writer, [&] {
    const std::string& id = request.parameters.at("id");
    const auto file = services.files->Get(caller.account, id);
    return ObjectReply(file ? ApiResult<json::object>(DescribeFile(*file)) : NoSuchFile(id));
  });
}

asio::awaitable<void> DeleteFile(Services& services, const Caller& caller, const net::Request& request,
                                 net::ResponseWriter& writer) {
  return AnswerInPool(services, caller, writer,
                      [&] { return ObjectReply(RemoveFile(services, caller, request.parameters.at("id"))); });
}

asio::awaitable<void> GetFileContent(Services& services, const Caller& caller, const net::Request& request,
                                     net::ResponseWriter& writer) {
  return AnswerInPool(services, caller, writer, [&] {
    const std::string& id = request.parameters.at("id");
    auto content = services.files->Content(caller.account, id);
    if (!content) return ErrorResponse(NoSuchFile(id).value());
    return net::Response(200, "application/octet-stream", std::move(*content));
  });
}

}  // namespace inferflux::server
