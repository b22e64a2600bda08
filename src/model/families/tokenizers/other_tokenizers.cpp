// The tokenizers of models whose family is not implemented here but which other engines run, and converters' aliases
// for the tokenizers of the implemented families.
#include <string_view>

#include "model/families/tokenizers/tokenizer_traits.h"
#include "model/families/tokenizers/words.h"

namespace inferflux::model {
namespace {

using words::Regex;
using words::Stage;

// Words, as the families write them ------------------------------------------------------------------------------

// cl100k's descendants differ in how many digits stay together, and in what counts as part of a word.
constexpr std::string_view kMiniCpm5Words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kSeedCoderWords =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kBailingWords =
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)";
// The possessive quantifiers do not change what matches. They keep long runs off the matcher's stack.
constexpr std::string_view kExaoneMoeWords =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*+(?: \p{L}\p{M}*+)*+)++|\p{N}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+)";
constexpr std::string_view kJais2Words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|)"
    R"(\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|\s{64}(?!\S)|\s{32}(?!\S)|\s{16}(?!\S)|\s{8}(?!\S)|\s{4}(?!\S)|)"
    R"(\s{1,2}(?!\S)|\s{1})";

constexpr std::string_view kYoutuWords =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"(\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
// sc: the script itself; plain \p{Han} in PCRE2 also matches characters that Han shares with other scripts.
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

constexpr std::string_view kUpToThreeDigits = R"(\p{N}{1,3})";
constexpr std::string_view kCjkAndHangul = R"([\x{4E00}-\x{9FA5}\x{0800}-\x{4E00}\x{AC00}-\x{D7FF}]+)";
constexpr std::string_view kHanAndKana = R"([\x{4E00}-\x{9FA5}\x{3040}-\x{309F}\x{30A0}-\x{30FF}]+)";
constexpr std::string_view kBloomWords = R"( ?[^(\s|.,!?\x{2026}\x{3002}\x{FF0C}\x{3001}\x{0964}\x{06D4}\x{060C})]+)";

// Stages --------------------------------------------------------------------------------------------------------

constexpr Stage kJais2[] = {Regex(kJais2Words)};
constexpr Stage kFalcon[] = {Regex(R"([\p{P}$+<=>^~|`]+)"), words::kGpt2[0], Regex("[0-9][0-9][0-9]")};
constexpr Stage kDefault[] = {Regex(R"([\p{P}$+<=>^~|]+)"), words::kGpt2[0], Regex(R"(\p{N}+)"),
                              Regex("[0-9][0-9][0-9]")};
constexpr Stage kDeepseekLlm[] = {
    Regex(R"([\r\n])"),
    Regex(kDeepseekLlmLetters),
    Regex(R"(\s?[!-/:-~\x{FF01}-\x{FF0F}\x{FF1A}-\x{FF5E}\x{2018}-\x{201F}\x{3000}-\x{3002}]+)"),
    Regex(R"(\s+$)"),
    Regex(kCjkAndHangul),
    Regex(R"(\p{N}+)")};
constexpr Stage kDeepseekCoder[] = {Regex(R"([\r\n])"), Regex(R"(\s?\p{L}+)"), Regex(R"(\s?\p{P}+)"),
                                    Regex(kCjkAndHangul), Regex(words::kDigit)};
constexpr Stage kDeepseek3[] = {Regex(kUpToThreeDigits), Regex(kHanAndKana), Regex(kDeepseek3Words)};
constexpr Stage kYoutu[] = {
    Regex(
        R"([\x{AC00}-\x{D7A3}\x{3131}-\x{318E}]+|)"
        R"([\x{FF01}\x{2026}\x{201C}\x{201D}\x{2018}\x{2019}\x{2014}\x{FF1A}\x{FF1B}\x{FF0C}\x{3001}-\x{303F}\x{FE30}-\x{FE4F}]+|)"
        R"([\x{3105}-\x{312F}]+|[\x{4E00}-\x{9FA5}\x{3040}-\x{309F}\x{30A0}-\x{30FF}]+)"),
    Regex(kYoutuWords, {.family = words::Scanner::Family::kO200k, .max_digits = 1, .contractions = true})};
constexpr Stage kBloom[] = {Regex(kBloomWords)};
constexpr Stage kViking[] = {Regex(kBloomWords), Regex(words::kDigit)};
constexpr Stage kKimi[] = {Regex(kKimiWords)};
constexpr Stage kChameleon[] = {Regex("<sentinel:[0-9]+>"),       Regex("IMGIMG[A-I]{1,4}Z"),
                                Regex(R"([\t\n]|    |  )"),       Regex(words::kDigit),
                                Regex(R"([\p{P}!-/:-@\[-`{-~])"), words::kGpt2[0]};
constexpr Stage kTinyAya[] = {{Stage::Kind::kDigitsFromRight, R"(\d)", /*before_word_boundary=*/true},
                              words::kO200k[0]};
constexpr Stage kSuperBpe[] = {Regex(R"(\p{N}+)"), {Stage::Kind::kDigitsFromRight, R"(\d)"}};
constexpr Stage kAfmoe[] = {
    {Stage::Kind::kDigitsFromRight, words::kDigit},
    Regex(R"([\x{4E00}-\x{9FFF}\x{3400}-\x{4DBF}\x{F900}-\x{FAFF}\x{3040}-\x{309F}\x{30A0}-\x{30FF}\x{FF65}-\x{FF9F})"
          R"(\x{2F00}-\x{2FDF}\x{0E40}-\x{0E7F}\x{0E80}-\x{0EFF}\x{1780}-\x{17FF}\x{1000}-\x{109F}\x{AA60}-\x{AA7F})"
          R"(\x{A9E0}-\x{A9FF}\x{AC00}-\x{D7AF}\x{1100}-\x{11FF}]+)"),
    Regex(kDeepseek3Words)};
constexpr Stage kBailing[] = {Regex(kBailingWords)};
constexpr Stage kSeedCoder[] = {Regex(kSeedCoderWords)};
constexpr Stage kLaguna[] = {Regex(R"([^\n]+|[\n]+)"), words::kCl100kOneDigit[0]};
constexpr Stage kExaoneMoe[] = {Regex(kExaoneMoeWords)};
constexpr Stage kMiniCpm5[] = {Regex(kUpToThreeDigits),
                               Regex(kMiniCpm5Words, {.family = words::Scanner::Family::kCl100k})};

}  // namespace

const TokenizerTraits& OtherTokenizers() {
  static const TokenizerTraits traits{
      .pre_tokenizers = {{{"phi-2", "jina-es", "jina-de", "jina-v1-en", "gigachat", "jina-v2-es", "a.x-4.0",
                           "jina-v2-de", "jina-v2-code", "mellum", "exaone4", "jais", "trillion", "granite-docling"},
                          {words::kGpt2}},
                         {{"mpt", "olmo", "gpt-neox"}, {words::kGpt2, /*nfc=*/true}},
                         {{"falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2", "jina-v5-nano", "smaug-bpe"},
                          {.stages = words::kCl100k, .ignore_merges = true}},
                         {{"dbrx", "glm4", "chatglm-bpe"}, {words::kCl100k}},
                         {{"jais-2"}, {kJais2}},
                         {{"kormo", "f2llmv2"}, {words::kCl100kOneDigit, /*nfc=*/true}},
                         {{"deepseek-r1-qwen", "megrez", "stablelm2", "hunyuan", "solar-open", "grok-2"},
                          {words::kCl100kOneDigit}},
                         {{"refact", "smollm", "codeshell", "exaone", "minerva-7b", "mellum2"}, {words::kDigitsApart}},
                         {{"command-r"}, {words::kDigitsApart, /*nfc=*/true}},
                         {{"falcon"}, {kFalcon}},
                         {{"default"}, {kDefault}},
                         {{"deepseek-llm"}, {kDeepseekLlm}},
                         {{"deepseek-coder"}, {kDeepseekCoder}},
                         {{"deepseek-v3", "hunyuan-dense", "joyai-llm"}, {kDeepseek3}},
                         {{"youtu"}, {.stages = kYoutu, .ignore_merges = true}},
                         {{"bloom", "poro-chat", "gpt3-finnish"}, {kBloom}},
                         {{"viking"}, {kViking}},
                         {{"kanana2", "talkie", "minimax-m2"}, {words::kO200k}},
                         {{"granite-embed-multi-97m"}, {.stages = words::kO200k, .ignore_merges = true}},
                         {{"kimi-k2"}, {kKimi}},
                         {.names = {"chameleon"}, .rules = {kChameleon}, .adds_bos = true},
                         {{"tiny_aya", "cohere2moe"}, {kTinyAya, /*nfc=*/true}},
                         {{"superbpe"}, {kSuperBpe}},
                         {{"afmoe"}, {kAfmoe}},
                         {{"bailingmoe", "bailingmoe2", "llada-moe"}, {kBailing}},
                         {{"seed-coder"}, {kSeedCoder}},
                         {{"laguna"}, {kLaguna}},
                         {{"exaone-moe"}, {kExaoneMoe}},
                         {{"minicpm5"}, {.stages = kMiniCpm5, .ignore_merges = true}}},
      .turn_markers = {"<|im_middle|>", "<|calls|>", "<|flush|>", "<|observation|>", "<|START_OF_TURN_TOKEN|>",
                       "<|END_OF_TURN_TOKEN|>", "<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>", "<｜User｜>",
                       "<｜Assistant｜>", "<end_of_utterance>"},
      .generation_ends = {"<EOT>", "_<EOT>", "[EOT]", "[EOS]", "<|calls|>", "<|flush|>", "<|END_OF_TURN_TOKEN|>",
                          "<end_of_utterance>", "<｜end▁of▁sentence｜>", "[e~["},
      .sentencepiece_names = {"sarvam-moe", "granite-embed-multi-311m"},
      .adjust = [](const formats::GgufMetadata&, text::VocabSpec& vocab) {
        // Here <|end|> closes one message of several, and <|flush|> closes the turn.
        if (EndsGeneration(vocab, "<|calls|>") && EndsGeneration(vocab, "<|flush|>"))
          DropGenerationEnd(vocab, "<|end|>");
      }};
  return traits;
}

}  // namespace inferflux::model
