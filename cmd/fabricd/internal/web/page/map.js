// The map of the fabric: an SVG with nodes, switches, and links that show rates and faults.

import { byId, set, svg, sync, text } from "./dom.js";
import { bits } from "./format.js";
import { harms, words } from "./faultwords.js";
import { layout } from "./layout.js";

let shape = ""; // the names and links of the current map
let places = null;
let picked = () => {};

// startMap sets the function that is called when the user picks a link.
export function startMap(onPick) {
  picked = onPick;
}

// showMap draws the fabric.
export function showMap(fabric, rates, selected) {
  const now = JSON.stringify([fabric.nodes.map((n) => n.name), fabric.switches?.map((s) => s.name), fabric.links.map((l) => [l.id, l.a, l.b])]);
  if (now !== shape) {
    shape = now;
    places = layout(fabric);
    begin(fabric);
  }
  const sides = fabric.partitions ?? [];
  sync(byId("map-links"), fabric.links, (l) => l.id, makeLink, (g, l) => updateLink(g, l, rates, l.id === selected));
  sync(byId("map-labels"), fabric.links, (l) => l.id, makeLabel, (g, l) => updateLabel(g, l, rates));
  const things = [...fabric.nodes, ...(fabric.switches ?? [])];
  sync(byId("map-things"), things, (n) => n.name, makeThing, (g, n) => updateThing(g, n, sides));
}

function begin(fabric) {
  const { width, height } = places;
  const drawing = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": `map of the fabric ${fabric.name}` },
    svg("g", { id: "map-links" }), svg("g", { id: "map-labels" }), svg("g", { id: "map-things" }));
  drawing.style.minWidth = `${width * 0.7}px`; // a smaller map would be unreadable, so it scrolls
  byId("map").replaceChildren(drawing);
}

// makeLink makes a link of two lines, one for each direction, and of a wide line that is easy to click.
function makeLink(link) {
  const [a, b] = places.ends.get(link.id);
  const far = Math.hypot(b.x - a.x, b.y - a.y) || 1;
  const dx = ((b.y - a.y) / far) * 4, dy = ((a.x - b.x) / far) * 4;
  const line = (c, k) => svg("line", { class: c, x1: a.x + k * dx, y1: a.y + k * dy, x2: b.x + k * dx, y2: b.y + k * dy });
  const pick = () => picked(link.id);
  return svg("g", { class: "link", tabindex: 0, role: "button", click: pick, keydown: (e) => {
    if (e.key !== "Enter" && e.key !== " ") return;
    e.preventDefault();
    pick();
  } }, line("hit", 0), line("way ab", 1), line("way ba", -1));
}

function updateLink(g, link, rates, selected) {
  const [, ab, ba] = g.children;
  for (const [line, way] of [[ab, "ab"], [ba, "ba"]]) {
    const rate = rates.get(`${link.id} ${way}`).bits;
    set(line, "class", `way ${way}${rate > 0 ? " busy" : ""}${harms(link[way].faults) ? " faulty" : ""}${link.up ? "" : " down"}`);
    set(line, "stroke-width", thickness(rate));
  }
  set(g, "aria-pressed", selected ? "true" : "false");
  set(g, "class", `link${selected ? " selected" : ""}`);
  set(g, "aria-label", `link ${link.a} to ${link.b}: ${summary(link).join(", ") || "no faults"}`);
}

// thickness grows with the logarithm of a rate: 1.5 up to 10 kbit/s, 7 from 10 Gbit/s on.
const thickness = (rate) => (1.5 + 5.5 * Math.min(1, Math.max(0, Math.log10(rate / 1e4) / 6))).toFixed(1);

// summary returns the faults of a link. Arrows show the direction if the two differ.
function summary(link) {
  if (!link.up) return ["pulled out"];
  const ab = words(link.ab.faults), ba = words(link.ba.faults);
  if (ab.join() === ba.join()) return ab;
  const a = places.at.get(link.a), b = places.at.get(link.b);
  const [there, back] = Math.abs(b.x - a.x) > Math.abs(b.y - a.y) ? (b.x > a.x ? ["→", "←"] : ["←", "→"]) : b.y < a.y ? ["↑", "↓"] : ["↓", "↑"];
  return [...ab.map((w) => `${there} ${w}`), ...ba.map((w) => `${back} ${w}`)];
}

const most = 3; // the number of faults for which a label has room

// makeLabel makes a box with lines for the rate and for faults.
const makeLabel = () => svg("g", {}, svg("rect", { rx: 4 }), ...Array.from({ length: most + 1 }, () => svg("text")));

// updateLabel writes rates and faults on a link.
function updateLabel(g, link, rates) {
  const { x, y } = places.labels.get(link.id);
  const rate = rates.get(`${link.id} ab`).bits + rates.get(`${link.id} ba`).bits;
  const wrong = summary(link);
  const lines = wrong.length > most ? [...wrong.slice(0, most - 1), `and ${wrong.length - most + 1} more`] : [...wrong];
  if (rate > 0) lines.unshift(bits(rate));
  const [box, ...texts] = g.children;
  const width = Math.max(...lines.map((l) => l.length), 0) * 6.4 + 12, height = lines.length * 15 + 5;
  set(g, "class", `label${!link.up ? " down" : wrong.length ? " faulty" : ""}`);
  set(g, "visibility", lines.length ? undefined : "hidden");
  for (const [name, value] of Object.entries({ x: x - width / 2, y: y - height / 2, width, height })) set(box, name, value);
  texts.forEach((t, i) => {
    text(t, lines[i] ?? "");
    set(t, "x", x);
    set(t, "y", y - height / 2 + 14 + 15 * i);
  });
}

function makeThing(thing) {
  const { x, y, isSwitch } = places.at.get(thing.name);
  const body = isSwitch ? svg("rect", { x: x - 38, y: y - 17, width: 76, height: 34, rx: 5 }) : svg("circle", { cx: x, cy: y, r: 24 });
  return svg("g", { class: isSwitch ? "switch" : "node" }, svg("title"), body, svg("text", { x, y: y + 5, class: "name" }), svg("text", { x, y: y + 40, class: "address" }),
    svg("text", { x: x + 27, y: y - 16, class: "side" }));
}

function updateThing(g, thing, sides) {
  const [title, , name, address, side] = g.children;
  text(name, thing.name);
  if (thing.addresses) {
    text(title, `${thing.name}: ${thing.addresses.join(", ")}${thing.programs ? `, ${thing.programs} programs` : ""}`);
    text(address, thing.addresses[0] ?? "");
    const n = sides.findIndex((s) => s.includes(thing.name));
    text(side, !sides.length ? "" : "ABCDEFGH"[n < 0 ? sides.length : n] ?? "?");
    set(g, "class", `node${thing.programs ? " busy" : ""}${thing.up ? "" : " down"}`);
  } else {
    text(title, `switch ${thing.name}${thing.lost ? `, ${thing.lost} frames without a way` : ""}`);
  }
}
