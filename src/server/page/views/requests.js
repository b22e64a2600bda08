// Requests: the last ones that ended, and the timeline of one by its id.
import {getJson} from "../api.js";
import {el, labelled, secondsText} from "../dom.js";
import {timelineCard} from "./timeline.js";

const listRefresh = 3000;  // milliseconds

export class RequestsView {
  constructor() {
    this.id = el("input", {type: "text", size: 40, placeholder: "req_…", spellcheck: false});
    this.timelines = el("div", {id: "timelines", "aria-live": "polite"});
    this.list = el("div", {id: "requests"});
  }

  show(root, id) {
    const find = (event) => {
      event.preventDefault();
      location.hash = `#requests/${encodeURIComponent(this.id.value.trim())}`;
    };
    root.replaceChildren(el("form", {className: "row", onsubmit: find}, labelled("Request id (X-Request-Id of its answer)", this.id), el("button", {type: "submit"}, "Show timeline")),
      this.timelines, el("section", {className: "card wide", "aria-label": "Ended requests"}, el("h2", {}, "The last requests that ended"), this.list));
    this.timelines.replaceChildren();
    this.id.value = id;
    if (id) this.showTimeline(id);
    this.refresh();
    this.timer = setInterval(() => this.refresh(), listRefresh);
  }

  hide() { clearInterval(this.timer); }

  async showTimeline(id) {
    try {
      const {generations} = await getJson(`/v1/requests/${encodeURIComponent(id)}`);
      this.timelines.replaceChildren(...generations.map((each, i) => timelineCard(each, generations.length > 1 ? ` (${i + 1} of ${generations.length})` : "")));
    } catch (failure) {
      this.timelines.replaceChildren(el("p", {className: "bad", role: "alert"}, failure.message));
    }
  }

  async refresh() {
    try {
      const {data} = await getJson("/v1/requests");
      this.list.replaceChildren(data.length ? this.table(data) : el("p", {className: "quiet"}, "No request has ended yet."));
    } catch (failure) {
      this.list.replaceChildren(el("p", {className: "bad"}, failure.message));
    }
  }

  table(requests) {
    const heads = ["Ended", "Request", "Model", "Outcome", "Time", "Prompt", "of it cached", "Answer"];
    return el("table", {className: "plain"}, el("thead", {}, el("tr", {}, heads.map((text) => el("th", {scope: "col"}, text)))),
      el("tbody", {}, requests.map((each) => el("tr", {}, el("td", {}, new Date(each.ended_at).toLocaleTimeString()),
        el("td", {}, each.id ? el("a", {href: `#requests/${encodeURIComponent(each.id)}`}, each.id) : "–"), el("td", {}, each.model), el("td", {}, each.outcome),
        el("td", {}, secondsText(each.seconds)), [each.prompt_tokens, each.cached_tokens, each.completion_tokens].map((count) => el("td", {}, String(count)))))));
  }
}
