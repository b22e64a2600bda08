// The tables of next tokens in the playground.
import {el, percentText} from "../dom.js";

// A token's text with what cannot be seen made visible.
function visibleToken(token) {
  const text = JSON.stringify(token).slice(1, -1).replaceAll('\\"', '"');
  return el("code", {className: "token-text"}, text.replace(/^ /, "␣").replace(/ $/, "␣"));
}

function probabilityBar(share) {
  return el("td", {className: "bar"}, el("div", {style: {width: `${(100 * share).toFixed(1)}%`}, "aria-hidden": "true"}), el("span", {}, percentText(share)));
}

function tokenTable(heads, rows) {
  return el("table", {className: "plain tokens"}, el("thead", {}, el("tr", {}, heads.map((text) => el("th", {scope: "col"}, text)))), el("tbody", {}, rows));
}

export function allowedTable(tokens, append) {
  // Bytes that are not text alone cannot be typed.
  const typed = (token) => (token.token.includes("\uFFFD") ? visibleToken(token.token)
    : el("button", {type: "button", className: "plain-button", title: "Continue with this token", onclick: () => append(token.token)}, visibleToken(token.token)));
  return tokenTable(["Token", "Under the constraint", "Without it"], tokens.map((token) => el("tr", {}, el("td", {}, typed(token)), probabilityBar(token.constrained_probability),
    el("td", {}, percentText(token.probability)))));
}

export function unconstrainedTable(tokens) {
  return tokenTable(["Token", "Probability", "Allowed"], tokens.map((token) => el("tr", {className: token.allowed ? "" : "refused"}, el("td", {}, visibleToken(token.token)),
    probabilityBar(token.probability), el("td", {}, token.allowed ? el("span", {className: "good"}, "yes") : el("span", {className: "bad"}, "no")))));
}
