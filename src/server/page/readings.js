// What happened between two of the server's figures.

// The bound below which `share` of what came between two counts lies, interpolated within its bucket; null: nothing came. The
// counts are cumulative: [upper bound or null, count].
export function percentileBetween(before, after, share) {
  const earlier = new Map(before);
  const rows = after.map(([bound, count]) => [bound ?? Infinity, count - (earlier.get(bound) || 0)]).sort((a, b) => a[0] - b[0]);
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

export function readingBetween(before, after) {
  const seconds = Math.max((after.at - before.at) / 1000, 0.001);
  // A counter begins again at 0 where a model or a server was started anew.
  const grown = (name) => Math.max(0, after[name] - before[name]);
  const share = (part, all) => (all > 0 ? Math.min(1, part / all) : null);
  const percentile = (name, rank) => percentileBetween(before[name], after[name], rank);
  return {at: after.at, in: grown("prompt_tokens") / seconds, out: grown("completion_tokens") / seconds, running: after.running, waiting: after.waiting,
    used: after.kv_blocks.used, cached: after.kv_blocks.cached, free: after.kv_blocks.free,
    prefix: share(grown("cached_tokens"), grown("cached_tokens") + grown("prompt_tokens")), accepted: share(grown("accepted_tokens"), grown("drafted_tokens")),
    first50: percentile("time_to_first_token", 0.5), first99: percentile("time_to_first_token", 0.99),
    between50: percentile("inter_token_latency", 0.5), between99: percentile("inter_token_latency", 0.99)};
}

// At most `most` readings: neighbours are averaged, so that a plot stays quick and no peak vanishes unseen from the mean.
export function thinned(readings, most) {
  const size = Math.ceil(readings.length / most);
  if (size <= 1) return readings;
  const out = [];
  for (let i = 0; i < readings.length; i += size) {
    const group = readings.slice(i, i + size);
    const mean = (name) => {
      const known = group.map((each) => each[name]).filter((value) => value !== null);
      return known.length ? known.reduce((total, value) => total + value, 0) / known.length : null;
    };
    out.push(Object.fromEntries(Object.keys(group[0]).map((name) => [name, mean(name)])));
  }
  return out;
}
