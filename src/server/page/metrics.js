// The Prometheus text format, as far as this page reads it, in the form of /v1/live.
function parseMetrics(text) {
  const out = [];
  for (const line of text.split("\n")) {
    const match = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/.exec(line);
    if (!match) continue;
    const labels = {};
    for (const [, name, value] of (match[2] || "").matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) labels[name] = value;
    out.push({name: match[1], labels, value: Number(match[3])});
  }
  return out;
}

const sumOfMetric = (samples, name) => samples.reduce((total, each) => (each.name === name ? total + each.value : total), 0);

// Cumulative counts by upper bound, over all series of a histogram.
function bucketsOfMetric(samples, name) {
  const out = new Map();
  for (const each of samples) {
    if (each.name !== `${name}_bucket`) continue;
    const bound = each.labels.le === "+Inf" ? null : Number(each.labels.le);
    out.set(bound, (out.get(bound) || 0) + each.value);
  }
  return [...out];
}

export function figuresOfMetrics(text) {
  const samples = parseMetrics(text);
  const sum = (name) => sumOfMetric(samples, `inferflux_${name}`);
  const cached = sum("kv_blocks_cached");
  return {at: Date.now(), prompt_tokens: sum("model_prompt_tokens_total"), cached_tokens: sum("cached_prompt_tokens_total"),
    completion_tokens: sum("model_completion_tokens_total"), drafted_tokens: sum("drafted_tokens_total"), accepted_tokens: sum("accepted_tokens_total"),
    time_to_first_token: bucketsOfMetric(samples, "inferflux_time_to_first_token_seconds"),
    inter_token_latency: bucketsOfMetric(samples, "inferflux_inter_token_latency_seconds"), running: sum("running_sequences"), waiting: sum("queue_depth"),
    kv_blocks: {used: sum("kv_blocks_used"), cached, free: sum("kv_blocks_free") - cached}, models: [], workers: [], pooled: false};
}
