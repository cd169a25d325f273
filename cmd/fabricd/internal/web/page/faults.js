// Controls for the faults of one link. While the user uses a control, the daemon's answers do not change it.

import { byId, el, set, sync, text } from "./dom.js";
import { bits, percent, seconds, short } from "./format.js";

const chances = [0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100].map((p) => p / 100);
const times = [0, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000];
const speeds = [0.1, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 0];
const time = (ms) => seconds(ms / 1e3);

// sliders move in steps, so that a key press moves them to the next round value.
const sliders = [
  ["loss", "loss", chances, percent],
  ["delay_ms", "delay", times, time],
  ["jitter_ms", "jitter", times, time],
  ["rate_mbit", "rate", speeds, (v) => (v ? bits(v * 1e6) : "no limit")],
  ["dup", "duplicates", chances, percent],
  ["reorder", "reordering", chances, percent],
  ["corrupt", "corruption", chances, percent],
];

// numbers are typed. Those of bursts are percentages.
const numbers = [
  ["queue_packets", "queue, frames (0: 1000)", 1],
  ["queue_bytes", "queue, bytes (0: no limit)", 1],
  ["ecn", "mark from this queue on (0: never)", 1],
  ["burst.enter", "bursts begin, % of frames", 100],
  ["burst.leave", "bursts end, % of frames", 100],
  ["burst.loss", "loss in bursts, %", 100],
];

const perfect = { loss: 0, burst: { enter: 0, leave: 0, loss: 0 }, delay_ms: 0, jitter_ms: 0, rate_mbit: 0, queue_packets: 0, queue_bytes: 0, ecn: 0, dup: 0, reorder: 0, corrupt: 0 };
const quiet = 1500; // ms after its last use a control follows the daemon again

let fabric = null;
let selected = "";
let change = async () => {};
const used = new WeakMap(); // the time at which each control was used
const waiting = new Map(); // the latest change of each fault that was not sent yet
let sending = false;

export const selectedLink = () => selected;

// selectLink shows another link.
export function selectLink(id, now) {
  selected = id;
  byId("link").value = id;
  for (const c of byId("faults").elements) used.delete(c);
  showFaults(now);
}

// startFaults makes the controls. It calls onSelect when the user selects another link in them.
export function startFaults(doChange, onSelect) {
  change = doChange;
  byId("sliders").append(...sliders.map(makeSlider));
  byId("numbers").append(...numbers.map(makeNumber));
  byId("faults").addEventListener("submit", (e) => e.preventDefault());
  byId("link").addEventListener("change", () => {
    selectLink(byId("link").value, fabric);
    onSelect();
  });
  byId("direction").addEventListener("change", () => selectLink(selected, fabric));
  byId("up").addEventListener("change", () => later("up", () => ({ up: byId("up").checked })));
  byId("perfect").addEventListener("click", () => later("perfect", () => ({ faults: perfect, direction: "both" })));
  byId("all-perfect").addEventListener("click", () => fabric.links.forEach((l) => later(`perfect ${l.id}`, () => ({ faults: perfect, up: true, direction: "both" }), l.id)));
}

function makeSlider([name, label, steps, say]) {
  const id = `fault-${name}`;
  const input = el("input", { id, type: "range", min: 0, max: steps.length - 1, step: 1, input: () => {
    const value = steps[input.value];
    used.set(input, Date.now());
    sayValue(name, input, say(value));
    later(name, () => ({ faults: { [name]: value } }));
  } });
  return el("div", { class: "slider" }, el("label", { for: id }, label), input, el("output", { for: id, id: `${id}-value`, "aria-live": "off" }));
}

function makeNumber([name, label, scale]) {
  const input = el("input", { id: `fault-${name}`, type: "number", min: 0, max: scale === 100 ? 100 : 1048576, step: scale === 100 ? "any" : 1, change: () => {
    if (!input.reportValidity()) return;
    used.set(input, Date.now());
    later(name, () => ({ faults: changeOf(name, Number(input.value) / scale) }));
  } });
  return el("label", { class: "slider" }, label, input);
}

// changeOf returns the change of one number. A burst changes as a whole.
function changeOf(name, value) {
  const [outer, inner] = name.split(".");
  return inner ? { [outer]: { ...faultsOf().burst, [inner]: value } } : { [name]: value };
}

// later sends a change after the answer to the previous one. Of several changes of one fault it sends the latest.
async function later(name, make, link = selected) {
  const direction = byId("direction").value || "both";
  waiting.set(`${link} ${direction} ${name}`, { link, body: { direction, ...make() } });
  if (sending) return;
  sending = true;
  try {
    for (const [key, c] of waiting) {
      waiting.delete(key);
      await change("PATCH", `/links/${encodeURIComponent(c.link)}`, c.body);
    }
    refused("");
  } catch (e) {
    waiting.clear();
    refused(e.message);
  } finally {
    sending = false;
  }
}

function refused(message) {
  text(byId("refused"), message);
}

const way = () => (byId("direction").value === "ba" ? "ba" : "ab");
const link = () => fabric.links.find((l) => l.id === selected);
const faultsOf = () => link()[way()].faults;

// showFaults shows the daemon's state of the selected link.
export function showFaults(now) {
  fabric = now;
  if (!fabric.links.length) return;
  if (!link()) selected = fabric.links[0].id;
  const l = link();
  sync(byId("link"), fabric.links, (x) => x.id, (x) => el("option", { value: x.id }, x.id), () => {});
  if (byId("link").value !== selected) byId("link").value = selected;
  const ways = [["both", "both"], ["ab", `${l.a} → ${l.b}`], ["ba", `${l.b} → ${l.a}`]];
  sync(byId("direction"), ways, (w) => w[0], (w) => el("option", { value: w[0] }), (o, w) => text(o, w[1]));
  byId("up").checked = l.up;
  for (const s of sliders) updateSlider(l, s);
  for (const [name, , scale] of numbers) {
    const input = byId(`fault-${name}`);
    const value = short(name.split(".").reduce((v, part) => v[part], faultsOf()) * scale);
    if (!inUse(input) && document.activeElement !== input && input.value !== value) input.value = value;
  }
}

function updateSlider(l, [name, , steps, say]) {
  const input = byId(`fault-${name}`);
  if (inUse(input)) return;
  const value = faultsOf()[name];
  const at = nearest(steps, value);
  if (Number(input.value) !== at) input.value = at;
  const ab = say(l.ab.faults[name]), ba = say(l.ba.faults[name]);
  sayValue(name, input, byId("direction").value === "both" && ab !== ba ? `${ab} / ${ba}` : say(value));
}

function sayValue(name, input, value) {
  text(byId(`fault-${name}-value`), value);
  set(input, "aria-valuetext", value);
}

const inUse = (input) => Date.now() - (used.get(input) ?? 0) < quiet || input.matches(":active");

// nearest returns the index of the step nearest to a value. 0 has a step of its own, because it may mean "no limit".
function nearest(steps, value) {
  let best = 0;
  steps.forEach((s, i) => {
    const better = value === 0 || s === 0 ? s === value : Math.abs(s - value) < Math.abs(steps[best] - value) || steps[best] === 0;
    if (better) best = i;
  });
  return best;
}
