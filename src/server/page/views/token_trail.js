// An answer's tokens, each coloured by its probability; the alternatives of the one that is pointed at or has the focus.
import {el, percentText} from "../dom.js";

const shownToken = (text) => text.replaceAll("\n", "⏎\n");
const likelyShare = 0.5;

function alternatives(entry) {
  const all = (entry.top_logprobs?.length ? entry.top_logprobs : [entry]).map((other) => `${JSON.stringify(other.token)} ${percentText(Math.exp(other.logprob))}`);
  return `${JSON.stringify(entry.token)} had ${percentText(Math.exp(entry.logprob))}. Likeliest: ${all.join(", ")}`;
}

export function tokenTrail(entries) {
  const note = el("p", {className: "quiet token-note", "aria-live": "polite"}, "Point at a token, or move to it with Tab and the arrow keys, to see its alternatives.");
  const spans = entries.map((entry, i) => {
    const share = Math.exp(entry.logprob);
    const hue = Math.round(120 * Math.min(1, share / likelyShare));
    const show = () => { note.textContent = alternatives(entry); };
    return el("span", {className: "token", tabIndex: i === 0 ? 0 : -1, onmouseenter: show, onfocus: show, style: {backgroundColor: `hsl(${hue} 75% 50% / 0.28)`}}, shownToken(entry.token));
  });
  const step = (event) => {
    const to = spans.indexOf(document.activeElement) + ({ArrowRight: 1, ArrowLeft: -1}[event.key] || 0);
    if (spans[to] && spans[to] !== document.activeElement) spans[to].focus();
  };
  return el("div", {}, el("p", {className: "tokens", onkeydown: step}, spans), note);
}
