// inferflux._inferflux: the embedded library for Python. Calls that wait let go of the interpreter's lock.
#include <inferflux/engine.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;
using namespace inferflux::embedded;

namespace {

// How an Error leaves this file: Python's interfaces raise.
struct Raised : std::exception {
  explicit Raised(Error raised) : error(std::move(raised)) {}
  Error error;
};

void Translate(const std::exception_ptr& raised, void*) {
  try {
    std::rethrow_exception(raised);
  } catch (const Raised& failed) {
    const nb::object type = nb::module_::import_("inferflux.error").attr("InferFluxError");
    const std::string code(NameOf(failed.error.code));
    const nb::object value = type(code.c_str(), failed.error.message.c_str(), failed.error.field.c_str());
    PyErr_SetObject(type.ptr(), value.ptr());
  }
}

template <class T>
T ValueOf(Result<T> result) {
  if (!result) throw Raised(std::move(result.error()));
  return std::move(*result);
}

// A prompt: a text, tokens, or the messages of a chat as (role, content).
using Roles = std::vector<std::pair<std::string, std::string>>;
using Prompt = std::variant<std::string, std::vector<int32_t>, Roles>;

ReplyStream Begin(const Engine& engine, const Prompt& prompt, const GenerateOptions& options) {
  const nb::gil_scoped_release waiting;
  if (const auto* text = std::get_if<std::string>(&prompt)) return ValueOf(engine.Stream(*text, options));
  if (const auto* tokens = std::get_if<std::vector<int32_t>>(&prompt)) return ValueOf(engine.Stream(*tokens, options));
  std::vector<Message> messages;
  for (const auto& [role, content] : std::get<Roles>(prompt)) messages.push_back({role, content});
  return ValueOf(engine.StreamChat(messages, options));
}

std::optional<std::chrono::milliseconds> Milliseconds(std::optional<double> seconds) {
  if (!seconds) return std::nullopt;
  return std::chrono::milliseconds(static_cast<int64_t>(*seconds * 1e3));
}

void BindEngine(nb::module_& module) {
  nb::class_<ModelInfo>(module, "ModelInfo")
      .def_ro("name", &ModelInfo::name)
      .def_ro("path", &ModelInfo::path)
      .def_ro("architecture", &ModelInfo::architecture)
      .def_ro("quantization", &ModelInfo::quantization)
      .def_ro("backend", &ModelInfo::backend)
      .def_ro("provider", &ModelInfo::provider)
      .def_ro("parameters", &ModelInfo::parameters)
      .def_ro("context", &ModelInfo::context)
      .def_ro("dimensions", &ModelInfo::dimensions)
      .def_ro("chat", &ModelInfo::chat)
      .def_ro("notes", &ModelInfo::notes);
  nb::class_<Engine>(module, "Engine")
      .def_static(
          "load",
          [](const std::string& path, std::optional<int64_t> context, std::optional<int64_t> batch,
             std::optional<int64_t> threads, std::optional<int64_t> gpu_layers, const std::string& backend,
             const std::optional<std::string>& kv_dtype, std::optional<int64_t> kv_budget, const std::string& draft) {
            const nb::gil_scoped_release waiting;
            return ValueOf(Engine::Load(path, {.context = context,
                                               .batch = batch,
                                               .threads = threads,
                                               .gpu_layers = gpu_layers,
                                               .backend = backend,
                                               .kv_dtype = kv_dtype,
                                               .kv_budget = kv_budget,
                                               .draft = draft}));
          },
          "path"_a, nb::kw_only(), "context"_a = nb::none(), "batch"_a = nb::none(), "threads"_a = nb::none(),
          "gpu_layers"_a = nb::none(), "backend"_a = "auto", "kv_dtype"_a = nb::none(), "kv_budget"_a = nb::none(),
          "draft"_a = "")
      .def_prop_ro("info", &Engine::info)
      .def("stream", &Begin, "prompt"_a, "options"_a)
      .def(
          "embed",
          [](const Engine& engine, const std::vector<std::string>& texts) {
            const nb::gil_scoped_release waiting;
            return ValueOf(engine.Embed(texts));
          },
          "texts"_a)
      .def("tokenize", &Engine::Tokenize, "text"_a, "special"_a = false)
      .def(
          "detokenize",
          [](const Engine& engine, const std::vector<int32_t>& tokens) { return ValueOf(engine.Detokenize(tokens)); },
          "tokens"_a);
}

void BindCalls(nb::module_& module) {
  nb::class_<GenerateOptions>(module, "GenerateOptions")
      .def(
          "__init__",
          [](GenerateOptions* self, std::optional<int64_t> max_tokens, std::optional<double> temperature,
             std::optional<double> top_p, std::optional<int64_t> top_k, std::optional<double> min_p,
             std::optional<double> repeat_penalty, std::optional<uint64_t> seed, std::vector<std::string> stop,
             const std::optional<std::pair<int, std::string>>& constraint, std::optional<double> timeout,
             bool ignore_eos) {
            new (self) GenerateOptions{.sampling = {.max_tokens = max_tokens,
                                                    .temperature = temperature,
                                                    .top_p = top_p,
                                                    .top_k = top_k,
                                                    .min_p = min_p,
                                                    .repeat_penalty = repeat_penalty,
                                                    .seed = seed,
                                                    .stop = std::move(stop)},
                                       .ignore_eos = ignore_eos,
                                       .timeout = Milliseconds(timeout)};
            if (constraint) {
              self->constraint =
                  Constraint{.kind = static_cast<Constraint::Kind>(constraint->first), .source = constraint->second};
            }
          },
          nb::kw_only(), "max_tokens"_a = nb::none(), "temperature"_a = nb::none(), "top_p"_a = nb::none(),
          "top_k"_a = nb::none(), "min_p"_a = nb::none(), "repeat_penalty"_a = nb::none(), "seed"_a = nb::none(),
          "stop"_a = std::vector<std::string>(), "constraint"_a = nb::none(), "timeout"_a = nb::none(),
          "ignore_eos"_a = false);
  module.attr("JSON_SCHEMA") = static_cast<int>(Constraint::Kind::kJsonSchema);
  module.attr("REGEX") = static_cast<int>(Constraint::Kind::kRegex);
  module.attr("GBNF") = static_cast<int>(Constraint::Kind::kGbnf);

  nb::class_<Usage>(module, "Usage")
      .def_ro("prompt", &Usage::prompt)
      .def_ro("cached", &Usage::cached)
      .def_ro("completion", &Usage::completion)
      .def_prop_ro("total", &Usage::total);
  nb::class_<Reply>(module, "Reply")
      .def_ro("text", &Reply::text)
      .def_ro("usage", &Reply::usage)
      .def_prop_ro("finish_reason",
                   [](const Reply& reply) { return reply.finish == FinishReason::kLength ? "length" : "stop"; });
  nb::class_<ReplyStream>(module, "ReplyStream")
      .def("next",
           [](ReplyStream& stream) {
             const nb::gil_scoped_release waiting;
             return ValueOf(stream.Next());
           })
      .def_prop_ro("reply", [](const ReplyStream& stream) { return stream.reply(); });
}

}  // namespace

NB_MODULE(_inferflux, module) {
  nb::register_exception_translator(Translate);
  BindCalls(module);
  BindEngine(module);
}
