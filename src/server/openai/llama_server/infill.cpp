#include "server/openai/llama_server/infill.h"

#include <boost/json/array.hpp>
#include <limits>
#include <utility>

#include "server/openai/fields/generation_fields.h"
#include "server/openai/llama_server/infill_reply.h"
#include "server/request/find_model.h"
#include "server/request/json_body.h"
#include "serving/generation/build_generation.h"
#include "serving/generation/infill_prompt.h"

namespace inferflux::server {
namespace json = boost::json;
namespace {

constexpr size_t kAnyInfill = std::numeric_limits<size_t>::max();  // only the body's size limit applies
constexpr size_t kMostExtraFiles = 1024;

struct InfillRequest : GenerationFields {
  std::string prefix;
  std::string suffix;
  std::string prompt;  // what was typed behind the prefix
  std::vector<std::pair<std::string, std::string>> files;
};

struct ExtraFile {
  std::string filename;
  std::string text;
};

ApiStatus TakeExtra(const json::value& value, std::string_view param, InfillRequest& out) {
  static constexpr Field<ExtraFile> kFields[] = {
      {"filename", TextField<ExtraFile>{&ExtraFile::filename, 4096}},
      {"text", TextField<ExtraFile>{&ExtraFile::text, kAnyInfill}},
  };
  const auto list = ReadArray(value, param, kMostExtraFiles);
  if (!list) return Forward(list);
  for (size_t i = 0; i < (*list)->size(); ++i) {
    const std::string name = fmt::format("{}[{}]", param, i);
    const auto object = ReadObject((**list)[i], name);
    if (!object) return Forward(object);
    ExtraFile file;
    if (ApiStatus taken = ParseObject<ExtraFile>(kFields, name, **object, file); !taken) return taken;
    out.files.emplace_back(file.filename.empty() ? "file" : std::move(file.filename), std::move(file.text));
  }
  return {};
}

ApiStatus TakeInfillLength(const json::value& value, std::string_view param, InfillRequest& out) {
  return ReadMaxTokens(value, param).map([&](int32_t count) { out.max_tokens = count; });
}

ApiStatus TakeInfillPenalty(const json::value& value, std::string_view param, InfillRequest& out) {
  return ParseSamplingField("repetition_penalty", param, value, out.sampling).map([](bool) {});
}

constexpr Field<InfillRequest> kInfillFields[] = {
    {"input_prefix", TextField<InfillRequest>{&InfillRequest::prefix, kAnyInfill}},
    {"input_suffix", TextField<InfillRequest>{&InfillRequest::suffix, kAnyInfill}},
    {"input_extra", CustomField<InfillRequest>{TakeExtra}},
    {"prompt", TextField<InfillRequest>{&InfillRequest::prompt, kAnyInfill}},
    {"n_predict", CustomField<InfillRequest>{TakeInfillLength}},
    {"repeat_penalty", CustomField<InfillRequest>{TakeInfillPenalty}},
    {"n", NoOpField{"1"}},
    {"cache_prompt", IgnoredField{IgnoredField::Type::kBoolean, "prompts are always cached"}},
};

}  // namespace

ApiResult<Job> PrepareInfill(const Services& services, const net::Request& request, const Caller& caller) {
  auto body = ParseJsonBody(request.body);
  if (!body) return Forward(body);
  InfillRequest infill;
  if (ApiStatus taken = ParseRequest<InfillRequest>(kInfillFields, *body, infill); !taken) return Forward(taken);
  if (ApiStatus checked = CheckTogether(infill); !checked) return Forward(checked);
  auto model = FindModel(services, infill.model, serving::Needs(serving::Feature::kCompletions, infill, infill.stream));
  if (!model) return Forward(model);
  auto prompt = serving::InfillPrompt(
      **model, {.prefix = infill.prefix + infill.prompt, .suffix = infill.suffix, .files = std::move(infill.files)});
  if (!prompt) return RefuseAs("unsupported_parameter", "model", "'model' " + prompt.error().message);
  infill.request_id = caller.request_id;
  infill.account = caller.client();
  infill.account_limits = caller.account_limits;
  infill.cache_salt = caller.cache_salt;
  const serving::RawPrompt raw = std::move(*prompt);
  auto built = serving::BuildCompletion(**model, std::span(&raw, 1), infill);
  if (!built) return tl::make_unexpected(FromGeneration(std::move(built.error()), infill, "input_prefix"));
  Job out{.model = std::move(*model),
          .requests = std::move(built->requests),
          .stream = infill.stream,
          .prompt_param = "input_prefix"};
  out.surface = std::make_unique<InfillReply>(out.model->id);
  return out;
}

std::vector<FieldRow> InfillFieldRows() {
  std::vector<FieldRow> out;
  AppendRows<InfillRequest>(kInfillFields, out);
  return out;
}

}  // namespace inferflux::server
