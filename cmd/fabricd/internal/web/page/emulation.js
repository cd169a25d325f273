// The emulated fabric: the map, the table of links, and the controls.

import { request } from "./api.js";
import { byId, cells, el, row, set, sync, text } from "./dom.js";
import { bits, count, many } from "./format.js";
import { showFaults, startFaults, selectLink, selectedLink } from "./faults.js";
import { words } from "./faultwords.js";
import { showMap, startMap } from "./map.js";
import { showPartition, startPartition } from "./partition.js";
import { look } from "./rates.js";

let last = null;

// startEmulation connects the controls.
export function startEmulation() {
  startMap(pick);
  startFaults(change, draw);
  startPartition(change);
}

// change sends a request, and shows the fabric in the daemon's answer.
async function change(method, path, body) {
  showEmulation(await request(method, `/v1/emulation${path}`, body));
}

function pick(id) {
  selectLink(id, last);
  draw();
}

// showEmulation shows the fabric, or that there is none (null).
export function showEmulation(fabric) {
  byId("emulation").hidden = !fabric;
  if (!fabric) return;
  last = fabric;
  draw();
}

function draw() {
  const rates = look(last);
  text(byId("fabric"), `${last.name}, seed ${last.seed}`);
  showFaults(last);
  showMap(last, rates, selectedLink());
  showPartition(last);
  const rows = last.links.flatMap((l) => [["ab", l.a, l.b], ["ba", l.b, l.a]].map(([way, from, to]) => ({ l, way, from, to })));
  sync(byId("links").tBodies[0], rows, (r) => `${r.l.id} ${r.way}`, makeRow, (tr, r) => updateRow(tr, r, rates.get(`${r.l.id} ${r.way}`)));
}

function makeRow({ l, way }) {
  const tr = row([false, false, false, true, true, true, true, true, true, true, false]);
  if (way === "ab") tr.cells[0].append(el("button", { type: "button", class: "plain", click: () => pick(l.id) }, l.id));
  return tr;
}

function updateRow(tr, { l, way, from, to }, rate) {
  const { faults, stats: s } = l[way];
  const wrong = l.up ? words(faults) : ["pulled out"];
  set(tr, "class", `${way}${wrong.length ? " faulty" : ""}${l.up ? "" : " down"}${l.id === selectedLink() ? " selected" : ""}`);
  const others = ["marked", "duplicated", "reordered", "corrupted"].filter((n) => s[n]).map((n) => `${n} ${count(s[n])}`);
  const values = [`${from} → ${to}`, wrong.join(", ") || "none", bits(rate.bits), many(rate.frames), count(s.frames), count(s.lost), count(s.dropped), count(s.cut), count(s.queue), others.join(", ")];
  cells({ cells: [...tr.cells].slice(1) }, values);
}
