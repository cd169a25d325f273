// Processes, their endpoints and peers.

import { byId, cells, el, row, set, sync, text } from "./dom.js";
import { ago, bytes, count, many, seconds } from "./format.js";
import { showHistograms } from "./histogram.js";

const endpointHead = ["endpoint", "address", "interface", "operations/s", "sent/s", "received/s", "errors", "sent again", "pending", "queued", "RTT"];
const peerHead = ["peer", "state", "for", "messages/s", "sent again", "time-outs", "in flight", "queued", "RTT"];
const before = new Map(); // the previous counters, by endpoint and peer
let looked = 0;
let passed = 0;

// showProcesses shows the processes. null: the daemon does not watch processes.
export function showProcesses(answer) {
  const section = byId("processes");
  section.hidden = !answer;
  if (!answer) return;
  const now = performance.now() / 1e3;
  passed = looked ? now - looked : 0;
  looked = now;
  section.querySelector(".none").hidden = answer.processes.length > 0;
  const seen = new Set();
  sync(section.querySelector(".list"), answer.processes, (p) => `${p.pid} ${p.since}`, makeProcess, (e, p) => updateProcess(e, p, seen));
  for (const key of before.keys()) if (!seen.has(key)) before.delete(key);
}

const head = (names, firstNumber) => el("thead", {}, el("tr", {}, ...names.map((n, i) => el("th", { scope: "col", class: i >= firstNumber ? "n" : undefined }, n))));

function makeProcess() {
  return el("article", { class: "process" },
    el("h3"), el("p", { class: "note" }),
    el("div", { class: "wide" }, el("table", {}, head(endpointHead, 3), el("tbody"))),
    el("p", { class: "note" }),
    el("div", { class: "histograms" }),
    el("details", {}, el("summary", {}, "Peers"), el("div", { class: "wide" }, el("table", {}, head(peerHead, 2), el("tbody")))));
}

function updateProcess(article, p, seen) {
  const [title, about, endpoints, more, histograms, details] = article.children;
  text(title, `${p.name || "?"} ${p.pid}`);
  text(about, [`user ${p.uid}`, `for ${ago(p.since)}`, p.silent && `silent for ${ago(p.silent)}`, p.command].filter(Boolean).join(" · "));
  set(article, "class", `process${p.silent ? " silent" : ""}`);
  const rates = ratesOf(p, seen);
  endpoints.hidden = !p.endpoints.length;
  sync(endpoints.querySelector("tbody"), p.endpoints, (e) => e.id, () => row(endpointHead.map((_, i) => i >= 3)), (tr, e) => showEndpoint(tr, e, rates(`ep ${e.id}`, e.counters)));
  const totals = (p.totals ?? []).map((t) => `${t.provider}: ${count(sum(t.counters, "operations"))} operations, ${count(sum(t.counters, "errors"))} errors`);
  text(more, [p.more && `${p.more} more endpoints`, ...(p.endpoints.length ? [] : totals)].filter(Boolean).join(" · "));
  showHistograms(histograms, p);
  const peers = p.endpoints.flatMap((e) => (e.peers ?? []).map((q) => ({ e, q })));
  details.hidden = !peers.length;
  text(details.firstElementChild, `Peers (${peers.length})`);
  sync(details.querySelector("tbody"), peers, ({ e, q }) => `${e.id} ${q.address} ${q.since ?? ""}`, () => row(peerHead.map((_, i) => i >= 2)),
    (tr, { e, q }) => cells(tr, peerCells(q, rates(`peer ${e.id} ${q.address} ${q.since ?? ""}`, q.counters))));
}

// ratesOf returns a function that stores counters by key, and returns how much those of a name grew per second.
function ratesOf(p, seen) {
  return (key, counters) => {
    key = `${p.pid} ${p.since} ${key}`;
    const old = before.get(key);
    before.set(key, counters);
    seen.add(key);
    return (name) => (old && passed > 0 ? Math.max(0, sum(counters, name) - sum(old, name)) / passed : 0);
  };
}

// sum adds the counters of a name over all labels: "operations" includes "operations.send".
function sum(counters, name) {
  let total = 0;
  for (const [n, v] of Object.entries(counters ?? {})) if (n === name || n.startsWith(`${name}.`)) total += v;
  return total;
}

function showEndpoint(tr, e, rate) {
  cells(tr, endpointCells(e, rate));
  for (const td of [...tr.cells].slice(0, 3)) set(td, "title", td.textContent); // the text may be too long for the column
}

function endpointCells(e, rate) {
  const c = e.counters;
  const got = rate("bytes.receive"), all = rate("bytes");
  return [`${e.provider} ${e.type.replace("FI_EP_", "")}`, e.address, e.interface, many(rate("operations")), `${bytes(Math.max(0, all - got))}/s`, `${bytes(got)}/s`, count(sum(c, "errors")),
    count(c.retransmitted ?? 0), count(c.pending_operations ?? 0), bytes(c.queued_bytes ?? 0), c.rtt ? seconds(c.rtt / 1e9) : ""];
}

function peerCells(q, rate) {
  const c = q.counters;
  return [q.address, q.state, q.since ? ago(q.since) : "", many(rate("messages")), count(c.retransmitted ?? 0), count(c.timeouts ?? 0), bytes(c.in_flight ?? 0), bytes(c.queued_bytes ?? 0), c.rtt ? seconds(c.rtt / 1e9) : ""];
}
