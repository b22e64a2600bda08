// One message of a chat: its body, its branches and what can be done with it.
import {el} from "../dom.js";
import {markdown} from "../markdown.js";
import {tokenTrail} from "./token_trail.js";

// "<think>...</think>answer", also while it is still coming.
function splitReasoning(text) {
  const open = /^\s*<think>/.exec(text);
  if (!open) return ["", text];
  const end = text.indexOf("</think>");
  return end < 0 ? [text.slice(open[0].length), ""] : [text.slice(open[0].length, end), text.slice(end + 8).trimStart()];
}

function prettyArguments(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;  // not whole yet, or not JSON
  }
}

// A call, and while nothing has answered it a form for its result.
function toolCall(call, answer) {
  const result = el("textarea", {rows: 2, "aria-label": `Result of ${call.name}`});
  const submit = (event) => {
    event.preventDefault();
    answer(call, result.value);
  };
  return el("div", {className: "card tool-call"}, el("strong", {}, `Calls ${call.name}`), el("pre", {}, prettyArguments(call.arguments)),
    answer && !call.answered && el("form", {onsubmit: submit}, result, el("button", {type: "submit"}, "Give this result")));
}

export function answerBody(message, {probabilities, answerTool} = {}) {
  const out = [];
  const [thought, rest] = message.reasoning ? [message.reasoning, message.content] : splitReasoning(message.content);
  if (thought) out.push(el("details", {className: "reasoning"}, el("summary", {}, "Reasoning"), el("p", {className: "quiet"}, thought)));
  if (probabilities && message.logprobs?.length) out.push(tokenTrail(message.logprobs));
  else if (rest) out.push(markdown(rest));
  for (const call of message.toolCalls || []) out.push(toolCall(call, answerTool));
  if (message.note) out.push(el("p", {className: "quiet", role: "note"}, message.note));
  return out;
}

function branchButtons(siblings, at, show) {
  if (siblings.length < 2) return null;
  return el("span", {className: "row"}, el("button", {type: "button", "aria-label": "Previous branch", disabled: at === 0, onclick: () => show(siblings[at - 1])}, "‹"), `${at + 1} of ${siblings.length}`,
    el("button", {type: "button", "aria-label": "Next branch", disabled: at === siblings.length - 1, onclick: () => show(siblings[at + 1])}, "›"));
}

const speakers = {user: "You", assistant: "Model", tool: "Tool"};

// `act` has showBranch, edit, regenerate and answerTool.
export function messageElement(id, message, siblings, act, options) {
  const own = message.role === "user" || message.role === "tool";
  const body = el("div", {className: "body"}, own ? el("p", {className: "plain-text"}, message.content) : answerBody(message, {...options, answerTool: (call, result) => act.answerTool(id, call, result)}));
  const buttons = {user: () => el("button", {type: "button", onclick: () => act.edit(id)}, "Edit"), tool: () => null, assistant: () => [
    el("button", {type: "button", className: "regenerate", onclick: () => act.regenerate(id)}, "Regenerate"),
    el("button", {type: "button", onclick: () => navigator.clipboard.writeText(message.content)}, "Copy answer")]};
  return el("article", {className: `message ${message.role}`, "data-id": id}, el("div", {className: "who"}, speakers[message.role]), body,
    el("div", {className: "row quiet"}, buttons[message.role](), branchButtons(siblings, siblings.indexOf(id), act.showBranch), message.speed && el("span", {}, message.speed),
      message.requestId && el("a", {href: `#requests/${encodeURIComponent(message.requestId)}`}, "Timeline")));
}
