// The page: views by the address's fragment, light and dark, whether the server answers.
import {el} from "./dom.js";
import {watchForKeys} from "./key_prompt.js";
import {startLive} from "./live.js";
import {ChatView} from "./views/chat.js";
import {EmbeddingsView} from "./views/embeddings.js";
import {LiveView} from "./views/live.js";
import {ModelsView} from "./views/models.js";

const views = {chat: ["Chat", new ChatView()], models: ["Models", new ModelsView()], live: ["Live", new LiveView()], embeddings: ["Embeddings", new EmbeddingsView()]};
const tabs = document.getElementById("tabs");
const root = document.getElementById("view");
let current = null;

function showView() {
  const name = location.hash.slice(1) in views ? location.hash.slice(1) : "chat";
  current?.hide();
  current = views[name][1];
  tabs.replaceChildren(...Object.entries(views).map(([each, [title]]) => el("a", {href: `#${each}`, "aria-current": each === name ? "page" : null}, title)));
  current.show(root);
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
window.addEventListener("hashchange", showView);
watchForKeys(showView);
showView();
startLive();
