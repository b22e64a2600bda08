#include "server/openai/llama_server/server_state.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <filesystem>
#include <string>
#include <utility>

#include "base/version/version.h"
#include "server/openai/llama_server/answer_body.h"
#include "server/request/find_model.h"
#include "serving/generation/sampling_table.h"

namespace inferflux::server {
namespace asio = boost::asio;
namespace json = boost::json;
namespace {

ApiResult<std::shared_ptr<const serving::ServedModel>> AskedModel(const Services& services,
                                                                  const net::Request& request) {
  const auto id = request.query.find("model");
  return FindModel(services, id == request.query.end() ? "" : id->second, {});
}

// The defaults of the numeric sampling parameters.
json::object SamplingDefaults() {
  const serving::SamplingSpec defaults;
  json::object out;
  for (const serving::SamplingRow& row : serving::SamplingTable()) {
    if (const auto* number = std::get_if<float engine::SamplingParams::*>(&row.member)) {
      out[row.name] = std::stod(fmt::format("{}", defaults.params.*(*number)));
    } else if (const auto* integer = std::get_if<int32_t engine::SamplingParams::*>(&row.member)) {
      out[row.name] = defaults.params.*(*integer);
    }
  }
  return out;
}

ApiResult<json::value> PropsBody(const Services& services, const net::Request& request) {
  const auto found = AskedModel(services, request);
  if (!found) return Forward(found);
  const serving::ServedModel& model = **found;
  const text::Tokenizer& tokenizer = *model.tokenizer;
  json::object settings;
  settings["n_ctx"] = model.info.context;
  settings["params"] = SamplingDefaults();
  json::object out;
  out["default_generation_settings"] = std::move(settings);
  out["model_alias"] = model.id;
  out["model_path"] = std::filesystem::path(model.info.path).filename().string();  // where it is, is no caller's matter
  out["modalities"] = {{"vision", false}, {"audio", false}};
  out["chat_template"] = model.chat_template ? model.chat_template->source() : "";
  out["bos_token"] = tokenizer.bos() ? tokenizer.Text(*tokenizer.bos()) : "";
  out["eos_token"] = tokenizer.eos() ? tokenizer.Text(*tokenizer.eos()) : "";
  out["build_info"] = std::string("inferflux ") + kVersion;
  return out;
}

ApiResult<json::value> SlotsBody(const Services& services, const net::Request& request) {
  const auto found = AskedModel(services, request);
  if (!found && !found.error().load_first.empty()) return json::array();  // it runs nothing, and can be loaded
  if (!found) return Forward(found);
  const int32_t running = (*found)->scheduler->stats().running;
  json::array out;
  for (int32_t i = 0; i < running; ++i) {
    out.push_back({{"id", i}, {"n_ctx", (*found)->info.context}, {"is_processing", true}});
  }
  return out;
}

}  // namespace

net::Response LlamaHealth(Services& services, const net::Request&) {
  if (services.ready) return net::Response(200, "application/json", R"({"status":"ok"})");
  net::Response out(503, "application/json",
                    R"({"error":{"code":503,"message":"Loading model","type":"unavailable_error"}})");
  out.headers.push_back({"Retry-After", "1"});
  return out;
}

asio::awaitable<void> LlamaProps(Services& services, const Caller& caller, const net::Request& request,
                                 net::ResponseWriter& writer) {
  return AnswerBody(PropsBody, services, caller, request, writer);
}

asio::awaitable<void> LlamaSlots(Services& services, const Caller& caller, const net::Request& request,
                                 net::ResponseWriter& writer) {
  return AnswerBody(SlotsBody, services, caller, request, writer);
}

}  // namespace inferflux::server
