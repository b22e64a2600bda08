// Models: what is loaded and what could be, on which backend each runs and why, and memory; load, unload, default.
import {events, getJson, sendJson} from "../api.js";
import {el, labelled} from "../dom.js";
import {memoryCard} from "./memory_card.js";
import {availableCard, failedCard, loadedCard, loadingCard} from "./model_cards.js";

const modelRefresh = 2000;  // milliseconds

export class ModelsView {
  constructor() {
    this.cards = el("div", {id: "models"});
    this.available = el("div", {id: "available"});
    this.memory = el("div", {id: "memory"});
    this.problem = el("p", {className: "bad", role: "alert", hidden: true});
    this.path = el("input", {type: "text", placeholder: "/path/to/model.gguf", spellcheck: false});
    this.name = el("input", {type: "text", placeholder: "chosen by the file's name"});
    this.backend = el("input", {type: "text", placeholder: "auto", spellcheck: false});
    this.bar = el("progress", {max: 1, value: 0, hidden: true, "aria-label": "Load progress"});
  }

  show(root) {
    const submit = (event) => {
      event.preventDefault();
      const body = {path: this.path.value.trim()};
      if (this.name.value) body.id = this.name.value;
      if (this.backend.value) body.backend = this.backend.value;
      this.load(body);
    };
    root.replaceChildren(this.problem, this.bar, el("div", {className: "halves"}, el("div", {}, this.cards, this.available), el("div", {}, this.memory, el("form", {className: "card", "aria-label": "Load a model", onsubmit: submit},
      el("h2", {}, "Load a model"), labelled("File or directory on the server", this.path), labelled("Id", this.name), labelled("Backend", this.backend),
      el("p", {}, el("button", {type: "submit", className: "primary"}, "Load"))))));
    this.refresh();
    this.timer = setInterval(() => this.refresh(), modelRefresh);
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
    document.dispatchEvent(new Event("models-changed"));
    await this.refresh();
  }

  async refresh() {
    let shown;
    try {
      shown = await Promise.all([getJson("/v1/admin/models"), getJson("/v1/models"), getJson("/v1/admin/memory")]);
    } catch (failure) {
      this.cards.replaceChildren(el("p", {className: "bad"}, failure.message));
      return;
    }
    const [{data: known}, {data: all}, memory] = shown;
    this.memory.replaceChildren(memoryCard(known.filter((model) => model.state === "ready"), memory));
    // What has the focus would lose it: cards are drawn anew only if they have changed.
    const text = JSON.stringify([known, all]);
    if (text === this.drawn) return;
    this.drawn = text;
    const open = new Set([...this.cards.querySelectorAll("details[open]")].map((each) => each.dataset.model));
    const draw = {ready: (model) => loadedCard(model, memory.host, open.has(model.id), {unload: () => this.unload(model.id), makeDefault: () => this.makeDefault(model.id)}),
      loading: loadingCard, failed: failedCard};
    this.cards.replaceChildren(...(known.length ? known.map((model) => draw[model.state](model)) : [el("p", {}, "No model is loaded.")]));
    const loadable = all.filter((model) => model.status.value === "unloaded");
    this.available.replaceChildren(...loadable.map((model) => availableCard(model, () => this.load({id: model.id}))));
  }

  unload(id) {
    return this.attempt(() => sendJson("DELETE", `/v1/admin/models/${encodeURIComponent(id)}`));
  }

  makeDefault(id) {
    return this.attempt(() => sendJson("PUT", "/v1/admin/models/default", {id}));
  }

  load(body) {
    return this.attempt(async () => {
      this.bar.hidden = false;
      try {
        for await (const event of events("/v1/admin/models", {...body, stream: true})) {
          if (event.error) throw new Error(event.error.message);
          this.bar.value = event.state === "loading" ? event.progress : 1;
        }
      } finally {
        this.bar.hidden = true;
      }
    });
  }
}
