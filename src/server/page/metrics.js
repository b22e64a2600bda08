// The Prometheus text format, as far as this page reads it.
export function parseMetrics(text) {
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

export function sum(samples, name) {
  return samples.reduce((total, each) => (each.name === name ? total + each.value : total), 0);
}

// Cumulative counts by upper bound, over all series of a histogram.
export function buckets(samples, name) {
  const out = new Map();
  for (const each of samples) {
    if (each.name === `${name}_bucket`) out.set(each.labels.le, (out.get(each.labels.le) || 0) + each.value);
  }
  return out;
}

// The bound below which `share` of what came between two readings lies, interpolated within its bucket; null: nothing came.
export function percentile(before, after, share) {
  const rows = [...after].map(([bound, count]) => [bound === "+Inf" ? Infinity : Number(bound), count - (before.get(bound) || 0)]).sort((a, b) => a[0] - b[0]);
  const total = rows.length ? rows[rows.length - 1][1] : 0;
  if (total <= 0) return null;
  let low = 0, below = 0;
  for (const [bound, count] of rows) {
    if (count >= share * total) return bound === Infinity ? low : low + (bound - low) * ((share * total - below) / Math.max(count - below, 1e-9));
    low = bound;
    below = count;
  }
  return low;
}
