// The page asks the daemon once a second and shows the answers.

import { hasToken, keepToken, request, takeToken } from "./api.js";
import { byId, text } from "./dom.js";
import { ago } from "./format.js";
import { showEmulation, startEmulation } from "./emulation.js";
import { showNames, showStuck } from "./lists.js";
import { showProcesses } from "./processes.js";

const period = 1000; // ms
let timer = 0;
let asking = false;
let again = false; // another refresh was requested while one was in progress

// The sections of the page. Each names the part of the daemon that it needs, its request, and the function that shows
// the answer.
const sections = [
  ["emulation", "/v1/emulation", showEmulation],
  ["processes", "/v1/stuck", showStuck],
  ["processes", "/v1/processes", showProcesses],
  ["directory", "/v1/names?limit=200", showNames],
];

// refresh sends all requests, and repeats them after a period. An answer is null if the daemon lacks the part.
async function refresh() {
  clearTimeout(timer);
  again = asking;
  if (document.hidden || asking) return;
  asking = true;
  try {
    const status = await request("GET", "/v1/status");
    becomeReachable(status);
    const answers = await Promise.allSettled(sections.map(([part, path]) => (status.parts.includes(part) ? request("GET", path) : null)));
    const failed = [];
    answers.forEach((a, i) => (a.status === "fulfilled" ? sections[i][2](a.value) : failed.push(a.reason)));
    const gone = failed.find((e) => !e.status || e.status === 401);
    if (gone) becomeUnreachable(gone);
    else problem([...new Set(failed.map((e) => e.message))].join("; "));
  } catch (e) {
    becomeUnreachable(e);
  } finally {
    asking = false;
    if (again) refresh();
    else if (byId("login").hidden) timer = setTimeout(refresh, period);
  }
}

function becomeReachable(status) {
  byId("login").hidden = true;
  byId("main").hidden = false;
  document.body.classList.remove("stale");
  text(byId("away"), "");
  text(byId("status"), `up for ${ago(status.started)}, process ${status.pid}`);
}

function becomeUnreachable(e) {
  document.body.classList.add("stale");
  problem("");
  text(byId("status"), "");
  if (e.status !== 401) {
    text(byId("away"), e.message);
    return;
  }
  text(byId("away"), hasToken() ? "This token is not valid, or not valid any more: fabricd makes another one when it starts, and when its port is opened again." : "");
  byId("main").hidden = true;
  byId("login").hidden = false;
  byId("token").focus();
}

// problem shows an error until the next success.
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
