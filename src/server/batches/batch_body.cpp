#include "server/batches/batch_body.h"

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>
#include <ctime>
#include <utility>

#include "server/request/unique_id.h"

namespace inferflux::server {
namespace json = boost::json;

void SetBatchStatus(json::object& body, std::string_view status) {
  body["status"] = status;
  body[std::string(status) + "_at"] = std::time(nullptr);
}

std::string_view BatchStatus(const json::object& body) {
  const json::string& status = body.at("status").as_string();
  return {status.data(), status.size()};
}

void SetBatchErrors(json::object& body, const std::vector<BatchInputError>& errors) {
  json::array data;
  for (const BatchInputError& error : errors) {
    json::object entry;
    entry["code"] = error.code;
    entry["message"] = error.message;
    entry["param"] = error.param.empty() ? json::value(nullptr) : json::value(json::string(error.param));
    entry["line"] = error.line == 0 ? json::value(nullptr) : json::value(error.line);
    data.push_back(std::move(entry));
  }
  json::object list;
  list["object"] = "list";
  list["data"] = std::move(data);
  body["errors"] = std::move(list);
}

void SetBatchCounts(json::object& body, const BatchCounts& counts) {
  body["request_counts"] =
      json::object{{"total", counts.total}, {"completed", counts.completed}, {"failed", counts.failed}};
}

// The reply is JSON already, and is copied as it is: parsing it would change how its numbers are written.
std::string BatchResultLine(const std::string& custom_id, int status, const std::string& request_id,
                            const std::string& reply) {
  return fmt::format(
      R"({{"id":"{}","custom_id":{},"response":{{"status_code":{},"request_id":"{}","body":{}}},"error":null}})",
      UniqueId("batch_req_"), json::serialize(json::string(custom_id)), status, request_id, reply);
}

std::string BatchErrorLine(const std::string& custom_id, std::string_view code, std::string_view message) {
  json::object out;
  out["id"] = UniqueId("batch_req_");
  out["custom_id"] = custom_id;
  out["response"] = nullptr;
  out["error"] = {{"code", code}, {"message", message}};
  return json::serialize(out);
}

}  // namespace inferflux::server
