// Playground for structured output: a constraint beside the text so far, and what may come next.
import {sendJson} from "../api.js";
import {el, labelled, percentText} from "../dom.js";
import {chosenModel} from "../model_choice.js";
import {allowedTable, unconstrainedTable} from "./playground_tables.js";

const personSchema = `{
  "type": "object",
  "properties": {
    "name": {"type": "string", "maxLength": 20},
    "age": {"type": "integer", "minimum": 0, "maximum": 130},
    "mood": {"enum": ["good", "bad"]}
  },
  "required": ["name", "age", "mood"],
  "additionalProperties": false
}`;

// Each kind: its name, an example, and the request's field.
const constraintKinds = {
  schema: ["JSON schema", personSchema, (source) => ({structured_outputs: {json: source}})],
  regex: ["Regular expression", "(yes|no), (19|20)[0-9]{2}", (source) => ({structured_outputs: {regex: source}})],
  grammar: ["Grammar (GBNF)", 'root ::= "I am " ("fine" | "well") [.!]', (source) => ({structured_outputs: {grammar: source}})],
  json: ["Any JSON object", "", () => ({response_format: {type: "json_object"}})],
  none: ["No constraint", "", () => ({})],
};
const typingPause = 400;  // milliseconds without a key until the server is asked

export class PlaygroundView {
  constructor() {
    const later = () => { clearTimeout(this.timer); this.timer = setTimeout(() => this.ask(), typingPause); };
    this.kind = el("select", {onchange: () => this.choose()}, Object.entries(constraintKinds).map(([value, [title]]) => el("option", {value}, title)));
    this.source = el("textarea", {rows: 12, className: "code", spellcheck: false, oninput: later});
    this.question = el("textarea", {rows: 2, value: "Tell me about somebody.", oninput: later});
    this.prefix = el("textarea", {rows: 4, className: "code", spellcheck: false, oninput: later});
    this.result = el("div", {id: "next-tokens", "aria-live": "polite"});
    this.asked = 0;
    this.choose(false);
  }

  show(root) {
    root.replaceChildren(el("div", {className: "halves"},
      el("section", {className: "card", "aria-label": "Constraint"}, el("h2", {}, "Constraint and text"), labelled("Kind", this.kind), labelled("Source", this.source),
        labelled("Question", this.question), labelled("The answer so far", this.prefix),
        el("p", {className: "row"}, el("button", {type: "button", className: "primary", onclick: () => this.ask()}, "What may come next?"),
          el("button", {type: "button", onclick: () => { this.prefix.value = ""; this.ask(); }}, "Start again"))),
      el("section", {className: "card", "aria-label": "Next token"}, el("h2", {}, "What may come next"), this.result)));
    this.ask();
  }

  hide() { clearTimeout(this.timer); }

  choose(asks = true) {
    const [, example] = constraintKinds[this.kind.value];
    this.source.value = example;
    this.source.disabled = example === "";
    this.prefix.value = "";
    if (asks) this.ask();
  }

  body() {
    return {model: chosenModel(), messages: [{role: "user", content: this.question.value || " "}], prefix: this.prefix.value, ...constraintKinds[this.kind.value][2](this.source.value)};
  }

  append(token) {
    this.prefix.value += token;
    this.ask();
  }

  // Only the answer to the last question is shown.
  async ask() {
    clearTimeout(this.timer);
    const number = ++this.asked;
    let parts;
    try {
      parts = this.describe(await sendJson("POST", "/v1/next_tokens", this.body()));
    } catch (failure) {
      parts = [el("p", {className: "bad", role: "alert"}, failure.message)];
    }
    if (number === this.asked) this.result.replaceChildren(...parts);
  }

  describe(next) {
    const count = next.allowed.toLocaleString("en");
    const all = next.vocabulary.toLocaleString("en");
    const share = `The model gives them ${percentText(next.allowed_probability)} of its probability.`;
    return [el("p", {id: "next-summary"}, `${count} of ${all} tokens may come next. ${share}`, next.may_end ? " The text may end here." : ""),
      el("h3", {}, "The likeliest allowed tokens"), allowedTable(next.top, (token) => this.append(token)),
      el("h3", {}, "What the model would say by itself"), unconstrainedTable(next.unconstrained)];
  }
}
