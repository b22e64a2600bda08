// Embeddings: a few lines in, their cosine similarities as a heat map.
import {sendJson} from "../api.js";
import {el, labelled} from "../dom.js";

function cosine(a, b) {
  let dot = 0, aa = 0, bb = 0;
  for (let i = 0; i < a.length; ++i) {
    dot += a[i] * b[i];
    aa += a[i] * a[i];
    bb += b[i] * b[i];
  }
  return dot / Math.sqrt(aa * bb);
}

export class EmbeddingsView {
  constructor() {
    this.lines = el("textarea", {rows: 6, value: "What is the capital of France?\nThe capital of France is Paris.\nI love this film."});
    this.result = el("div", {id: "similarities"});
  }

  show(root) {
    root.replaceChildren(el("section", {className: "card"}, labelled("Texts, one a line (at most 32)", this.lines),
      el("p", {}, el("button", {type: "button", className: "primary", onclick: () => this.compare()}, "Compare"))), this.result);
  }

  hide() {}

  async compare() {
    const texts = this.lines.value.split("\n").map((line) => line.trim()).filter(Boolean).slice(0, 32);
    if (texts.length === 0) return;
    try {
      const {data} = await sendJson("POST", "/v1/embeddings", {model: "default", input: texts});
      const vectors = data.map((row) => row.embedding);
      this.result.replaceChildren(el("table", {className: "heat"}, el("tbody", {}, vectors.map((a, i) => el("tr", {}, el("th", {scope: "row"}, texts[i]),
        vectors.map((b, j) => {
          const value = cosine(a, b);
          return el("td", {title: `${texts[i]} / ${texts[j]}`, style: {backgroundColor: `hsl(${Math.round(210 - 190 * Math.max(0, value))} 70% 50% / 0.45)`}}, value.toFixed(2));
        }))))));
    } catch (failure) {
      this.result.replaceChildren(el("p", {className: "bad", role: "alert"}, failure.message));
    }
  }
}
