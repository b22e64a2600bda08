// Sampling settings. Names, ranges and defaults come from the server: this page repeats none of them.
import {getJson} from "./api.js";
import {el, labelled} from "./dom.js";

export class SamplingPanel {
  constructor() {
    this.element = el("details", {className: "sampling"}, el("summary", {}, "Sampling"));
    this.inputs = new Map();
    this.limit = el("input", {type: "number", min: 1, step: 1, placeholder: "what fits"});
    this.element.append(...labelled("max_tokens", this.limit));
  }

  // Again until it has succeeded: the server may be away, or need a key first.
  async load() {
    if (this.inputs.size > 0) return;
    try {
      const {data} = await getJson("/v1/sampling_parameters");
      if (this.inputs.size === 0) data.forEach((row) => this.add(row));
    } catch { /* without ranges the API's own defaults hold */ }
  }

  add(row) {
    if (row.type !== "number" && row.type !== "integer") return;
    const input = el("input", {type: "number", min: row.minimum, max: row.maximum, step: row.type === "integer" ? 1 : "any", placeholder: row.default === null ? "" : String(row.default)});
    this.inputs.set(row.name, input);
    const help = el("p", {className: "quiet help", id: `help-${row.name}`}, `${row.description[0].toUpperCase()}${row.description.slice(1)}. From ${row.minimum} to ${row.maximum}.`);
    input.setAttribute("aria-describedby", help.id);
    this.element.append(...labelled(row.name, input), help);
  }

  // What the user set; the server's defaults hold for the rest. Throws what is out of range.
  values() {
    const out = {};
    for (const [name, input] of [...this.inputs, ["max_tokens", this.limit]]) {
      if (!input.checkValidity()) throw new Error(`${name}: ${input.validationMessage}`);
      if (input.value !== "") out[name] = Number(input.value);
    }
    return out;
  }
}
