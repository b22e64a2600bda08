// A model's configuration as lines of text, and what an edit of its file changes in them.
#pragma once

#include <cctype>
#include <map>
#include <string>
#include <type_traits>

#include "model/loading/setting_bounds.h"

namespace inferflux::model::testing {

using Lines = std::map<std::string, std::string>;

template <class T>
std::string TextOf(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    return std::to_string(static_cast<int>(value));
  } else if constexpr (std::is_floating_point_v<T>) {
    return fmt::format("{:.4g}", value);
  } else {
    return fmt::format("{}", value);
  }
}

template <class T>
std::string ListOf(const formats::GgufMetadata& metadata, std::string_view key) {
  const auto values = metadata.Get<std::vector<T>>(key);
  std::string out;
  for (size_t i = 0; values && i < values->size(); ++i) out += (i == 0 ? "" : " ") + TextOf(T((*values)[i]));
  return out;
}

inline std::string ValueOf(const formats::GgufMetadata& metadata, const formats::GgufEntry& entry) {
  using Type = formats::GgufValueType;
  const bool list = entry.type == Type::kArray;
  const Type type = list ? entry.element_type : entry.type;
  if (type == Type::kString)
    return list ? ListOf<std::string_view>(metadata, entry.key) : *metadata.Get<std::string>(entry.key);
  if (type == Type::kFloat32 || type == Type::kFloat64)
    return list ? ListOf<double>(metadata, entry.key) : TextOf(*metadata.Get<double>(entry.key));
  if (type == Type::kBool) return list ? ListOf<bool>(metadata, entry.key) : TextOf(*metadata.Get<bool>(entry.key));
  return list ? ListOf<int64_t>(metadata, entry.key) : TextOf(*metadata.Get<int64_t>(entry.key));
}

inline void AddLayer(const LayerKind& kind, const std::string& name, Lines* out) {
  std::string text = fmt::format("{}x{} window {} rope {}", kind.kv.heads, kind.kv.head_dim, kind.kv.window, kind.rope);
  const auto mark = [&](bool is, const char* word) { text += is ? std::string(" ") + word : ""; };
  mark(kind.dense, "dense");
  mark(kind.recurrent, "recurrent");
  mark(!kind.feed_forward, "alone");
  mark(kind.selects, "selects");
  mark(kind.values_are_keys, "values are keys");
  mark(!kind.queries_grow, "does not grow");
  if (kind.feed_forward_width != 0) text += fmt::format(" width {}", kind.feed_forward_width);
  if (kind.kv_layer != kOwnKv) text += fmt::format(" keys of {}", kind.kv_layer);
  if (const auto& x = kind.xielu) text += fmt::format(" xielu {:.4g} {:.4g} {:.4g}", x->above, x->below, x->linear);
  if (kind.gate_cut) text += fmt::format(" cut {:.4g}", *kind.gate_cut);
  (*out)[name] = text;
}

inline Lines LinesOf(const ModelConfig& c) {
  Lines out;
  const auto add = [&](const char* name, const auto&... values) {
    std::string text;
    ((text += (text.empty() ? "" : " ") + TextOf(values)), ...);
    out[name] = text;
  };
  add("sizes", c.vocab_size, c.hidden, c.layers, c.heads, c.head_dim, c.feed_forward, c.context);
  for (size_t i = 0; i < c.layer_kinds.size(); ++i) AddLayer(c.layer_kinds[i], fmt::format("layer {:02}", i), &out);
  add("causal", c.causal);
  add("pooling", c.pooling.type ? static_cast<int>(*c.pooling.type) : -1, c.pooling.normalise, c.pooling.lengths.size(),
      c.pooling.labels.size(), c.pooling.score_function);
  add("head", c.head.size(), c.head_activation);
  add("rope style", c.rope_style, c.learned_positions, c.token_types);
  for (size_t i = 0; i < c.ropes.size(); ++i) {
    std::string text = TextOf(c.ropes[i].magnitude) + ":";
    for (const float frequency : c.ropes[i].inverse_frequencies) text += " " + TextOf(frequency);
    out[fmt::format("rope {}", i)] = text;
  }
  add("norms", c.norm_epsilon, c.layer_norm, c.norm_bias, c.input_norms, c.first_norm, c.output_norms, c.residual_norms,
      c.embedding_norm, c.final_norm, c.output_norm, c.attention_norm, c.feed_forward_norm, c.qk_norm,
      c.qk_norm_after_rope, c.value_norm, c.parallel);
  add("attention", c.attention, c.attention_scale, c.attention_softcap, c.attention_sinks, c.distance_biases,
      c.attention_gate);
  if (const auto& g = c.query_growth) add("growth", g->growth, g->length, g->offset);
  if (const auto& l = c.latent) add("latent", l->query_rank, l->rank, l->plain, l->rotated, l->value);
  if (const auto& i = c.indexer) add("indexer", i->heads, i->head_dim, i->top, i->rope_style);
  if (const auto& d = c.delta_net) add("delta", d->key_heads, d->value_heads, d->key_dim, d->value_dim, d->keys_repeat);
  if (const auto& s = c.state_space) add("space", s->heads, s->head_dim, s->groups, s->state);
  add("taps", c.conv_taps);
  add("network", c.qkv_bias, c.gated, c.activation);
  const auto& m = c.moe;
  add("experts", m.experts, m.feed_forward, m.shared_feed_forward, m.shared_gate, m.width, m.weighs_inputs,
      m.beside_dense);
  const auto& r = m.routing;
  add("routing", r.used, r.normalise, r.score, r.scale, r.groups, r.used_groups, r.group_scores, r.tolerance);
  if (const auto& a = c.altup) add("altup", a->streams, a->active, a->laurel_rank);
  add("layer input", c.layer_input);
  add("scales", c.embedding_scale, c.residual_scale, c.logit_scale, c.logit_softcap);
  return out;
}

// What is read of the model: its metadata without the tokenizer, and its configuration; or, under "", why it is
// refused.
inline Lines Reading(const std::string& path) {
  const auto source = ModelSource::Open(path);
  if (!source) return {{"", WithoutPath(source.error().message, path)}};
  const auto config = ReadModelConfig(**source, 32);
  if (!config) return {{"", WithoutPath(config.error().message, path)}};
  Lines out = LinesOf(*config);
  const auto& metadata = (*source)->metadata();
  for (const auto& entry : metadata.entries()) {
    if (!entry.key.starts_with("tokenizer.")) out["'" + std::string(entry.key) + "'"] = ValueOf(metadata, entry);
  }
  return out;
}

// "name: before > after" for each line that differs, or why the model is refused now. Of layers that change alike, the
// first, and their number.
inline std::string Effect(const Lines& before, const Lines& after) {
  if (after.contains("")) return after.at("");
  Lines all = before;
  all.insert(after.begin(), after.end());
  std::vector<std::pair<std::string, std::string>> changes;
  std::map<std::string, size_t> alike;
  for (const auto& [name, ignored] : all) {
    const auto old = before.find(name), now = after.find(name);
    const std::string was = old == before.end() ? "none" : old->second, is = now == after.end() ? "none" : now->second;
    if (was == is) continue;
    const bool layer = name.starts_with("layer ") && std::isdigit(static_cast<unsigned char>(name.back())) != 0;
    const std::string change = was + " > " + is;
    if (!layer || ++alike[change] == 1) changes.emplace_back(name, change);
  }
  std::string out;
  for (const auto& [name, change] : changes) {
    const auto number = alike.find(change);
    const bool several = number != alike.end() && number->second > 1 && name.starts_with("layer ");
    out += (out.empty() ? "" : "; ") + name + (several ? fmt::format(" of {}", number->second) : "") + ": " + change;
  }
  return out;
}

// The value in an edited file: "missing", or JSON.
inline std::string EffectInDirectory(const EditedDirectory& directory, const Lines& before, const std::string& pointer,
                                     const boost::json::value& value) {
  boost::json::value changed = directory.config();
  if (value == "missing") {
    const size_t last = pointer.rfind('/');
    changed.at_pointer(pointer.substr(0, last)).as_object().erase(pointer.substr(last + 1));
  } else {
    changed.at_pointer(pointer) = value;
  }
  return Effect(before, Reading(directory.Write(changed)));
}

inline std::string EffectInGguf(const std::string& name, const Lines& before, const std::string& key,
                                const boost::json::value& value) {
  return Effect(before, Reading(EditedModel(name, [&](formats::GgufWriter& w) {
                  if (value == "missing") return w.Remove(key);
                  SetMetadata(w, key, value);
                })));
}

}  // namespace inferflux::model::testing
