// A card for each model: loaded, loading, failed or available.
import {bytesText, el, percentText} from "../dom.js";

const providers = {native: "our own engine", llama_cpp: "llama.cpp"};
const outcomes = {skipped: "was skipped", failed: "failed"};
const mostReasons = 3;  // in the sentence; the table has all

function listed(words) {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words[words.length - 1]}`;
}

// What was asked for, what was tried in vain and why, and what runs.
function exposureSentence(exposure) {
  const vain = exposure.attempts.filter((each) => each.outcome in outcomes);
  const tried = vain.map((each) => `${each.backend} by ${providers[each.provider] || each.provider} ${outcomes[each.outcome]}: ${each.reason.replace(/\.$/, "")}.`);
  const backends = [...new Set(vain.map((each) => each.backend))];
  const many = `${listed(backends)} could not be used; each reason is below.`;
  const runs = `It runs on ${exposure.exposed_backend}, by ${providers[exposure.provider] || exposure.provider}.`;
  return [`You asked for ${exposure.requested_backend}.`, ...(vain.length > mostReasons ? [many] : tried), runs, exposure.fallback ? "That is a fallback." : ""].filter(Boolean).join(" ");
}

function attempts(exposure) {
  return el("table", {className: "plain"},
    el("thead", {}, el("tr", {}, ["Backend", "Provider", "Outcome", "Reason"].map((text) => el("th", {scope: "col"}, text)))),
    el("tbody", {}, exposure.attempts.map((each) => el("tr", {}, [each.backend, each.provider, each.outcome, each.reason].map((text) => el("td", {}, text))))));
}

// The CPU's memory is the machine's; what a GPU has in all is not known here.
function memoryText(memory, host) {
  return Object.entries(memory || {}).map(([device, held]) => {
    const all = held.weight_bytes + (held.kv_bytes || 0);
    const share = /cpu|host|avx|neon|scalar/i.test(device) ? ` (${percentText(all / host.total_bytes)} of the machine's ${bytesText(host.total_bytes)})` : "";
    return el("div", {}, `${device}: ${bytesText(held.weight_bytes)} of weights, ${held.kv_bytes ? bytesText(held.kv_bytes) : "an unknown amount"} of KV${share}`);
  });
}

export function loadedCard(model, host, opened, act) {
  const row = (name, value) => el("tr", {}, el("th", {scope: "row"}, name), el("td", {}, value));
  const can = Object.entries(model.capabilities).filter(([, has]) => has).map(([name]) => name.replace("supports_", "").replaceAll("_", " ")).join(", ");
  const {details} = model;
  return el("section", {className: "card", "aria-label": model.id},
    el("h2", {}, model.id, model.default ? el("span", {className: "good"}, " (default)") : ""),
    el("p", {}, exposureSentence(model.backend_exposure)),
    el("table", {className: "plain"}, el("tbody", {}, row("Architecture", details.architecture), row("Weights", details.quantization),
      row("Context", `${details.context.toLocaleString("en")} tokens`), row("KV", `${details.kv_dtype}, ${details.kv_tokens.toLocaleString("en")} tokens`),
      row("Memory", memoryText(details.memory, host)), row("Running, waiting", `${model.running}, ${model.queued}`))),
    el("details", {open: opened, "data-model": model.id}, el("summary", {}, "What was tried, and what it can do"), el("div", {className: "wide"}, attempts(model.backend_exposure)), el("p", {}, `It can: ${can}.`),
      el("p", {className: "quiet"}, model.path ?? "")),
    el("p", {className: "row"}, el("button", {type: "button", disabled: model.default, onclick: act.makeDefault}, "Make default"),
      el("button", {type: "button", className: "unload", onclick: act.unload}, "Unload")));
}

export function loadingCard(model) {
  const progress = Math.round(100 * model.progress);
  return el("section", {className: "card", "aria-label": model.id}, el("h2", {}, model.id),
    el("p", {}, `Loading for ${model.backend || model.requested_backend}: ${progress}% after ${Math.round(model.seconds)} s`),
    el("progress", {max: 1, value: model.progress, "aria-label": `Load of ${model.id}`}));
}

export function failedCard(model) {
  return el("section", {className: "card", "aria-label": model.id}, el("h2", {}, model.id), el("p", {className: "bad"}, model.error));
}

export function availableCard(model, load) {
  return el("section", {className: "card available", "aria-label": model.id}, el("h2", {}, model.id), el("p", {className: "quiet"}, model.path ?? ""),
    el("p", {}, "Not loaded. A request that names it loads it."), el("p", {}, el("button", {type: "button", className: "load", onclick: load}, "Load")));
}
