// The model that this tab talks to: the server's default, or one by name.
import {getJson} from "./api.js";
import {el} from "./dom.js";

const chosenName = "inferflux-model";
const defaultModel = "default";

export const chosenModel = () => sessionStorage.getItem(chosenName) || defaultModel;

export class ModelChoice {
  constructor() {
    this.element = el("select", {id: "model", "aria-label": "Model", onchange: () => {
      sessionStorage.setItem(chosenName, this.element.value);
      document.dispatchEvent(new Event("model-chosen"));
    }});
    this.fill([]);
  }

  async refresh() {
    try {
      this.fill((await getJson("/v1/models")).data.map((model) => model.id));
    } catch { /* without a list the default remains */ }
  }

  fill(ids) {
    const kept = chosenModel();
    const all = [defaultModel, ...ids.filter((id) => id !== defaultModel)];
    // A model that is gone stays chosen until the user says otherwise: a request then tells that it is gone.
    if (!all.includes(kept)) all.push(kept);
    this.element.replaceChildren(...all.map((id) => el("option", {value: id, selected: id === kept}, id === defaultModel ? "Default model" : id)));
  }
}
