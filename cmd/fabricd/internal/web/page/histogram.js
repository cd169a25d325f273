// Histograms as small bars: latencies of operations by kind, and the round-trip times of peers.

import { svg, el, set, sync, text } from "./dom.js";
import { count, seconds } from "./format.js";

const width = 220, height = 56;

const roundTrips = new WeakMap(); // round-trip times of peers, by the element that shows them

// showHistograms shows the histograms of a process in an element.
export function showHistograms(parent, process) {
  if (!roundTrips.has(parent)) roundTrips.set(parent, new Map());
  const all = collect(process, roundTrips.get(parent));
  sync(parent, [...all.keys()].sort(), (name) => name, makeHistogram, (e, name) => updateHistogram(e, name, all.get(name)));
}

// collect adds up the histograms of a process' endpoints by name. The page samples the round-trip time of each peer
// once a second.
function collect(process, trips) {
  const all = new Map();
  const add = (buckets, i, n) => buckets.set(i, (buckets.get(i) ?? 0) + n);
  for (const e of process.endpoints) {
    for (const [name, h] of Object.entries(e.histograms ?? {})) {
      if (h.schema !== 2) continue;
      const key = `${name} latency, sampled`;
      if (!all.has(key)) all.set(key, new Map());
      for (const [i, n] of Object.entries(h.buckets ?? {})) add(all.get(key), Number(i), n);
    }
    for (const q of e.peers ?? []) if (q.counters?.rtt) add(trips, Math.ceil(Math.log2(q.counters.rtt / 1e9) * 4), 1);
  }
  for (const [name, buckets] of all) if (!buckets.size) all.delete(name);
  if (trips.size) all.set("RTT of peers, each second", trips);
  return all;
}

// upper returns the upper bound of a bucket in seconds: four buckets for each doubling, as in Prometheus' schema 2.
const upper = (i) => 2 ** (i / 4);

function makeHistogram() {
  return el("figure", {}, el("figcaption"), svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img" }, svg("g", { class: "bars" })), el("p", { class: "note" }));
}

function updateHistogram(figure, name, buckets) {
  const [caption, drawing, note] = figure.children;
  const keys = [...buckets.keys()].sort((a, b) => a - b);
  const total = [...buckets.values()].reduce((a, b) => a + b, 0);
  const first = Math.floor(keys[0] / 16) * 16, n = Math.max(Math.ceil((keys.at(-1) + 1) / 16) * 16 - first, 32); // in steps of four octaves, so that bars seldom move
  const most = Math.max(...buckets.values());
  const step = width / n;
  text(caption, `${name} (${count(total)})`);
  sync(drawing.firstElementChild, keys, (i) => i, () => svg("rect", {}, svg("title")), (bar, i) => {
    const tall = Math.max(1.5, (buckets.get(i) / most) * (height - 2));
    for (const [k, v] of Object.entries({ x: ((i - first) * step).toFixed(1), width: Math.max(1, step - 1).toFixed(1), y: (height - tall).toFixed(1), height: tall.toFixed(1) })) set(bar, k, v);
    text(bar.firstElementChild, `up to ${seconds(upper(i))}: ${count(buckets.get(i))}`);
  });
  const summary = total > 1 ? `half up to ${seconds(quantile(keys, buckets, total * 0.5))}, 99 % up to ${seconds(quantile(keys, buckets, total * 0.99))}` : `up to ${seconds(upper(keys[0]))}`;
  text(note, summary);
  set(drawing, "aria-label", `${name}: ${summary}`);
}

function quantile(keys, buckets, rank) {
  let sum = 0;
  for (const i of keys) {
    sum += buckets.get(i);
    if (sum >= rank) return upper(i);
  }
  return upper(keys.at(-1));
}
