// Chat: conversations, streaming, branches, and the settings of a request.
import {apiKey, events} from "../api.js";
import {addMessage, conversations, newConversation, removeConversation, saveConversations, shownPath, showBranch, siblings} from "../conversations.js";
import {download, el, labelled} from "../dom.js";
import {asCurl, asMarkdown, asPython} from "../export.js";
import {chosenModel} from "../model_choice.js";
import {SamplingPanel} from "../sampling_panel.js";
import {answerBody, messageElement} from "./chat_message.js";
import {messagesOf, takeEvent} from "./chat_protocol.js";

const chatPath = "/v1/chat/completions";

export class ChatView {
  constructor() {
    this.conversation = conversations()[0] || newConversation();
    this.abort = null;
    this.sampling = new SamplingPanel();
    this.probabilities = el("input", {type: "checkbox", onchange: () => this.showMessages()});
    this.tools = el("textarea", {rows: 3, placeholder: "[{\"type\": \"function\", …}]", spellcheck: false});
    this.system = el("textarea", {rows: 3, onchange: () => { this.conversation.system = this.system.value; saveConversations(); }});
    this.input = el("textarea", {rows: 3, placeholder: "Write a message. Ctrl+Enter sends.", onkeydown: (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.submit();
    }});
    this.send = el("button", {type: "button", className: "primary", id: "send", onclick: () => this.submit()}, "Send");
    this.stop = el("button", {type: "button", id: "stop", disabled: true, onclick: () => this.abort?.abort()}, "Stop");
    this.problem = el("p", {className: "bad", role: "alert", hidden: true});
    this.list = el("ul", {className: "list"});
    this.messages = el("div", {"aria-live": "polite", id: "messages"});
    this.code = el("pre", {hidden: true, id: "request-code", tabIndex: 0});
    this.actions = {edit: (id) => this.edit(id), regenerate: (id) => this.generate(this.conversation.nodes[id].parent), answerTool: (id, call, result) => this.answerTool(id, call, result),
      showBranch: (id) => { showBranch(this.conversation, id); saveConversations(); this.showMessages(); }};
  }

  show(root) {
    const button = (text, onclick) => el("button", {type: "button", onclick}, text);
    root.replaceChildren(el("div", {className: "columns"},
      el("aside", {"aria-label": "Conversations"}, button("New chat", () => this.open(newConversation())), this.list),
      this.section = el("section", {"aria-label": "Chat"}, this.messages, this.problem,
        el("div", {className: "composer"}, labelled("Message", this.input), el("div", {className: "row"}, this.send, this.stop,
          button("Request as curl", () => this.showCode(asCurl)), button("Request as Python", () => this.showCode((path, body, key) => asPython(body, key)))), this.code)),
      el("aside", {"aria-label": "Settings"}, labelled("System prompt", this.system), labelled("Tools (JSON)", this.tools),
        el("div", {className: "row check"}, labelled("Show log probabilities", this.probabilities).reverse()), this.sampling.element,
        el("div", {className: "row"}, button("Export Markdown", () => download("chat.md", "text/markdown", asMarkdown(this.conversation))),
          button("Export JSON", () => download("chat.json", "application/json", JSON.stringify(this.conversation, null, 2))), button("Delete chat", () => this.remove())))));
    this.sampling.load();
    this.open(this.conversation);
  }

  hide() {}

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
    const path = shownPath(this.conversation);
    const options = {probabilities: this.probabilities.checked};
    this.messages.replaceChildren(...(path.length ? path.map(([id, message]) => messageElement(id, message, siblings(this.conversation, id), this.actions, options))
      : [el("p", {className: "quiet empty"}, "Ask something. The conversation stays in this browser.")]));
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

  // The model goes on once each of its calls has a result.
  answerTool(id, call, result) {
    if (this.abort) return;
    call.answered = true;
    const last = addMessage(this.conversation, this.conversation.leaf, {role: "tool", content: result, toolCallId: call.id});
    saveConversations();
    if (this.conversation.nodes[id].toolCalls.every((each) => each.answered)) this.generate(last);
    else this.showMessages();
  }

  request(upTo) {
    const body = {model: chosenModel(), messages: messagesOf(this.conversation, upTo, this.system.value), ...this.sampling.values()};
    if (this.probabilities.checked) Object.assign(body, {logprobs: true, top_logprobs: 5});
    if (this.tools.value.trim()) body.tools = JSON.parse(this.tools.value);
    return body;
  }

  showCode(make) {
    try {
      this.code.textContent = make(chatPath, this.request(this.conversation.leaf), Boolean(apiKey.get()));
      this.code.hidden = false;
    } catch (failure) {
      this.fail(failure);
    }
  }

  fail(failure) {
    this.problem.textContent = failure.message;
    this.problem.hidden = false;
  }

  busy(abort) {
    this.abort = abort;
    this.send.disabled = Boolean(abort);
    this.stop.disabled = !abort;
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
    const conversation = this.conversation;
    const id = addMessage(conversation, parent, {role: "assistant", content: ""});
    const message = conversation.nodes[id];
    this.busy(new AbortController());
    this.showMessages();
    this.showEnd();
    const began = performance.now();
    const onResponse = (response) => { message.requestId = response.headers.get("X-Request-Id"); };
    try {
      for await (const event of events(chatPath, body, {signal: this.abort.signal, onResponse})) {
        if (event.error) throw new Error(event.error.message);
        takeEvent(message, event, (performance.now() - began) / 1000);
        this.drawSoon(id, message);
      }
    } catch (failure) {
      if (failure.name !== "AbortError") this.fail(failure);
      else message.note = "Stopped.";
    } finally {
      this.busy(null);
      if (!message.content && !message.reasoning && !message.toolCalls && !message.note) {
        delete conversation.nodes[id];
        conversation.leaf = parent;
      }
      saveConversations();
      this.keepingTheEnd(() => this.open(this.conversation));
    }
  }

  // The end of the chat, not of the page: on a phone, the settings follow it.
  belowTheView() {
    return this.section.getBoundingClientRect().bottom - innerHeight;
  }

  showEnd() {
    scrollBy(0, Math.max(0, this.belowTheView()));
  }

  // Who reads the end goes on seeing it; who has scrolled up stays there.
  keepingTheEnd(change) {
    const follows = this.belowTheView() < 80;
    change();
    if (follows) this.showEnd();
  }

  // At most once for each frame: Markdown of a long answer is not rendered for every token.
  drawSoon(id, message) {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = null;
      const body = this.abort && this.messages.querySelector(`[data-id="${id}"] .body`);
      if (!body) return;
      body.classList.add("typing");
      this.keepingTheEnd(() => body.replaceChildren(...answerBody(message, {probabilities: this.probabilities.checked})));
    });
  }
}
