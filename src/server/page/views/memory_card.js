// The memory of weights and KV beside what the machine has.
import {bytesText, el} from "../dom.js";

function segment(kind, bytes, total, title) {
  return el("div", {className: `segment ${kind}`, title: `${title}: ${bytesText(bytes)}`, style: {width: `${Math.min(100, (100 * bytes) / total)}%`}});
}

export function memoryCard(models, memory) {
  const {host} = memory;
  const held = models.flatMap((model) => Object.values(model.details.memory || {}));
  const weights = held.reduce((sum, each) => sum + each.weight_bytes, 0);
  const kv = held.reduce((sum, each) => sum + (each.kv_bytes || 0), 0);
  const others = Math.max(0, host.total_bytes - host.free_bytes - weights - kv);
  const key = (kind, text) => el("span", {className: "row"}, el("span", {className: `key ${kind}`, "aria-hidden": "true"}), text);
  return el("section", {className: "card", "aria-label": "Memory"}, el("h2", {}, "Memory"),
    el("div", {className: "memory-bar", "aria-hidden": "true"}, segment("weights", weights, host.total_bytes, "weights"), segment("kv", kv, host.total_bytes, "KV"),
      segment("others", others, host.total_bytes, "everything else")),
    el("p", {className: "row"}, key("weights", `Weights ${bytesText(weights)}`), key("kv", `KV ${bytesText(kv)}`), key("others", `everything else ${bytesText(others)}`),
      key("free", `free ${bytesText(host.free_bytes)} of the machine's ${bytesText(host.total_bytes)}`)),
    el("p", {className: "quiet"}, `All models together may hold ${bytesText(memory.budget_bytes)} (the memory budget); ${bytesText(memory.used_bytes)} of it is taken.`));
}
