// Live: speed, latency, load and KV over the last hour, and the workers' states.
import {el, labelled} from "../dom.js";
import {chartLibrary} from "../libraries.js";
import {liveFigures, liveReadings} from "../live.js";
import {thinned} from "../readings.js";
import {workersTable} from "./workers_table.js";

const plots = [
  {title: "Tokens a second", lines: {"out": "out", "in": "in"}},
  {title: "Time to first token (ms)", lines: {"median": "first50", "99th percentile": "first99"}, scale: 1000},
  {title: "Time between tokens (ms)", lines: {"median": "between50", "99th percentile": "between99"}, scale: 1000},
  {title: "Requests", lines: {"running": "running", "waiting": "waiting"}, digits: 0},
  {title: "KV blocks", lines: {"used": "used", "cached": "cached", "free": "free"}, digits: 0},
  {title: "Prompt tokens from the prefix cache (%)", lines: {"cached": "prefix"}, scale: 100, most: 100},
  {title: "Accepted draft tokens (%)", lines: {"accepted": "accepted"}, scale: 100, most: 100},
];
const lineStyles = [["--plot-1", []], ["--plot-2", [6, 3]], ["--plot-3", [2, 2]]];  // told apart without colours too
const clock = {hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false};
const mostPoints = 300;
const spans = {"5 minutes": 300, "15 minutes": 900, "1 hour": 3600};

const themeColour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

export class LiveView {
  constructor() {
    this.charts = [];
    this.update = () => this.draw();
    this.span = el("select", {onchange: this.update}, Object.keys(spans).map((text) => el("option", {value: text}, text)));
    this.workers = el("div", {id: "workers"});
  }

  show(root) {
    root.replaceChildren(el("div", {className: "row"}, labelled("Show the last", this.span),
      el("p", {className: "quiet"}, "One reading a second while this page is open.")), el("div", {className: "grid"}, plots.map((plot) => this.card(plot))), this.workers);
    document.addEventListener("live-reading", this.update);
    this.draw();
  }

  hide() {
    document.removeEventListener("live-reading", this.update);
    for (const {chart} of this.charts) chart.destroy();
    this.charts = [];
  }

  card(plot) {
    const canvas = el("canvas", {role: "img", "aria-label": plot.title, height: 160});
    const latest = el("p", {className: "quiet", "data-plot": plot.title});
    const ink = themeColour("--quiet"), line = themeColour("--line");
    const datasets = Object.keys(plot.lines).map((label, i) => ({label, data: [], borderColor: themeColour(lineStyles[i][0]), backgroundColor: themeColour(lineStyles[i][0]),
      borderDash: lineStyles[i][1], pointRadius: ({dataset}) => (dataset.data.length < 2 ? 3 : 0), borderWidth: 2, spanGaps: true}));
    const chart = new (chartLibrary())(canvas, {type: "line", data: {labels: [], datasets}, options: {animation: false,
      scales: {x: {ticks: {color: ink, maxTicksLimit: 4, maxRotation: 0}, grid: {display: false}}, y: {min: 0, suggestedMax: 1, max: plot.most, ticks: {color: ink, maxTicksLimit: 6}, grid: {color: line}}},
      plugins: {legend: {display: datasets.length > 1, labels: {color: ink, boxHeight: 0, boxWidth: 30}}}}});
    this.charts.push({plot, chart, latest});
    return el("section", {className: "card", "aria-label": plot.title}, el("h2", {}, plot.title), canvas, latest);
  }

  draw() {
    const all = liveReadings();
    const shown = thinned(all.slice(-spans[this.span.value]), mostPoints);
    for (const {plot, chart, latest} of this.charts) {
      const scaled = (value) => (value === null ? null : value * (plot.scale || 1));
      chart.data.labels = shown.map((each) => new Date(each.at).toLocaleTimeString([], clock));
      Object.values(plot.lines).forEach((field, i) => { chart.data.datasets[i].data = shown.map((each) => scaled(each[field])); });
      chart.update();
      latest.textContent = Object.entries(plot.lines).map(([label, field]) => {
        const known = all.findLast((each) => each[field] !== null);
        return `${label}: ${known ? scaled(known[field]).toFixed(plot.digits ?? 1) : "nothing yet"}`;
      }).join(", ");
    }
    const figures = liveFigures();
    this.workers.replaceChildren(...(figures?.pooled ? [workersTable(figures.workers)] : []));
  }
}
