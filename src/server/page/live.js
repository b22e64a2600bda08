// The last hour of the server, one reading a second, kept while the page is open, whichever view is shown. The server sends
// figures as events; where only its metrics can be read, as behind a proxy that holds events back, they are polled.
import {events, getText} from "./api.js";
import {figuresOfMetrics} from "./metrics.js";
import {readingBetween} from "./readings.js";

const mostReadings = 3600;
const feedSilence = 5000;  // milliseconds without an event until the feed counts as broken
const retryPause = 1000;
const readings = [];
let lastFigures = null;
let feed = null;  // what ends the feed's request, while there is one

export const liveReadings = () => readings;
export const liveFigures = () => lastFigures;

function sayState(answers) {
  if (!answers) lastFigures = null;
  document.dispatchEvent(new CustomEvent("server-state", {detail: answers}));
}

function takeFigures(figures) {
  if (lastFigures) {
    readings.push(readingBetween(lastFigures, figures));
    if (readings.length > mostReadings) readings.shift();
  }
  lastFigures = figures;
  sayState(true);
  document.dispatchEvent(new Event("live-reading"));
}

// Until the feed ends or breaks, or the page is hidden. True if it gave something and then broke.
async function followFeed() {
  feed = new AbortController();
  let timer = null;
  let any = false;
  const watch = () => { clearTimeout(timer); timer = setTimeout(() => feed.abort(), feedSilence); };
  try {
    watch();
    for await (const figures of events("/v1/live", undefined, {signal: feed.signal})) {
      watch();
      any = true;
      takeFigures(figures);
    }
  } catch { /* the poll tells whether the server is there */
  } finally {
    clearTimeout(timer);
  }
  return any && !document.hidden;
}

async function pollOnce() {
  try {
    takeFigures(figuresOfMetrics(await getText("/metrics")));
  } catch (failure) {
    sayState(failure.status > 0);  // a server that wants a key is there
  }
}

// A browser opens few connections to a server, six with HTTP/1.1. So a page in a hidden tab, and one that was left and is
// kept for the way back, holds none of them: it polls while it is hidden, as often as the browser lets it.
function leaveFeed() {
  feed?.abort();
}

export async function startLive() {
  document.addEventListener("visibilitychange", () => { if (document.hidden) leaveFeed(); });
  window.addEventListener("pagehide", leaveFeed);
  for (;;) {
    if (!document.hidden && await followFeed()) sayState(false);
    await new Promise((done) => setTimeout(done, retryPause));
    await pollOnce();
  }
}
