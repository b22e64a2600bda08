// The page: views by the address's fragment, light and dark, whether the server answers.
import {el} from "./dom.js";
import {KeyPrompt} from "./key_prompt.js";
import {startLive} from "./live.js";
import {ModelChoice} from "./model_choice.js";
import {ChatView} from "./views/chat.js";
import {EmbeddingsView} from "./views/embeddings.js";
import {LiveView} from "./views/live.js";
import {ModelsView} from "./views/models.js";
import {PlaygroundView} from "./views/playground.js";
import {RequestsView} from "./views/requests.js";

const views = {chat: ["Chat", new ChatView()], models: ["Models", new ModelsView()], live: ["Live", new LiveView()], requests: ["Requests", new RequestsView()],
  playground: ["Playground", new PlaygroundView()], embeddings: ["Embeddings", new EmbeddingsView()]};
const models = new ModelChoice();
const tabs = document.getElementById("tabs");
const root = document.getElementById("view");
let current = null;

// What a user typed into the address may be no encoding at all.
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function showView() {
  // "#requests/req_1" is the view "requests" of the request "req_1".
  const [wanted, ...rest] = location.hash.slice(1).split("/");
  const name = wanted in views ? wanted : "chat";
  current?.hide();
  current = views[name][1];
  tabs.replaceChildren(...Object.entries(views).map(([each, [title]]) => el("a", {href: `#${each}`, "aria-current": each === name ? "page" : null}, title)));
  current.show(root, decoded(rest.join("/")));
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  localStorage.setItem("inferflux-theme", theme);
}

const preferred = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
setTheme(localStorage.getItem("inferflux-theme") || preferred);
document.getElementById("theme").addEventListener("click", () => {
  setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
  showView();
});
document.addEventListener("server-state", (event) => {
  const status = document.getElementById("connection");
  const text = event.detail ? "Connected" : "The server does not answer";
  if (status.textContent === text) return;
  status.textContent = text;
  status.className = event.detail ? "good" : "bad";
});
document.getElementById("model-place").replaceWith(models.element);
function showAll() {
  models.refresh();
  showView();
}
window.addEventListener("hashchange", showView);
document.addEventListener("models-changed", () => models.refresh());
document.addEventListener("model-chosen", showView);
const keys = new KeyPrompt(showAll);
document.getElementById("key-place").replaceWith(keys.button);
keys.show();
showAll();
startLive();
