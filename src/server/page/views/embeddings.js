// Embeddings: a few lines in, their cosine similarities as a heat map.
import {sendJson} from "../api.js";
import {el, labelled} from "../dom.js";
import {chosenModel} from "../model_choice.js";

function cosine(a, b) {
  let dot = 0, aa = 0, bb = 0;
  for (let i = 0; i < a.length; ++i) {
    dot += a[i] * b[i];
    aa += a[i] * a[i];
    bb += b[i] * b[i];
  }
  return dot / Math.sqrt(aa * bb);
}

// Each text against each: the more alike, the stronger the colour. Columns have the numbers of the rows.
function heatMap(texts, vectors) {
  const cell = (i, j) => {
    const value = cosine(vectors[i], vectors[j]);
    return el("td", {title: `${texts[i]} / ${texts[j]}`, style: {backgroundColor: `hsl(212 80% 50% / ${(0.65 * Math.max(0, value) ** 2).toFixed(3)})`}}, value.toFixed(2));
  };
  const numbers = el("tr", {}, el("td"), texts.map((text, j) => el("th", {scope: "col", title: text}, String(j + 1))));
  return el("table", {className: "heat"}, el("caption", {className: "quiet"}, "Cosine similarity: 1 is the same direction, 0 is unrelated."), el("thead", {}, numbers),
    el("tbody", {}, texts.map((text, i) => el("tr", {}, el("th", {scope: "row"}, `${i + 1}. ${text}`), texts.map((_, j) => cell(i, j))))));
}

export class EmbeddingsView {
  constructor() {
    this.lines = el("textarea", {rows: 6, value: "What is the capital of France?\nThe capital of France is Paris.\nI love this film."});
    this.result = el("div", {id: "similarities"});
  }

  show(root) {
    root.replaceChildren(el("section", {className: "card", "aria-label": "Texts"}, labelled("Texts, one a line (at most 32)", this.lines),
      el("p", {}, el("button", {type: "button", className: "primary", onclick: () => this.compare()}, "Compare"))), this.result);
  }

  hide() {}

  async compare() {
    const texts = this.lines.value.split("\n").map((line) => line.trim()).filter(Boolean).slice(0, 32);
    if (texts.length === 0) return;
    try {
      const {data} = await sendJson("POST", "/v1/embeddings", {model: chosenModel(), input: texts});
      this.result.replaceChildren(el("section", {className: "card wide", "aria-label": "Similarities"}, heatMap(texts, data.map((row) => row.embedding))));
    } catch (failure) {
      this.result.replaceChildren(el("p", {className: "bad", role: "alert"}, failure.message));
    }
  }
}
