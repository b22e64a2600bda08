// Asks for an API key where the server needs one, and shows what the key's scopes allow.
import {apiKey, getJson} from "./api.js";
import {el, labelled} from "./dom.js";

export class KeyPrompt {
  // `refresh` is called when the key has changed.
  constructor(refresh) {
    this.refresh = refresh;
    this.form = null;
    this.button = el("button", {type: "button", id: "key", hidden: true, "aria-expanded": "false", "aria-controls": "key-facts", onclick: () => this.toggle()}, "Key");
    this.facts = el("section", {id: "key-facts", className: "notice", hidden: true, "aria-label": "API key"});
    document.getElementById("view").before(this.facts);
    document.addEventListener("key-needed", () => this.ask());
  }

  // The button is there where the server needs keys.
  async show() {
    let key;
    try {
      key = await getJson("/v1/key");
    } catch (failure) {
      this.button.hidden = failure.status !== 401;
      this.facts.hidden = true;
      return;
    }
    this.button.hidden = !key.required;
    this.facts.replaceChildren(el("p", {}, "This key is kept for this tab only. It may:"), el("ul", {}, key.scopes.map((scope) => el("li", {}, el("strong", {}, scope.name), `: ${scope.allows}`))),
      el("p", {className: "row"}, el("button", {type: "button", onclick: () => this.change("")}, "Forget the key")));
  }

  toggle() {
    this.facts.hidden = !this.facts.hidden;
    this.button.setAttribute("aria-expanded", String(!this.facts.hidden));
  }

  change(key) {
    apiKey.set(key);
    this.form?.remove();
    this.form = null;
    this.facts.hidden = true;
    this.show();
    this.refresh();
  }

  ask() {
    if (this.form) return;
    const input = el("input", {type: "password", autocomplete: "off"});
    const take = (event) => {
      event.preventDefault();
      this.change(input.value.trim());
    };
    this.form = el("form", {className: "notice", id: "key-form", onsubmit: take},
      el("p", {role: "alert"}, "The server needs an API key, or refuses the one it got. It is kept for this tab only."), labelled("API key", input),
      el("p", {}, el("button", {type: "submit", className: "primary"}, "Use this key")));
    document.getElementById("view").before(this.form);
    input.focus();
  }
}
