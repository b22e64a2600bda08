#include "model/families/other_models.h"

#include <algorithm>
#include <iterator>

namespace inferflux::model {
namespace {

// Both sorted.
constexpr std::string_view kArchitectures[] = {
    "afmoe",          "arctic",      "arwkv7",       "baichuan",    "bailingmoe",   "bailingmoe2",
    "bailingmoe3",    "bitnet",      "bloom",        "chameleon",   "chatglm",      "codeshell",
    "cogvlm",         "cohere2moe",  "dbrx",         "deci",        "deepseek",     "deepseek2-ocr",
    "deepseek4",      "dots1",       "dots3note",    "dream",       "eurobert",     "exaone",
    "exaone-moe",     "glm5-next",   "gptj",         "granite_swa", "granitemoe",   "graniteswitch",
    "grok",           "grovemoe",    "hrm_text",     "hunyuan_vl",  "hy_v3",        "hy_v4",
    "internlm2",      "jais",        "jais2",        "jamba",       "jina-bert-v2", "jina-bert-v3",
    "kimi-k3",        "kimi-linear", "laguna",

    "llada",          "llada-moe",   "llama-embed",  "maincoder",   "mamba",        "maple",
    "mellum",         "mimo2",       "minicpm",      "minicpm3",    "minimax-01",   "minimax-m3",
    "mistral4",       "mpt",         "muse-glimmer", "nanbeige",    "nemotron",     "neo-bert",
    "nomic-bert-moe", "olmo",        "openelm",      "orion",       "paddleocr",    "pangu-embedded",
    "plamo",          "plamo2",      "plamo3",       "plm",         "qwen",         "qwen4exp",
    "refact",         "rnd1",        "rwkv6",        "rwkv6qwen2",  "rwkv7",        "smallthinker",
    "spark2_5",       "starcoder",   "step35",       "t5",          "talkie",       "xverse"};

constexpr std::string_view kModelTypes[] = {"afmoe",
                                            "audioflamingo3",
                                            "bamba",
                                            "bitnet",
                                            "bloom",
                                            "chameleon",
                                            "cohere2_moe",
                                            "dbrx",
                                            "deepseek_v4",
                                            "dots1",
                                            "dots3_note",
                                            "dots3_note_text",
                                            "eurobert",
                                            "exaone4_5",
                                            "exaone_moe",
                                            "falcon_mamba",
                                            "gemma4_unified",
                                            "glm",
                                            "glm5_next",
                                            "glm_ocr",
                                            "gpt-sw3",
                                            "gpt_bigcode",
                                            "granite_speech",
                                            "granite_speech_plus",
                                            "granite_swa",
                                            "granitemoe",
                                            "granitemoe_swa",
                                            "granitemoeshared",
                                            "hrm_text",
                                            "hunyuan_vl",
                                            "hy_v3",
                                            "hy_v4",
                                            "internlm3",
                                            "iquestcoder",
                                            "jais2",
                                            "jamba",
                                            "janus",
                                            "kimi_linear",
                                            "laguna",

                                            "mamba",
                                            "mellum",
                                            "mimo_v2_flash",
                                            "minicpm3",
                                            "minicpmv4_6",
                                            "minimax_m3_vl",
                                            "mt5",
                                            "muse_glimmer",
                                            "nemotron",
                                            "olmo",
                                            "paddleocr_vl",
                                            "qwen2_audio",
                                            "qwen3_asr",

                                            "qwen3_omni_moe",
                                            "qwen4_exp",
                                            "qwen4_exp_text",
                                            "shieldgemma2",
                                            "solar_open",
                                            "step3p7",
                                            "t5",
                                            "umt5",
                                            "youtu"};

static_assert(std::is_sorted(std::begin(kArchitectures), std::end(kArchitectures)));
static_assert(std::is_sorted(std::begin(kModelTypes), std::end(kModelTypes)));

}  // namespace

std::string_view GgufAdvice(std::string_view architecture) {
  if (!std::binary_search(std::begin(kArchitectures), std::end(kArchitectures), architecture)) {
    return "; llama.cpp does not run it either";
  }
  return "; llama.cpp runs it: use a build with -DENABLE_LLAMA_CPP=ON and the provider llama_cpp";
}

std::string_view DirectoryAdvice(std::string_view model_type) {
  if (!std::binary_search(std::begin(kModelTypes), std::end(kModelTypes), model_type)) {
    return "; llama.cpp does not run it either";
  }
  return "; llama.cpp runs a GGUF file of it: use a build with -DENABLE_LLAMA_CPP=ON and the provider llama_cpp";
}

}  // namespace inferflux::model
