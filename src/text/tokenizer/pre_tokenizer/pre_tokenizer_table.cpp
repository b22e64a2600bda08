#include "text/tokenizer/pre_tokenizer/pre_tokenizer_table.h"

#include <algorithm>
#include <vector>

namespace inferflux::text {
namespace {

using Stage = PreTokenizerStage;
using Names = std::string_view;

// Words, as the families write them ------------------------------------------------------------------------------

constexpr std::string_view kGpt2Words = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

// cl100k's descendants differ in how many digits stay together, and in what counts as part of a word.
constexpr std::string_view kLlama3Words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2Words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen35Words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kMiniCpm5Words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kSeedCoderWords =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kBailingWords =
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)";
// The possessive quantifiers change nothing that it matches, and keep long runs off the matcher's stack.
constexpr std::string_view kExaoneMoeWords =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*+(?: \p{L}\p{M}*+)*+)++|\p{N}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+)";
constexpr std::string_view kJais2Words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|)"
    R"(\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|\s{64}(?!\S)|\s{32}(?!\S)|\s{16}(?!\S)|\s{8}(?!\S)|\s{4}(?!\S)|)"
    R"(\s{1,2}(?!\S)|\s{1})";

// o200k's descendants also cut words where lower case turns to upper.
constexpr std::string_view kTekkenWords =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|)"
    R"(\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kO200kWords =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kYoutuWords =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"(\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
// sc: the script itself; PCRE2 would also take characters that Han shares with others.
constexpr std::string_view kKimiWords =
    R"(\p{sc:Han}+|)"
    R"([^\r\n\p{L}\p{N}]?(?:(?!\p{sc:Han})[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])*(?:(?!\p{sc:Han})[\p{Ll}\p{Lm}\p{Lo}\p{M}])+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"([^\r\n\p{L}\p{N}]?(?:(?!\p{sc:Han})[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])+(?:(?!\p{sc:Han})[\p{Ll}\p{Lm}\p{Lo}\p{M}])*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

// DeepSeek's, from V3 on.
constexpr std::string_view kDeepseek3Words =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|)"
    R"(\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr std::string_view kDeepseekLlmLetters =
    R"(\s?[A-Za-z\x{00B5}\x{00C0}-\x{00D6}\x{00D8}-\x{00F6}\x{00F8}-\x{01BA}\x{01BC}-\x{01BF})"
    R"(\x{01C4}-\x{0293}\x{0295}-\x{02AF}\x{0370}-\x{0373}\x{0376}\x{0377}\x{037B}-\x{037D}\x{037F}\x{0386})"
    R"(\x{0388}-\x{038A}\x{038C}\x{038E}-\x{03A1}\x{03A3}-\x{03F5}\x{03F7}-\x{0481}\x{048A}-\x{052F})"
    R"(\x{0531}-\x{0556}\x{10A0}-\x{10C5}\x{13A0}-\x{13F5}\x{13F8}-\x{13FD}\x{1C90}-\x{1CBA})"
    R"(\x{1CBD}-\x{1CBF}\x{1D00}-\x{1D2B}\x{1D6B}-\x{1D77}\x{1D79}-\x{1D9A}\x{1E00}-\x{1F15})"
    R"(\x{1F18}-\x{1F1D}\x{1F20}-\x{1F45}\x{1F48}-\x{1F4D}\x{1F50}-\x{1F57}\x{1F59}\x{1F5B}\x{1F5D})"
    R"(\x{1F5F}-\x{1F7D}\x{1F80}-\x{1FB4}\x{1FB6}-\x{1FBC}\x{1FBE}\x{1FC2}-\x{1FC4}\x{1FC6}-\x{1FCC})"
    R"(\x{1FD0}-\x{1FD3}\x{1FD6}-\x{1FDB}\x{1FE0}-\x{1FEC}\x{1FF2}-\x{1FF4}\x{1FF6}-\x{1FFC}\x{2102})"
    R"(\x{2107}\x{210A}-\x{2113}\x{2115}\x{2119}-\x{211D}\x{2124}\x{2126}\x{2128}\x{212A}-\x{212D})"
    R"(\x{212F}-\x{2134}\x{2139}\x{213C}-\x{213F}\x{2145}-\x{2149}\x{214E}\x{2183}\x{2184}\x{2C00}-\x{2C7B})"
    R"(\x{2C7E}-\x{2CE4}\x{2CEB}-\x{2CEE}\x{2CF2}\x{2CF3}\x{A640}-\x{A66D}\x{A680}-\x{A69B})"
    R"(\x{A722}-\x{A76F}\x{A771}-\x{A787}\x{A78B}-\x{A78E}\x{AB70}-\x{ABBF}\x{FB00}-\x{FB06})"
    R"(\x{FB13}-\x{FB17}\x{FF21}-\x{FF3A}\x{FF41}-\x{FF5A}\x{10400}-\x{1044F}\x{104B0}-\x{104D3})"
    R"(\x{104D8}-\x{104FB}\x{10C80}-\x{10CB2}\x{10CC0}-\x{10CF2}\x{118A0}-\x{118DF}\x{1E900}-\x{1E943}]+)";

constexpr std::string_view kDigit = R"(\p{N})";
constexpr std::string_view kUpToThreeDigits = R"(\p{N}{1,3})";
constexpr std::string_view kCjkAndHangul = R"([\x{4E00}-\x{9FA5}\x{0800}-\x{4E00}\x{AC00}-\x{D7FF}]+)";
constexpr std::string_view kHanAndKana = R"([\x{4E00}-\x{9FA5}\x{3040}-\x{309F}\x{30A0}-\x{30FF}]+)";
constexpr std::string_view kBloomWords = R"( ?[^(\s|.,!?\x{2026}\x{3002}\x{FF0C}\x{3001}\x{0964}\x{06D4}\x{060C})]+)";

using Family = WordScanner::Family;

constexpr Stage Regex(std::string_view pattern, WordScanner scanner = {}) {
  return {.pattern = pattern, .scanner = scanner};
}

// Stages --------------------------------------------------------------------------------------------------------

constexpr Stage kGpt2Stage = Regex(kGpt2Words, {.family = Family::kGpt2});
constexpr Stage kQwen2Stage = Regex(kQwen2Words, {.family = Family::kCl100k, .max_digits = 1});
constexpr Stage kO200kStage = Regex(kO200kWords, {.family = Family::kO200k, .max_digits = 3, .contractions = true});

constexpr Stage kGpt2[] = {kGpt2Stage};
constexpr Stage kLlama3[] = {Regex(kLlama3Words, {.family = Family::kCl100k, .max_digits = 3})};
constexpr Stage kJais2[] = {Regex(kJais2Words)};
constexpr Stage kQwen2[] = {kQwen2Stage};
constexpr Stage kQwen35[] = {Regex(kQwen35Words, {.family = Family::kCl100k, .max_digits = 1, .marks = true})};
constexpr Stage kStarcoder[] = {Regex(kDigit), kGpt2Stage};
constexpr Stage kFalcon[] = {Regex(R"([\p{P}$+<=>^~|`]+)"), kGpt2Stage, Regex("[0-9][0-9][0-9]")};
constexpr Stage kDefault[] = {Regex(R"([\p{P}$+<=>^~|]+)"), kGpt2Stage, Regex(R"(\p{N}+)"), Regex("[0-9][0-9][0-9]")};
constexpr Stage kDeepseekLlm[] = {
    Regex(R"([\r\n])"),
    Regex(kDeepseekLlmLetters),
    Regex(R"(\s?[!-/:-~\x{FF01}-\x{FF0F}\x{FF1A}-\x{FF5E}\x{2018}-\x{201F}\x{3000}-\x{3002}]+)"),
    Regex(R"(\s+$)"),
    Regex(kCjkAndHangul),
    Regex(R"(\p{N}+)")};
constexpr Stage kDeepseekCoder[] = {Regex(R"([\r\n])"), Regex(R"(\s?\p{L}+)"), Regex(R"(\s?\p{P}+)"),
                                    Regex(kCjkAndHangul), Regex(kDigit)};
constexpr Stage kDeepseek3[] = {Regex(kUpToThreeDigits), Regex(kHanAndKana), Regex(kDeepseek3Words)};
constexpr Stage kYoutu[] = {
    Regex(
        R"([\x{AC00}-\x{D7A3}\x{3131}-\x{318E}]+|)"
        R"([\x{FF01}\x{2026}\x{201C}\x{201D}\x{2018}\x{2019}\x{2014}\x{FF1A}\x{FF1B}\x{FF0C}\x{3001}-\x{303F}\x{FE30}-\x{FE4F}]+|)"
        R"([\x{3105}-\x{312F}]+|[\x{4E00}-\x{9FA5}\x{3040}-\x{309F}\x{30A0}-\x{30FF}]+)"),
    Regex(kYoutuWords, {.family = Family::kO200k, .max_digits = 1, .contractions = true})};
constexpr Stage kBloom[] = {Regex(kBloomWords)};
constexpr Stage kViking[] = {Regex(kBloomWords), Regex(kDigit)};
constexpr Stage kTekken[] = {Regex(kTekkenWords, {.family = Family::kO200k, .max_digits = 1})};
constexpr Stage kO200k[] = {kO200kStage};
constexpr Stage kKimi[] = {Regex(kKimiWords)};
constexpr Stage kChameleon[] = {Regex("<sentinel:[0-9]+>"),       Regex("IMGIMG[A-I]{1,4}Z"),
                                Regex(R"([\t\n]|    |  )"),       Regex(kDigit),
                                Regex(R"([\p{P}!-/:-@\[-`{-~])"), kGpt2Stage};
constexpr Stage kTinyAya[] = {{Stage::Kind::kDigitsFromRight, R"(\d)", /*before_word_boundary=*/true}, kO200kStage};
constexpr Stage kSuperBpe[] = {Regex(R"(\p{N}+)"), {Stage::Kind::kDigitsFromRight, R"(\d)"}};
constexpr Stage kAfmoe[] = {
    {Stage::Kind::kDigitsFromRight, kDigit},
    Regex(R"([\x{4E00}-\x{9FFF}\x{3400}-\x{4DBF}\x{F900}-\x{FAFF}\x{3040}-\x{309F}\x{30A0}-\x{30FF}\x{FF65}-\x{FF9F})"
          R"(\x{2F00}-\x{2FDF}\x{0E40}-\x{0E7F}\x{0E80}-\x{0EFF}\x{1780}-\x{17FF}\x{1000}-\x{109F}\x{AA60}-\x{AA7F})"
          R"(\x{A9E0}-\x{A9FF}\x{AC00}-\x{D7AF}\x{1100}-\x{11FF}]+)"),
    Regex(kDeepseek3Words)};
constexpr Stage kBailing[] = {Regex(kBailingWords)};
constexpr Stage kSeedCoder[] = {Regex(kSeedCoderWords)};
constexpr Stage kLaguna[] = {Regex(R"([^\n]+|[\n]+)"), kQwen2Stage};
constexpr Stage kExaoneMoe[] = {Regex(kExaoneMoeWords)};
constexpr Stage kMiniCpm5[] = {Regex(kUpToThreeDigits), Regex(kMiniCpm5Words, {.family = Family::kCl100k})};

// Names ---------------------------------------------------------------------------------------------------------

constexpr Names kGpt2Names[] = {"gpt-2",    "gpt2",       "phi-2",   "jina-es",    "jina-de",        "jina-v1-en",
                                "gigachat", "jina-v2-es", "a.x-4.0", "jina-v2-de", "jina-v2-code",   "roberta-bpe",
                                "mellum",   "exaone4",    "jais",    "trillion",   "granite-docling"};
constexpr Names kNeoxNames[] = {"mpt", "olmo", "gpt-neox", "modern-bert"};
constexpr Names kLlama3Names[] = {"llama3",  "llama-v3", "llama-bpe", "falcon3",      "falcon-h1",
                                  "pixtral", "midm-2.0", "lfm2",      "jina-v5-nano", "smaug-bpe"};
constexpr Names kCl100kNames[] = {"dbrx", "glm4", "chatglm-bpe"};
constexpr Names kJais2Names[] = {"jais-2"};
constexpr Names kQwen2Names[] = {"qwen2", "kormo", "f2llmv2"};
constexpr Names kQwen2LikeNames[] = {"deepseek-r1-qwen", "megrez", "stablelm2", "hunyuan", "solar-open", "grok-2"};
constexpr Names kQwen35Names[] = {"qwen35"};
constexpr Names kStarcoderNames[] = {"starcoder", "refact", "smollm", "codeshell", "exaone", "minerva-7b", "mellum2"};
constexpr Names kCommandRNames[] = {"command-r"};
constexpr Names kFalconNames[] = {"falcon"};
constexpr Names kDefaultNames[] = {"default"};
constexpr Names kDeepseekLlmNames[] = {"deepseek-llm"};
constexpr Names kDeepseekCoderNames[] = {"deepseek-coder"};
constexpr Names kDeepseek3Names[] = {"deepseek-v3", "hunyuan-dense", "joyai-llm"};
constexpr Names kYoutuNames[] = {"youtu"};
constexpr Names kBloomNames[] = {"poro-chat", "bloom", "gpt3-finnish"};
constexpr Names kVikingNames[] = {"viking"};
constexpr Names kTekkenNames[] = {"tekken"};
constexpr Names kO200kNames[] = {"gpt-4o", "o200k", "llama4", "kanana2", "talkie", "minimax-m2"};
constexpr Names kGraniteEmbeddingNames[] = {"granite-embed-multi-97m"};
constexpr Names kKimiNames[] = {"kimi-k2"};
constexpr Names kChameleonNames[] = {"chameleon"};
constexpr Names kTinyAyaNames[] = {"tiny_aya", "cohere2moe"};
constexpr Names kSuperBpeNames[] = {"superbpe"};
constexpr Names kAfmoeNames[] = {"afmoe"};
constexpr Names kBailingNames[] = {"bailingmoe", "bailingmoe2", "llada-moe"};
constexpr Names kSeedCoderNames[] = {"seed-coder"};
constexpr Names kLagunaNames[] = {"laguna"};
constexpr Names kExaoneMoeNames[] = {"exaone-moe"};
constexpr Names kMiniCpm5Names[] = {"minicpm5"};

// The table -----------------------------------------------------------------------------------------------------

constexpr bool kNfc = true;
constexpr bool kAsIs = false;
constexpr bool kIgnoreMerges = true;

constexpr PreTokenizerRules kTable[] = {
    {kGpt2Names, kGpt2},
    {kNeoxNames, kGpt2, kNfc},
    {kLlama3Names, kLlama3, kAsIs, kIgnoreMerges},
    {kCl100kNames, kLlama3},
    {kJais2Names, kJais2},
    {kQwen2Names, kQwen2, kNfc},
    {kQwen2LikeNames, kQwen2},
    {kQwen35Names, kQwen35, kNfc},
    {kStarcoderNames, kStarcoder},
    {kCommandRNames, kStarcoder, kNfc},
    {kFalconNames, kFalcon},
    {kDefaultNames, kDefault},
    {kDeepseekLlmNames, kDeepseekLlm},
    {kDeepseekCoderNames, kDeepseekCoder},
    {kDeepseek3Names, kDeepseek3},
    {kYoutuNames, kYoutu, kAsIs, kIgnoreMerges},
    {kBloomNames, kBloom},
    {kVikingNames, kViking},
    {kTekkenNames, kTekken, kAsIs, kIgnoreMerges},
    {kO200kNames, kO200k},
    {kGraniteEmbeddingNames, kO200k, kAsIs, kIgnoreMerges},
    {kKimiNames, kKimi},
    {kChameleonNames, kChameleon},
    {kTinyAyaNames, kTinyAya, kNfc},
    {kSuperBpeNames, kSuperBpe},
    {kAfmoeNames, kAfmoe},
    {kBailingNames, kBailing},
    {kSeedCoderNames, kSeedCoder},
    {kLagunaNames, kLaguna},
    {kExaoneMoeNames, kExaoneMoe},
    {kMiniCpm5Names, kMiniCpm5, kAsIs, kIgnoreMerges},
};

}  // namespace

const PreTokenizerRules* FindPreTokenizer(std::string_view name) {
  for (const PreTokenizerRules& rules : kTable) {
    if (std::find(rules.names.begin(), rules.names.end(), name) != rules.names.end()) return &rules;
  }
  return nullptr;
}

std::string PreTokenizerNames() {
  std::vector<std::string_view> names;
  for (const PreTokenizerRules& rules : kTable) names.insert(names.end(), rules.names.begin(), rules.names.end());
  std::sort(names.begin(), names.end());
  std::string out;
  for (const std::string_view name : names) out.append(out.empty() ? "" : ", ").append(name);
  return out;
}

}  // namespace inferflux::text
