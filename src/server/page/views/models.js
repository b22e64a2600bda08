// Models: what is loaded, on which backend it really runs and why, its memory; load, unload, default.
import {events, getJson, sendJson} from "../api.js";
import {bytesText, el, labelled} from "../dom.js";

function exposureSentence(exposure) {
  const asked = `Asked for ${exposure.requested_backend}; runs on ${exposure.exposed_backend}, by ${exposure.provider === "native" ? "our own engine" : "llama.cpp"}.`;
  return exposure.fallback ? `${asked} This is a fallback: ${exposure.fallback_reason}` : asked;
}

function attempts(exposure) {
  return el("table", {className: "plain"},
    el("thead", {}, el("tr", {}, ["Backend", "Provider", "Outcome", "Reason"].map((text) => el("th", {scope: "col"}, text)))),
    el("tbody", {}, exposure.attempts.map((each) => el("tr", {}, [each.backend, each.provider, each.outcome, each.reason].map((text) => el("td", {}, text))))));
}

export class ModelsView {
  constructor() {
    this.cards = el("div", {className: "grid", id: "models"});
    this.problem = el("p", {className: "bad", role: "alert", hidden: true});
    this.path = el("input", {type: "text", size: 40, placeholder: "/path/to/model.gguf"});
    this.name = el("input", {type: "text", placeholder: "its id"});
    this.backend = el("input", {type: "text", placeholder: "auto"});
    this.bar = el("progress", {max: 1, value: 0, hidden: true, "aria-label": "Load progress"});
  }

  show(root) {
    root.replaceChildren(this.problem, this.cards, el("section", {className: "card", "aria-label": "Load a model"}, el("h2", {}, "Load a model"),
      labelled("File or directory on the server", this.path), labelled("Id", this.name), labelled("Backend", this.backend), this.bar,
      el("p", {}, el("button", {type: "button", className: "primary", onclick: () => this.load()}, "Load"))));
    this.refresh();
    this.timer = setInterval(() => this.refresh(), 2000);
  }

  hide() { clearInterval(this.timer); }

  async attempt(work) {
    this.problem.hidden = true;
    try {
      await work();
    } catch (failure) {
      this.problem.textContent = failure.message;
      this.problem.hidden = false;
    }
  }

  async refresh() {
    try {
      const {data} = await getJson("/v1/admin/models");
      this.cards.replaceChildren(...(data.length ? data.map((model) => this.card(model)) : [el("p", {}, "No model is loaded.")]));
    } catch (failure) {
      this.cards.replaceChildren(el("p", {className: "bad"}, failure.message));
    }
  }

  card(model) {
    if (model.state === "loading") {
      return el("section", {className: "card"}, el("h2", {}, model.id), el("p", {}, `Loading, ${Math.round(100 * model.progress)}%`),
        el("progress", {max: 1, value: model.progress}));
    }
    if (model.state === "failed") {
      return el("section", {className: "card", "aria-label": model.id}, el("h2", {}, model.id), el("p", {className: "bad"}, model.error));
    }
    const memory = Object.entries(model.details.memory || {}).map(([device, held]) =>
      `${device}: ${bytesText(held.weight_bytes)} of weights, ${bytesText(held.kv_bytes)} of KV`);
    const row = (name, value) => el("tr", {}, el("th", {scope: "row"}, name), el("td", {}, value));
    const can = Object.entries(model.capabilities).filter(([, has]) => has).map(([name]) => name.replace("supports_", "")).join(", ");
    return el("section", {className: "card", "aria-label": model.id},
      el("h2", {}, model.id, model.default ? el("span", {className: "good"}, " (default)") : ""),
      el("p", {}, exposureSentence(model.backend_exposure)), el("details", {}, el("summary", {}, "What was tried"), attempts(model.backend_exposure)),
      el("table", {className: "plain"}, el("tbody", {}, row("Architecture", model.details.architecture), row("Weights", model.details.quantization),
        row("Context", String(model.details.context)), row("Memory", memory.join("; ")), row("Running, queued", `${model.running}, ${model.queued}`), row("Can", can))),
      el("p", {className: "row"},
        el("button", {type: "button", disabled: model.default, onclick: () => this.attempt(async () => { await sendJson("PUT", "/v1/admin/models/default", {id: model.id}); await this.refresh(); })}, "Make default"),
        el("button", {type: "button", className: "unload", onclick: () => this.attempt(async () => { await sendJson("DELETE", `/v1/admin/models/${encodeURIComponent(model.id)}`); await this.refresh(); })}, "Unload")));
  }

  load() {
    return this.attempt(async () => {
      const body = {path: this.path.value, stream: true};
      if (this.name.value) body.id = this.name.value;
      if (this.backend.value) body.backend = this.backend.value;
      this.bar.hidden = false;
      try {
        for await (const event of events("/v1/admin/models", body)) {
          if (event.error) throw new Error(event.error.message);
          this.bar.value = event.state === "loading" ? event.progress : 1;
        }
      } finally {
        this.bar.hidden = true;
        await this.refresh();
      }
    });
  }
}
