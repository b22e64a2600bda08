#include "server/openai/llama_server/server_state.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <string>
#include <utility>

#include "serving/generation/sampling_table.h"

namespace inferflux::server {
namespace json = boost::json;
namespace {

net::Response StateJson(const json::value& body) {
  return net::Response(200, "application/json", json::serialize(body));
}

Result<std::shared_ptr<const serving::ServedModel>> AskedModel(const Services& services, const net::Request& request) {
  const auto id = request.query.find("model");
  return services.models.Find(id == request.query.end() ? "" : id->second);
}

net::Response NoSuchModel(const Error& error) {
  return ErrorResponse({404, error.message, "invalid_request_error", "model", "model_not_found"});
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

}  // namespace

net::Response LlamaHealth(Services& services, const net::Request&) {
  if (services.ready) return StateJson(json::object{{"status", "ok"}});
  net::Response out(503, "application/json",
                    R"({"error":{"code":503,"message":"Loading model","type":"unavailable_error"}})");
  out.headers.push_back({"Retry-After", "1"});
  return out;
}

net::Response LlamaProps(Services& services, const net::Request& request) {
  const auto found = AskedModel(services, request);
  if (!found) return NoSuchModel(found.error());
  const serving::ServedModel& model = **found;
  const text::Tokenizer& tokenizer = *model.tokenizer;
  json::object settings;
  settings["n_ctx"] = model.info.context;
  settings["params"] = SamplingDefaults();
  json::object out;
  out["default_generation_settings"] = std::move(settings);
  out["model_alias"] = model.id;
  out["model_path"] = model.info.path;
  out["modalities"] = {{"vision", false}, {"audio", false}};
  out["chat_template"] = model.chat_template ? model.chat_template->source() : "";
  out["bos_token"] = tokenizer.bos() ? tokenizer.Text(*tokenizer.bos()) : "";
  out["eos_token"] = tokenizer.eos() ? tokenizer.Text(*tokenizer.eos()) : "";
  out["build_info"] = "inferflux " INFERFLUX_VERSION;
  return StateJson(out);
}

net::Response LlamaSlots(Services& services, const net::Request& request) {
  const auto found = AskedModel(services, request);
  if (!found) return NoSuchModel(found.error());
  const int32_t running = (*found)->scheduler->stats().running;
  json::array out;
  for (int32_t i = 0; i < running; ++i) {
    out.push_back({{"id", i}, {"n_ctx", (*found)->info.context}, {"is_processing", true}});
  }
  return StateJson(out);
}

}  // namespace inferflux::server
