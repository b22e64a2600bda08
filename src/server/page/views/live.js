// Live: speed, latency, load and KV over the last hour.
import {el} from "../dom.js";
import {liveReadings} from "../live.js";

const plots = [
  {title: "Tokens a second", lines: {"out": "out", "in": "in"}},
  {title: "Time to first token (ms)", lines: {"median": "first50", "99th percentile": "first99"}, scale: 1000},
  {title: "Time between tokens (ms)", lines: {"median": "between50", "99th percentile": "between99"}, scale: 1000},
  {title: "Requests", lines: {"running": "running", "waiting": "waiting"}},
  {title: "KV blocks", lines: {"used": "used", "free or cached": "free"}},
  {title: "Accepted draft tokens (%)", lines: {"accepted": "accepted"}, scale: 100},
];
const colours = ["#1f77b4", "#d9730d"];

export class LiveView {
  constructor() {
    this.charts = [];
    this.update = () => this.draw();
  }

  show(root) {
    root.replaceChildren(el("p", {className: "quiet"}, "One reading a second while this page is open, at most an hour."), el("div", {className: "grid"}, plots.map((plot) => this.card(plot))));
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
    const ink = getComputedStyle(document.documentElement).getPropertyValue("--quiet");
    const chart = new Chart(canvas, {type: "line",
      data: {labels: [], datasets: Object.keys(plot.lines).map((label, i) => ({label, data: [], borderColor: colours[i], backgroundColor: colours[i], pointRadius: 0, borderWidth: 2, spanGaps: true}))},
      options: {animation: false, scales: {x: {ticks: {color: ink, maxTicksLimit: 6}}, y: {beginAtZero: true, ticks: {color: ink}}}, plugins: {legend: {labels: {color: ink}}}}});
    this.charts.push({plot, chart, latest});
    return el("section", {className: "card", "aria-label": plot.title}, el("h2", {}, plot.title), canvas, latest);
  }

  draw() {
    const readings = liveReadings();
    for (const {plot, chart, latest} of this.charts) {
      chart.data.labels = readings.map((each) => new Date(each.at).toLocaleTimeString());
      Object.values(plot.lines).forEach((field, i) => {
        chart.data.datasets[i].data = readings.map((each) => (each[field] === null ? null : each[field] * (plot.scale || 1)));
      });
      chart.update();
      latest.textContent = Object.entries(plot.lines).map(([label, field]) => {
        const known = readings.filter((each) => each[field] !== null);
        return `${label}: ${known.length ? (known[known.length - 1][field] * (plot.scale || 1)).toFixed(1) : "nothing yet"}`;
      }).join(", ");
    }
  }
}
