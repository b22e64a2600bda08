// The last hour of the server, one reading a second, kept while the page is open, whichever view is shown.
import {getText} from "./api.js";
import {buckets, parseMetrics, percentile, sum} from "./metrics.js";

const mostReadings = 3600;
const readings = [];
const histograms = {first: "inferflux_time_to_first_token_seconds", between: "inferflux_inter_token_latency_seconds"};
let last = null;

export const liveReadings = () => readings;

async function read() {
  let text;
  try {
    text = await getText("/metrics");
  } catch {
    document.dispatchEvent(new CustomEvent("server-state", {detail: false}));
    last = null;
    return;
  }
  document.dispatchEvent(new CustomEvent("server-state", {detail: true}));
  const samples = parseMetrics(text);
  const now = {at: Date.now(), in: sum(samples, "inferflux_model_prompt_tokens_total"), out: sum(samples, "inferflux_model_completion_tokens_total"),
    drafted: sum(samples, "inferflux_drafted_tokens_total"), accepted: sum(samples, "inferflux_accepted_tokens_total"),
    first: buckets(samples, histograms.first), between: buckets(samples, histograms.between)};
  if (last) {
    const seconds = Math.max((now.at - last.at) / 1000, 0.001);
    readings.push({at: now.at, in: Math.max(0, now.in - last.in) / seconds, out: Math.max(0, now.out - last.out) / seconds,
      running: sum(samples, "inferflux_running_sequences"), waiting: sum(samples, "inferflux_queue_depth"),
      used: sum(samples, "inferflux_kv_blocks_used"), free: sum(samples, "inferflux_kv_blocks_free"),
      accepted: now.drafted > last.drafted ? (now.accepted - last.accepted) / (now.drafted - last.drafted) : null,
      first50: percentile(last.first, now.first, 0.5), first99: percentile(last.first, now.first, 0.99),
      between50: percentile(last.between, now.between, 0.5), between99: percentile(last.between, now.between, 0.99)});
    if (readings.length > mostReadings) readings.shift();
    document.dispatchEvent(new Event("live-reading"));
  }
  last = now;
}

export function startLive() {
  read();
  setInterval(read, 1000);
}
