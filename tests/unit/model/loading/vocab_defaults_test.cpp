// A whole vocabulary of each kind: what it has where the file says nothing, and what each key changes.
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "formats/gguf/gguf_metadata_builder.h"
#include "formats/huggingface/hf_vocab.h"
#include "model/loading/vocab_from_gguf.h"

namespace inferflux::model {
namespace {

using VocabKeys = std::function<void(formats::GgufMetadataBuilder&)>;

std::string IdOf(const char* name, const std::optional<TokenId>& id) {
  return id ? fmt::format("{}={} ", name, *id) : "";
}

// 104 tokens: of kind 3 those of the first five and of the last five, otherwise 1.
std::string Vocab(
    const char* model, const VocabKeys& more = [](auto&) {}, bool plain = false) {
  formats::GgufMetadataBuilder metadata;
  std::vector<std::string> tokens;
  std::vector<int32_t> kinds;
  for (int i = 0; i < 104; ++i) {
    tokens.push_back(fmt::format("t{}", i));
    kinds.push_back(!plain && (i < 5 || i >= 99) ? 3 : 1);
  }
  metadata.Set("tokenizer.ggml.model", model);
  metadata.Set("tokenizer.ggml.pre", "gpt-2");
  metadata.SetArray("tokenizer.ggml.tokens", std::span<const std::string>(tokens));
  metadata.SetArray("tokenizer.ggml.token_type", std::span<const int32_t>(kinds));
  more(metadata);
  const auto specs = VocabFromGguf(metadata.Build("v"));
  if (!specs) return specs.error().message;
  const text::VocabSpec& v = specs->vocab;
  std::string out = v.model + ": " + IdOf("bos", v.bos) + IdOf("eos", v.eos) + IdOf("eot", v.eot) + IdOf("eom", v.eom) +
                    IdOf("unk", v.unk) + IdOf("sep", v.sep) + IdOf("cls", v.cls) + IdOf("pad", v.pad) +
                    IdOf("mask", v.mask);
  out += fmt::format("{}{}{}{}{}{} prefix {} ends [{}]", v.add_bos ? "+bos" : "", v.add_eos ? "+eos" : "",
                     v.remove_extra_whitespaces ? " squeezes" : "", v.lowercase ? " lower" : "",
                     v.strip_accents ? " strips" : "", v.charsmap, static_cast<int>(v.space_prefix),
                     fmt::join(v.end_of_generation, " "));
  return out;
}
template <class T>
VocabKeys With(const char* key, T value) {
  return [=](formats::GgufMetadataBuilder& m) { m.Set(std::string("tokenizer.ggml.") + key, value); };
}

TEST(VocabDefaults, OfEachKind) {
  EXPECT_EQ(Vocab("gpt2"), "gpt2:  lower strips prefix 0 ends []");
  EXPECT_EQ(Vocab("llama"), "llama: bos=1 eos=2 unk=0 +bos lower strips prefix 3 ends [2]");
  EXPECT_EQ(Vocab("t5"), "t5: eos=1 unk=2 pad=0 +eos lower strips prefix 3 ends [1]");
  EXPECT_EQ(Vocab("bert"), "bert: unk=100 sep=102 cls=101 pad=0 mask=103 +bos+eos lower strips prefix 0 ends []");
  EXPECT_EQ(Vocab("rwkv"), "rwkv:  lower strips prefix 0 ends []");
  EXPECT_EQ(Vocab("gemma4", With("bos_token_id", uint32_t{2})), "gemma4: bos=2 +bos lower strips prefix 0 ends []");
  EXPECT_EQ(Vocab("gpt2",
                  [](auto& m) {
                    m.Set("tokenizer.ggml.pre", "granite-embed-multi-311m");
                    m.Set("tokenizer.ggml.bos_token_id", uint32_t{2});
                    m.Set("tokenizer.ggml.add_space_prefix", true);
                  }),
            "gemma4: bos=2 +bos lower strips prefix 3 ends []");
}

TEST(VocabDefaults, IdsOfTextAreNone) {
  EXPECT_EQ(Vocab(
                "llama", [](auto&) {}, true),
            "llama: bos=1 eos=2 unk=0 +bos lower strips prefix 3 ends [2]")
      << "a file without kinds of its own";
  const auto kinds = [](std::vector<int> control) {
    return [=](formats::GgufMetadataBuilder& m) {
      std::vector<int32_t> all(104, 1);
      for (const int id : control) all[static_cast<size_t>(id)] = 3;
      m.SetArray("tokenizer.ggml.token_type", std::span<const int32_t>(all));
    };
  };
  EXPECT_EQ(Vocab("llama", kinds({1})), "llama: bos=1 +bos lower strips prefix 3 ends []");
  EXPECT_EQ(Vocab("llama", kinds({2})), "llama: eos=2  lower strips prefix 3 ends [2]");
  EXPECT_EQ(Vocab("bert", kinds({101})), "bert: cls=101 +bos lower strips prefix 0 ends []");
  EXPECT_EQ(Vocab("bert", kinds({102})), "bert: sep=102 +eos lower strips prefix 0 ends []");
  EXPECT_EQ(Vocab("bert", kinds({100, 103, 0})), "bert: unk=100 pad=0 mask=103  lower strips prefix 0 ends []");
}

TEST(VocabDefaults, EachIdIsItsKeys) {
  const std::pair<const char*, const char*> ids[] = {{"bos", "bos"}, {"eos", "eos"},     {"eot", "eot"},
                                                     {"eom", "eom"}, {"unknown", "unk"}, {"seperator", "sep"},
                                                     {"cls", "cls"}, {"padding", "pad"}, {"mask", "mask"}};
  for (const auto& [key, name] : ids) {
    const std::string whole = std::string(key) + "_token_id";
    const bool ends =
        std::string_view(name) == "eos" || std::string_view(name) == "eot" || std::string_view(name) == "eom";
    const auto with = [&](int32_t id) { return Vocab("gpt2", With(whole.c_str(), id)); };
    EXPECT_EQ(with(103), fmt::format("gpt2: {}=103  lower strips prefix 0 ends [{}]", name, ends ? "103" : ""));
    EXPECT_EQ(with(0), fmt::format("gpt2: {}=0  lower strips prefix 0 ends [{}]", name, ends ? "0" : ""));
    EXPECT_EQ(with(104), "gpt2:  lower strips prefix 0 ends []") << "beyond the tokens";
    EXPECT_EQ(with(-1), "gpt2:  lower strips prefix 0 ends []");
  }
}

TEST(VocabDefaults, EachFlagIsItsKeys) {
  const auto llama = [](const char* key, bool value) { return Vocab("llama", With(key, value)); };
  EXPECT_EQ(llama("add_bos_token", false), "llama: bos=1 eos=2 unk=0  lower strips prefix 3 ends [2]");
  EXPECT_EQ(llama("add_eos_token", true), "llama: bos=1 eos=2 unk=0 +bos+eos lower strips prefix 3 ends [2]");
  EXPECT_EQ(llama("add_sep_token", true), "llama: bos=1 eos=2 unk=0 +bos lower strips prefix 3 ends [2]");
  EXPECT_EQ(llama("add_space_prefix", false), "llama: bos=1 eos=2 unk=0 +bos lower strips prefix 0 ends [2]");
  EXPECT_EQ(llama("remove_extra_whitespaces", true),
            "llama: bos=1 eos=2 unk=0 +bos squeezes lower strips prefix 3 ends [2]");
  EXPECT_EQ(llama("normalizer.lowercase", false), "llama: bos=1 eos=2 unk=0 +bos prefix 3 ends [2]");
  EXPECT_EQ(llama("normalizer.strip_accents", false), "llama: bos=1 eos=2 unk=0 +bos lower prefix 3 ends [2]");
  const auto bert = [](const char* key, bool value) { return Vocab("bert", With(key, value)); };
  const std::string ids = "bert: unk=100 sep=102 cls=101 pad=0 mask=103 ";
  EXPECT_EQ(bert("add_sep_token", false), ids + "+bos lower strips prefix 0 ends []");
  EXPECT_EQ(bert("add_eos_token", false), ids + "+bos+eos lower strips prefix 0 ends []");
  EXPECT_EQ(Vocab("gpt2", With("add_bos_token", true)), "gpt2:  lower strips prefix 0 ends []") << "there is none";
  EXPECT_EQ(Vocab("gpt2", With("add_eos_token", true)), "gpt2:  lower strips prefix 0 ends []");
  EXPECT_EQ(Vocab("gpt2", With("add_space_prefix", true)), "gpt2:  lower strips prefix 0 ends []");
  EXPECT_EQ(Vocab("gpt2",
                  [](auto& m) {
                    m.Set("tokenizer.ggml.cls_token_id", uint32_t{3});
                    m.Set("tokenizer.ggml.sep_token_id", uint32_t{4});
                    m.Set("tokenizer.ggml.seperator_token_id", uint32_t{4});
                    m.Set("tokenizer.ggml.add_bos_token", true);
                    m.Set("tokenizer.ggml.add_eos_token", true);
                  }),
            "gpt2: sep=4 cls=3 +bos+eos lower strips prefix 0 ends []");
  EXPECT_EQ(Vocab("t5",
                  [](auto& m) {
                    m.SetArray("tokenizer.ggml.precompiled_charsmap",
                               std::span<const uint8_t>(std::vector<uint8_t>{'m', 'a', 'p'}));
                  }),
            "t5: eos=1 unk=2 pad=0 +eos lower stripsmap prefix 3 ends [1]");
}

TEST(VocabDefaults, KeysOfOurOwnAreChecked) {
  const auto prefix = [](const char* word, bool with) {
    return Vocab("llama", [=](auto& m) {
      m.Set(formats::kSpacePrefixKey, word);
      m.Set("tokenizer.ggml.add_space_prefix", with);
    });
  };
  const std::string ids = "llama: bos=1 eos=2 unk=0 +bos lower strips prefix ";
  EXPECT_EQ(prefix("first", true), ids + "1 ends [2]");
  EXPECT_EQ(prefix("unspaced", true), ids + "2 ends [2]");
  EXPECT_EQ(prefix("every", true), ids + "3 ends [2]");
  EXPECT_EQ(prefix("first", false), ids + "0 ends [2]");
  const auto list = [](std::string_view key, std::vector<int32_t> values) {
    return Vocab("llama", [=](auto& m) { m.SetArray(key, std::span<const int32_t>(values)); });
  };
  EXPECT_EQ(list(formats::kEndsKey, {103, 0, 103}), ids + "3 ends [0 2 103]");
  for (const auto key : {formats::kEndsKey, formats::kStripsLeftKey, formats::kStripsRightKey}) {
    EXPECT_EQ(list(key, {1, 104}), fmt::format("v: {} names token 104, but there are 104 tokens", key));
    EXPECT_EQ(list(key, {-1}), fmt::format("v: {} names token -1, but there are 104 tokens", key));
  }
}

TEST(VocabDefaults, KindsBeyondTheKnownAreUnused) {
  formats::GgufMetadataBuilder metadata;
  const std::vector<std::string> tokens{"a", "b", "c", "d", "e", "f", "g", "h", "<|im_end|>", "<|im_end|>"};
  const std::vector<int32_t> kinds{0, 1, 2, 3, 4, 5, 6, 7, 2, 4};
  metadata.Set("tokenizer.ggml.model", "llama");
  metadata.Set("tokenizer.ggml.eos_token_id", uint32_t{4});
  metadata.SetArray("tokenizer.ggml.tokens", std::span<const std::string>(tokens));
  metadata.SetArray("tokenizer.ggml.token_type", std::span<const int32_t>(kinds));
  const auto specs = VocabFromGguf(metadata.Build("v"));
  ASSERT_TRUE(specs) << specs.error().message;
  std::string found;
  for (const text::TokenKind kind : specs->vocab.kinds) found += std::to_string(static_cast<int>(kind));
  EXPECT_EQ(found, "5123356523") << "the end is control, and so is a turn's unless it is unknown";
}

}  // namespace
}  // namespace inferflux::model
