// Sampling settings. Names, ranges and defaults come from the server: this page repeats none of them.
import {getJson} from "./api.js";
import {el, labelled} from "./dom.js";

export class SamplingPanel {
  constructor() {
    this.element = el("details", {}, el("summary", {}, "Sampling"));
    this.inputs = new Map();
    this.limit = el("input", {type: "number", min: 1, step: 1});
    this.element.append(...labelled("max_tokens", this.limit));
    this.load();
  }

  async load() {
    try {
      const {data} = await getJson("/v1/sampling_parameters");
      for (const row of data) this.add(row);
    } catch { /* without ranges the API's own defaults hold */ }
  }

  add(row) {
    if (row.type !== "number" && row.type !== "integer") return;
    const input = el("input", {type: "number", min: row.minimum, max: row.maximum, step: row.type === "integer" ? 1 : "any",
      placeholder: row.default === null ? "" : String(row.default), title: row.description || ""});
    this.inputs.set(row.name, input);
    this.element.append(...labelled(row.name, input));
  }

  // What the user set; the server's defaults hold for the rest.
  values() {
    const out = {};
    for (const [name, input] of this.inputs) if (input.value !== "") out[name] = Number(input.value);
    if (this.limit.value !== "") out.max_tokens = Number(this.limit.value);
    return out;
  }
}
