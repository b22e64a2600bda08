// The states of a pool's workers.
import {el} from "../dom.js";

const servingState = "serving";

export function workersTable(workers) {
  const heads = ["Worker", "Model", "Backend", "State", "For", "Running", "Waiting", "Restarts"];
  const rows = workers.map((each) => el("tr", {}, el("th", {scope: "row"}, each.id), el("td", {}, each.model), el("td", {}, each.backend),
    el("td", {className: each.state === servingState ? "good" : "bad"}, each.state), el("td", {}, `${Math.round(each.seconds)} s`), el("td", {}, String(each.running)),
    el("td", {}, String(each.waiting)), el("td", {}, String(each.restarts))));
  return el("section", {className: "card wide", "aria-label": "Workers"}, el("h2", {}, "Workers"),
    el("table", {className: "plain"}, el("thead", {}, el("tr", {}, heads.map((text) => el("th", {scope: "col"}, text)))), el("tbody", {}, rows)));
}
