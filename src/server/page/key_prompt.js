// Asks for an API key where the server needs one.
import {apiKey} from "./api.js";
import {el, labelled} from "./dom.js";

export function watchForKeys(refresh) {
  let asked = null;
  document.addEventListener("key-needed", () => {
    if (asked) return;
    const input = el("input", {type: "password", autocomplete: "off"});
    const take = (event) => {
      event.preventDefault();
      apiKey.set(input.value.trim());
      asked.remove();
      asked = null;
      refresh();
    };
    asked = el("form", {className: "notice", id: "key-form", onsubmit: take}, el("p", {}, "The server needs an API key, or refuses the one it got. It is kept for this tab only."),
      labelled("API key", input), el("p", {}, el("button", {type: "submit", className: "primary"}, "Use this key")));
    document.getElementById("view").before(asked);
    input.focus();
  });
}
