// The page: it asks the daemon each second and shows the answers.

import { get, keepToken, takeToken } from "./api.js";
import { byId, text } from "./dom.js";
import { ago } from "./format.js";
import { showEmulation, startEmulation } from "./emulation.js";
import { showNames, showStuck } from "./lists.js";
import { showProcesses } from "./processes.js";

const period = 1000; // ms
let timer = 0;
let asking = false;

// parts of the page, each with what it asks for and shows.
const parts = [
  ["/v1/emulation", showEmulation],
  ["/v1/stuck", showStuck],
  ["/v1/processes", showProcesses],
  ["/v1/names?limit=200", showNames],
];

// refresh asks for everything, and again after a while.
async function refresh() {
  clearTimeout(timer);
  if (document.hidden || asking) return;
  asking = true;
  try {
    const status = await get("/v1/status");
    becomeReachable(status);
    const answers = await Promise.allSettled(parts.map(([path]) => get(path)));
    const failed = [];
    answers.forEach((a, i) => (a.status === "fulfilled" ? parts[i][1](a.value) : failed.push(a.reason.message)));
    problem(failed.join("; "));
  } catch (e) {
    becomeUnreachable(e);
  } finally {
    asking = false;
    if (byId("login").hidden) timer = setTimeout(refresh, period);
  }
}

function becomeReachable(status) {
  byId("login").hidden = true;
  byId("main").hidden = false;
  document.body.classList.remove("stale");
  text(byId("status"), `up for ${ago(status.started)}, process ${status.pid}`);
}

function becomeUnreachable(e) {
  document.body.classList.add("stale");
  text(byId("status"), e.message);
  if (e.status === 401) {
    byId("main").hidden = true;
    byId("login").hidden = false;
    text(byId("status"), "a token is needed");
  }
}

// problem shows what went wrong, until it goes well again.
function problem(message) {
  byId("problem").hidden = !message;
  text(byId("problem"), message ?? "");
}

function login(event) {
  event.preventDefault();
  keepToken(byId("token").value.trim());
  byId("token").value = "";
  refresh();
}

takeToken();
byId("login").addEventListener("submit", login);
document.addEventListener("visibilitychange", refresh);
window.addEventListener("hashchange", () => {
  takeToken();
  refresh();
});
startEmulation();
refresh();
