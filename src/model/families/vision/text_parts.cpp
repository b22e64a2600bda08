#include "model/families/vision/text_parts.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "model/families/checkpoint.h"
#include "model/families/other_models.h"

namespace inferflux::model {
namespace {

// model_type, and that of its text_config if the file does not say. For text alone, all of them compute what their text
// model does. Sorted.
constexpr std::pair<std::string_view, std::string_view> kWrappers[] = {{"aya_vision", "cohere2"},
                                                                       {"cohere2_vision", "cohere2"},
                                                                       {"fast_vlm", "qwen2"},
                                                                       {"gemma3", "gemma3_text"},
                                                                       {"gemma3n", "gemma3n_text"},
                                                                       {"gemma4", "gemma4_text"},
                                                                       {"glm4v", "glm4v_text"},
                                                                       {"glm4v_moe", "glm4v_moe_text"},
                                                                       {"idefics3", "llama"},
                                                                       {"internvl", "qwen2"},
                                                                       {"lfm2_vl", "lfm2"},
                                                                       {"lighton_ocr", "qwen3"},
                                                                       {"llama4", "llama4_text"},
                                                                       {"llava", "llama"},
                                                                       {"llava_next", "llama"},
                                                                       {"llava_next_video", "llama"},
                                                                       {"llava_onevision", "qwen2"},
                                                                       {"mistral3", "mistral"},
                                                                       {"qwen2_5_vl", "qwen2_5_vl_text"},
                                                                       {"qwen2_vl", "qwen2_vl_text"},
                                                                       {"qwen3_5", "qwen3_5_text"},
                                                                       {"qwen3_5_moe", "qwen3_5_moe_text"},
                                                                       {"qwen3_vl", "qwen3_vl_text"},
                                                                       {"qwen3_vl_moe", "qwen3_vl_moe_text"},
                                                                       {"smolvlm", "llama"},
                                                                       {"video_llava", "llama"},
                                                                       {"vipllava", "llama"},
                                                                       {"voxtral", "llama"}};
static_assert(std::is_sorted(std::begin(kWrappers), std::end(kWrappers)));

constexpr std::string_view kOtherParts[] = {
    "audio_tower.*",           "connector.*",    "embed_audio.*",    "embed_vision.*", "image_newline",
    "multi_modal_projector.*", "vision_model.*", "vision_encoder.*", "vision_tower.*", "visual.*"};

}  // namespace

Result<std::string> TextModelType(const formats::JsonObject& root) {
  auto outer = root.GetOr<std::string>("model_type", "");
  if (!outer) return outer;
  const auto text = root.Find<formats::JsonObject>("text_config");
  if (!text) return Forward(text);
  if (!*text) return outer;
  auto type = (*text)->GetOr<std::string>("model_type", "");
  if (!type || outer->empty() || *type == *outer) return type;
  const auto found =
      std::ranges::lower_bound(kWrappers, *outer, {}, &std::pair<std::string_view, std::string_view>::first);
  if (found == std::end(kWrappers) || found->first != *outer) {
    std::vector<std::string_view> known;
    for (const auto& [name, ignored] : kWrappers) known.push_back(name);
    return Fail(ErrorCode::kUnsupported,
                "{}: model_type '{}' is not supported; of models with a text_config, supported are: {}{}",
                root.source(), *outer, fmt::join(known, ", "), DirectoryAdvice(*outer));
  }
  if (type->empty()) return std::string(found->second);
  return type;
}

bool IsOfOtherPart(std::string_view name) {
  return std::ranges::any_of(kOtherParts, [&](std::string_view pattern) { return MatchesName(pattern, name); });
}

}  // namespace inferflux::model
