// Chat: conversations, streaming, reasoning, tool calls, log probabilities, branches.
import {apiKey, events} from "../api.js";
import {addMessage, conversations, newConversation, removeConversation, saveConversations, shownPath, showBranch, siblings} from "../conversations.js";
import {download, el, labelled} from "../dom.js";
import {asCurl, asMarkdown, asPython} from "../export.js";
import {markdown} from "../markdown.js";
import {SamplingPanel} from "../sampling_panel.js";

// "<think>...</think>answer", also while it is still coming.
function splitReasoning(text) {
  const open = /^\s*<think>/.exec(text);
  if (!open) return ["", text];
  const end = text.indexOf("</think>");
  return end < 0 ? [text.slice(open[0].length), ""] : [text.slice(open[0].length, end), text.slice(end + 8).trimStart()];
}

function tokenSpan(entry) {
  const probability = Math.exp(entry.logprob);
  const others = (entry.top_logprobs || []).map((other) => `${JSON.stringify(other.token)} ${(100 * Math.exp(other.logprob)).toFixed(1)}%`);
  return el("span", {className: "token", title: [`${(100 * probability).toFixed(1)}%`, ...others].join("\n"), tabIndex: 0,
    style: {backgroundColor: `hsl(${Math.round(120 * probability)} 70% 50% / 0.3)`}}, entry.token);
}

function answerBody(message, withProbabilities) {
  const out = [];
  const [thought, rest] = message.reasoning ? [message.reasoning, message.content] : splitReasoning(message.content);
  if (thought) out.push(el("details", {}, el("summary", {}, "Reasoning"), el("p", {className: "quiet"}, thought)));
  if (withProbabilities && message.logprobs?.length) out.push(el("p", {}, message.logprobs.map(tokenSpan)));
  else out.push(markdown(rest));
  for (const call of message.toolCalls || []) {
    out.push(el("div", {className: "card"}, el("strong", {}, `Calls ${call.name}`), el("pre", {}, call.arguments)));
  }
  if (message.note) out.push(el("p", {className: "quiet", role: "note"}, message.note));
  return out;
}

export class ChatView {
  constructor() {
    this.conversation = conversations()[0] || newConversation();
    this.abort = null;
    this.sampling = new SamplingPanel();
    this.probabilities = el("input", {type: "checkbox", onchange: () => this.showMessages()});
    this.tools = el("textarea", {rows: 3, placeholder: "[{\"type\": \"function\", …}]", spellcheck: false});
    this.system = el("textarea", {rows: 3, onchange: () => this.store(() => (this.conversation.system = this.system.value))});
    this.input = el("textarea", {rows: 3, placeholder: "Write a message. Ctrl+Enter sends.", onkeydown: (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.submit();
    }});
    this.send = el("button", {type: "button", className: "primary", id: "send", onclick: () => this.submit()}, "Send");
    this.stop = el("button", {type: "button", id: "stop", disabled: true, onclick: () => this.abort?.abort()}, "Stop");
    this.problem = el("p", {className: "bad", role: "alert", hidden: true});
    this.list = el("ul", {className: "list"});
    this.messages = el("div", {"aria-live": "polite", id: "messages"});
    this.code = el("pre", {hidden: true, id: "request-code"});
  }

  show(root) {
    root.replaceChildren(el("div", {className: "columns"},
      el("aside", {"aria-label": "Conversations"},
        el("button", {type: "button", onclick: () => this.open(newConversation())}, "New chat"), this.list),
      el("section", {"aria-label": "Chat"}, this.messages, this.problem,
        el("div", {className: "composer"}, labelled("Message", this.input), el("div", {className: "row"}, this.send, this.stop,
          el("button", {type: "button", onclick: () => this.showCode(asCurl)}, "curl"),
          el("button", {type: "button", onclick: () => this.showCode((path, body, key) => asPython(body, key))}, "Python")), this.code)),
      el("aside", {"aria-label": "Settings"}, labelled("System prompt", this.system), labelled("Tools (JSON)", this.tools),
        labelled("Show log probabilities", this.probabilities), this.sampling.element,
        el("div", {className: "row"},
          el("button", {type: "button", onclick: () => download("chat.md", "text/markdown", asMarkdown(this.conversation))}, "Export Markdown"),
          el("button", {type: "button", onclick: () => download("chat.json", "application/json", JSON.stringify(this.conversation, null, 2))}, "Export JSON"),
          el("button", {type: "button", onclick: () => this.remove()}, "Delete chat")))));
    this.open(this.conversation);
  }

  hide() {}

  store(change) {
    change();
    saveConversations();
  }

  open(conversation) {
    this.conversation = conversation;
    this.system.value = conversation.system;
    this.list.replaceChildren(...conversations().map((each) => el("li", {},
      el("button", {type: "button", "aria-current": String(each === conversation), onclick: () => this.open(each)}, each.title))));
    this.showMessages();
  }

  remove() {
    this.abort?.abort();
    removeConversation(this.conversation.id);
    this.open(conversations()[0] || newConversation());
  }

  showMessages() {
    this.messages.replaceChildren(...shownPath(this.conversation).map(([id, message]) => this.messageElement(id, message)));
  }

  messageElement(id, message) {
    const all = siblings(this.conversation, id);
    const at = all.indexOf(id);
    const turn = (to) => () => this.store(() => { showBranch(this.conversation, all[to]); this.showMessages(); });
    const branches = all.length > 1 && el("span", {className: "row"},
      el("button", {type: "button", "aria-label": "Previous branch", disabled: at === 0, onclick: turn(at - 1)}, "‹"), `${at + 1} of ${all.length}`,
      el("button", {type: "button", "aria-label": "Next branch", disabled: at === all.length - 1, onclick: turn(at + 1)}, "›"));
    const act = message.role === "user"
      ? el("button", {type: "button", onclick: () => this.edit(id)}, "Edit")
      : el("button", {type: "button", className: "regenerate", onclick: () => this.generate(message.parent)}, "Regenerate");
    const body = el("div", {className: "body"}, message.role === "user" ? el("p", {style: {whiteSpace: "pre-wrap"}}, message.content)
      : answerBody(message, this.probabilities.checked));
    return el("article", {className: `message ${message.role}`, "data-id": id}, el("div", {className: "who"}, message.role), body,
      el("div", {className: "row quiet"}, act, branches, message.speed));
  }

  edit(id) {
    const message = this.conversation.nodes[id];
    this.input.value = message.content;
    this.conversation.leaf = message.parent;
    this.showMessages();
    this.input.focus();
  }

  submit() {
    const text = this.input.value.trim();
    if (!text || this.abort) return;
    this.input.value = "";
    if (Object.keys(this.conversation.nodes).length === 0) this.conversation.title = text.slice(0, 60);
    this.generate(addMessage(this.conversation, this.conversation.leaf, {role: "user", content: text}));
    this.open(this.conversation);
  }

  request(upTo) {
    const saved = this.conversation.leaf;
    this.conversation.leaf = upTo;
    const messages = shownPath(this.conversation).map(([, message]) => ({role: message.role, content: message.content}));
    this.conversation.leaf = saved;
    if (this.system.value.trim()) messages.unshift({role: "system", content: this.system.value});
    const body = {model: "default", messages, ...this.sampling.values()};
    if (this.probabilities.checked) Object.assign(body, {logprobs: true, top_logprobs: 5});
    if (this.tools.value.trim()) body.tools = JSON.parse(this.tools.value);
    return body;
  }

  showCode(make) {
    try {
      this.code.textContent = make("/v1/chat/completions", this.request(this.conversation.leaf), Boolean(apiKey.get()));
      this.code.hidden = false;
    } catch (failure) {
      this.fail(failure);
    }
  }

  fail(failure) {
    this.problem.textContent = failure.message;
    this.problem.hidden = false;
  }

  // Answers the message `parent` in a branch of its own.
  async generate(parent) {
    if (this.abort) return;
    let body;
    try {
      body = {...this.request(parent), stream: true, stream_options: {include_usage: true}};
    } catch (failure) {
      this.fail(failure);
      return;
    }
    this.problem.hidden = true;
    const id = addMessage(this.conversation, parent, {role: "assistant", content: ""});
    const message = this.conversation.nodes[id];
    this.abort = new AbortController();
    this.send.disabled = true;
    this.stop.disabled = false;
    this.showMessages();
    const element = () => this.messages.querySelector(`[data-id="${id}"] .body`);
    element()?.classList.add("typing");
    const began = performance.now();
    try {
      for await (const event of events("/v1/chat/completions", body, this.abort.signal)) {
        if (event.error) throw new Error(event.error.message);
        this.take(message, event, began);
        element()?.replaceChildren(...answerBody(message, this.probabilities.checked));
      }
    } catch (failure) {
      if (failure.name !== "AbortError") this.fail(failure);
      else message.note = "Stopped.";
    } finally {
      this.abort = null;
      this.send.disabled = false;
      this.stop.disabled = true;
      if (!message.content && !message.toolCalls && !message.note) {
        delete this.conversation.nodes[id];
        this.conversation.leaf = parent;
      }
      saveConversations();
      this.open(this.conversation);
    }
  }

  take(message, event, began) {
    const choice = event.choices[0];
    if (event.usage) {
      const seconds = (performance.now() - began) / 1000;
      message.speed = `${event.usage.completion_tokens} tokens, ${(event.usage.completion_tokens / seconds).toFixed(1)} a second`;
    }
    if (!choice) return;
    message.content += choice.delta.content || "";
    if (choice.delta.reasoning_content) message.reasoning = (message.reasoning || "") + choice.delta.reasoning_content;
    for (const part of choice.delta.tool_calls || []) {
      message.toolCalls ||= [];
      const call = (message.toolCalls[part.index] ||= {name: "", arguments: ""});
      call.name += part.function?.name || "";
      call.arguments += part.function?.arguments || "";
    }
    if (choice.logprobs?.content) (message.logprobs ||= []).push(...choice.logprobs.content);
    if (choice.finish_reason === "length") message.note = "Cut at the token limit.";
  }
}
