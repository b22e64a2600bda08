#include "support/sampling_reference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace inferflux::testing {
namespace {

using engine::SamplingParams;
using Doubles = std::vector<double>;
using Ids = std::vector<size_t>;

size_t At(TokenId id) { return static_cast<size_t>(id); }

void Penalise(Doubles& logits, const SamplingSetting& setting) {
  const SamplingParams& p = setting.params;
  for (const auto& [id, bias] : p.logit_bias) logits[At(id)] += bias;
  const auto output = std::span(setting.history).subspan(static_cast<size_t>(setting.prompt_tokens));
  for (size_t id = 0; id < logits.size(); ++id) {
    const auto is_it = [&](TokenId token) { return At(token) == id; };
    if (std::ranges::any_of(setting.history, is_it)) {
      logits[id] = logits[id] > 0 ? logits[id] / p.repetition_penalty : logits[id] * p.repetition_penalty;
    }
    const auto said = static_cast<double>(std::ranges::count_if(output, is_it));
    logits[id] -= said > 0 ? p.presence_penalty + p.frequency_penalty * said : 0.0;
  }
}

// For every token the longest end of the text that stands right before it somewhere.
void PenaliseRepetition(Doubles& logits, const SamplingSetting& setting) {
  const SamplingParams& p = setting.params;
  std::span<const TokenId> text = setting.history;
  if (p.dry_penalty_last_n >= 0) text = text.last(std::min(text.size(), static_cast<size_t>(p.dry_penalty_last_n)));
  const auto breaks = [&](TokenId id) { return std::ranges::count(p.dry_breakers, id) > 0; };
  for (size_t id = 0; id < logits.size(); ++id) {
    if (breaks(static_cast<TokenId>(id))) continue;
    int longest = 0;
    for (size_t length = 1; length <= 50 && length < text.size(); ++length) {
      const auto end = text.last(length);
      if (std::ranges::any_of(end, breaks)) break;
      for (size_t i = 0; i + length < text.size(); ++i) {
        if (At(text[i + length]) == id && std::ranges::equal(text.subspan(i, length), end)) {
          longest = static_cast<int>(length);
        }
      }
    }
    if (longest >= std::max(1, p.dry_allowed_length)) {
      logits[id] -= double{p.dry_multiplier} * std::pow(double{p.dry_base}, longest - p.dry_allowed_length);
    }
  }
}

// Ids with a probability, the likeliest first, the lower id first where two are equal.
Ids Order(const Doubles& probs, const Doubles& logits) {
  Ids order(probs.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return logits[a] > logits[b]; });
  std::erase_if(order, [&](size_t id) { return !(probs[id] > 0); });
  return order;
}

Doubles Keep(const Doubles& probs, std::span<const size_t> ids) {
  Doubles kept(probs.size(), 0.0);
  double total = 0.0;
  for (const size_t id : ids) total += probs[id];
  for (const size_t id : ids) kept[id] = probs[id] / total;
  return kept;
}

Doubles KeepMass(const Doubles& probs, const Ids& order, double mass) {
  double reached = 0.0;
  size_t count = 0;
  while (count < order.size() && (count == 0 || reached < mass - 1e-9)) reached += probs[order[count++]];
  return Keep(probs, std::span(order).first(count));
}

Doubles Typical(const Doubles& probs, const Doubles& logits, double mass) {
  Ids order = Order(probs, logits);
  double entropy = 0.0;
  for (const size_t id : order) entropy -= probs[id] * std::log(probs[id]);
  const auto oddity = [&](size_t id) { return std::abs(-std::log(probs[id]) - entropy); };
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return oddity(a) < oddity(b); });
  return KeepMass(probs, order, mass);
}

Doubles ExcludeTopChoices(const Doubles& probs, const Doubles& logits, double probability, double threshold) {
  Ids order = Order(probs, logits);
  const auto above = std::ranges::count_if(order, [&](size_t id) { return probs[id] >= threshold; });
  if (above < 2) return probs;
  const Doubles rest = Keep(probs, std::span(order).subspan(static_cast<size_t>(above - 1)));
  Doubles mixed(probs.size());
  for (size_t id = 0; id < probs.size(); ++id) mixed[id] = (1 - probability) * probs[id] + probability * rest[id];
  return mixed;
}

}  // namespace

std::vector<double> SamplingReference(std::span<const float> row, const SamplingSetting& setting) {
  const SamplingParams& p = setting.params;
  Doubles logits(row.begin(), row.end());
  Penalise(logits, setting);
  if (p.dry_multiplier > 0) PenaliseRepetition(logits, setting);
  const double highest = *std::ranges::max_element(logits);
  if (p.top_n_sigma > 0) {
    const double mean = std::accumulate(logits.begin(), logits.end(), 0.0) / static_cast<double>(logits.size());
    double variance = 0.0;
    for (const double logit : logits) variance += (logit - mean) * (logit - mean) / static_cast<double>(logits.size());
    for (double& logit : logits) {
      if (logit < highest - p.top_n_sigma * std::sqrt(variance)) logit = -std::numeric_limits<double>::infinity();
    }
  }
  Doubles probs(logits.size());
  for (size_t id = 0; id < probs.size(); ++id) probs[id] = std::exp((logits[id] - highest) / p.temperature);
  probs = Keep(probs, Order(probs, logits));

  if (p.mirostat) {
    const double mu = setting.mirostat_mu.value_or(2 * p.mirostat_tau);
    const Ids order = Order(probs, logits);
    size_t count = 0;
    while (count < order.size() && (count == 0 || -std::log2(probs[order[count]]) <= mu)) ++count;
    return Keep(probs, std::span(order).first(count));
  }
  if (p.top_k > 0) {
    const Ids order = Order(probs, logits);
    probs = Keep(probs, std::span(order).first(std::min(order.size(), static_cast<size_t>(p.top_k))));
  }
  if (p.typical_p < 1) probs = Typical(probs, logits, p.typical_p);
  if (p.top_p < 1) probs = KeepMass(probs, Order(probs, logits), p.top_p);
  if (p.min_p > 0) {
    Ids order = Order(probs, logits);
    const double least = p.min_p * probs[order[0]] * (1 - 1e-9);
    std::erase_if(order, [&](size_t id) { return probs[id] < least; });
    probs = Keep(probs, order);
  }
  if (p.xtc_probability > 0) probs = ExcludeTopChoices(probs, logits, p.xtc_probability, p.xtc_threshold);
  return probs;
}

double DrawDeviation(std::span<const double> expected, std::span<const int> seen) {
  const double draws = std::accumulate(seen.begin(), seen.end(), 0);
  double chi2 = 0.0, rare_expected = 0.0, rare_seen = 0.0;
  int cells = 0;
  for (size_t id = 0; id < expected.size(); ++id) {
    if (expected[id] == 0.0) {
      if (seen[id] > 0) return std::numeric_limits<double>::infinity();
    } else if (expected[id] * draws < 8) {
      rare_expected += expected[id] * draws;
      rare_seen += seen[id];
    } else {
      chi2 += std::pow(seen[id] - expected[id] * draws, 2) / (expected[id] * draws);
      ++cells;
    }
  }
  if (rare_expected > 8) {
    chi2 += std::pow(rare_seen - rare_expected, 2) / rare_expected;
    ++cells;
  }
  const double freedom = cells - 1;
  if (freedom < 1) return 0.0;
  const double spread = 2.0 / (9.0 * freedom);
  return (std::cbrt(chi2 / freedom) - (1.0 - spread)) / std::sqrt(spread);
}

}  // namespace inferflux::testing
