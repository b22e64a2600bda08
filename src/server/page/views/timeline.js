// One request's timeline: a bar of its phases, and the same as a table.
import {el, secondsText} from "../dom.js";

const phaseNames = {queued: "queued", prefill: "prefill", decode: "decode", waiting: "left out of steps", preempted: "preempted"};

function phaseBar(phase, whole) {
  const left = (100 * phase.begin) / whole;
  const width = Math.max((100 * (phase.end - phase.begin)) / whole, 0.3);  // a short phase stays visible
  return el("div", {className: `phase ${phase.kind}`, title: `${phaseNames[phase.kind]}: ${secondsText(phase.end - phase.begin)}`, style: {left: `${left}%`, width: `${Math.min(width, 100 - left)}%`}});
}

function phaseRow(phase) {
  const tokens = phase.kind === "prefill" || phase.kind === "decode" ? String(phase.tokens) : "";
  return el("tr", {}, el("th", {scope: "row"}, el("span", {className: `key ${phase.kind}`, "aria-hidden": "true"}), phaseNames[phase.kind]), el("td", {}, secondsText(phase.begin)),
    el("td", {}, secondsText(phase.end - phase.begin)), el("td", {}, tokens), el("td", {}, phase.steps ? String(phase.steps) : ""));
}

export function timelineCard(request, suffix) {
  const whole = Math.max(request.seconds, 1e-6);
  const heads = ["Phase", "Begins after", "Takes", "Tokens", "Steps"];
  return el("section", {className: "card wide", "aria-label": `Timeline of ${request.id}${suffix}`}, el("h2", {}, `${request.id}${suffix}`),
    el("p", {}, `${request.model}: ${request.outcome} after ${secondsText(request.seconds)}; ${request.prompt_tokens} tokens of prompt (${request.cached_tokens} cached), ${request.completion_tokens} of answer.`),
    el("div", {className: "timeline", "aria-hidden": "true"}, request.phases.map((phase) => phaseBar(phase, whole))),
    el("table", {className: "plain"}, el("thead", {}, el("tr", {}, heads.map((text) => el("th", {scope: "col"}, text)))), el("tbody", {}, request.phases.map(phaseRow))));
}
