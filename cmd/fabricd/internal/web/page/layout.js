// The positions of nodes and switches on the map: nodes at the bottom, above them the switches to which nodes are
// connected, and other switches on top.

const rowHeight = 150, above = 44, below = 62;
const label = { width: 100, height: 38 }; // the usual size of a label

// columnWidth is the width for a node.
const columnWidth = (columns) => (columns < 3 ? 220 : columns <= 12 ? 132 : 80);

// layout returns {width, height, at: Map(name -> {x, y, isSwitch}), ends: Map(link -> [from, to]),
// labels: Map(link -> {x, y})}. It depends on names and links only, so that nothing moves while they stay the same.
export function layout(fabric) {
  const near = neighbours(fabric);
  const levels = levelsOf(fabric, near);
  order(levels, near);
  const widest = Math.max(1, ...levels.map((names) => names.length));
  const width = widest * columnWidth(widest);
  const height = above + (levels.length - 1) * rowHeight + below;
  const switches = new Set((fabric.switches ?? []).map((s) => s.name));
  const at = new Map();
  levels.forEach((names, level) => names.forEach((name, i) => {
    at.set(name, { x: (width * (i + 0.5)) / names.length, y: height - below - level * rowHeight, isSwitch: switches.has(name) });
  }));
  const ends = endsOf(fabric.links, at);
  return { width, height, at, ends, labels: placeLabels(ends, at) };
}

function neighbours(fabric) {
  const near = new Map();
  for (const { name } of [...fabric.nodes, ...(fabric.switches ?? [])]) near.set(name, []);
  for (const { a, b } of fabric.links) {
    near.get(a).push(b);
    near.get(b).push(a);
  }
  return near;
}

// levelsOf puts nodes on level 0. The level of a switch is its distance from the nearest node, in links.
function levelsOf(fabric, near) {
  const level = new Map(fabric.nodes.map((n) => [n.name, 0]));
  const queue = [...level.keys()];
  for (const name of queue) {
    for (const other of near.get(name)) {
      if (level.has(other)) continue;
      level.set(other, level.get(name) + 1);
      queue.push(other);
    }
  }
  const levels = [];
  for (const { name } of [...fabric.nodes, ...(fabric.switches ?? [])]) (levels[level.get(name) ?? 1] ??= []).push(name);
  return levels.filter((l) => l);
}

// order sorts each level by the positions of its neighbours on other levels, several times, so that few links cross.
function order(levels, near) {
  for (let sweep = 0; sweep < 6; sweep++) {
    const place = new Map();
    levels.forEach((names) => names.forEach((name, i) => place.set(name, (i + 0.5) / names.length)));
    const own = sweep % 2 ? levels : [...levels].reverse();
    for (const names of own) {
      const middle = new Map(names.map((name) => {
        const others = near.get(name).filter((o) => !names.includes(o)).map((o) => place.get(o));
        return [name, others.length ? others.reduce((a, b) => a + b) / others.length : place.get(name)];
      }));
      names.sort((a, b) => middle.get(a) - middle.get(b));
      names.forEach((name, i) => place.set(name, (i + 0.5) / names.length));
    }
  }
}

// endsOf returns the ends of links. Links between the same two ends lie side by side.
function endsOf(links, at) {
  const pair = ({ a, b }) => [a, b].sort().join(" ");
  const all = new Map();
  for (const l of links) all.set(pair(l), [...(all.get(pair(l)) ?? []), l.id]);
  return new Map(links.map((l) => {
    const a = at.get(l.a), b = at.get(l.b), beside = all.get(pair(l));
    const far = Math.hypot(b.x - a.x, b.y - a.y) || 1;
    const turn = l.a < l.b ? 1 : -1;
    const shift = (beside.indexOf(l.id) - (beside.length - 1) / 2) * Math.min(24, 40 / beside.length) * turn;
    const move = (p) => ({ x: p.x + ((b.y - a.y) / far) * shift, y: p.y + ((a.x - b.x) / far) * shift });
    return [l.id, [move(a), move(b)]];
  }));
}

// placeLabels finds a place for each label on its link, where it covers nodes and earlier labels as little as
// possible.
function placeLabels(ends, at) {
  const taken = [...at.values()].map(({ x, y, isSwitch }) => ({ x, y, width: isSwitch ? 76 : 48, height: isSwitch ? 34 : 48 }));
  const labels = new Map();
  for (const [id, [a, b]] of ends) {
    let [from, to] = [a, b];
    if (from.y < to.y) [from, to] = [to, from]; // from below, so that fractions of the length mean the same for all links
    let best = null;
    for (const part of from.y === to.y ? [0.5, 0.3, 0.7] : [0.42, 0.5, 0.34, 0.58, 0.27, 0.66]) {
      const place = { x: from.x + (to.x - from.x) * part, y: from.y + (to.y - from.y) * part, ...label };
      const covered = taken.reduce((sum, t) => sum + common(place, t), 0);
      if (!best || covered < best.covered) best = { ...place, covered };
    }
    taken.push(best);
    labels.set(id, best);
  }
  return labels;
}

// common returns the area that two boxes share.
function common(a, b) {
  const across = (a.width + b.width) / 2 - Math.abs(a.x - b.x), down = (a.height + b.height) / 2 - Math.abs(a.y - b.y);
  return across > 0 && down > 0 ? across * down : 0;
}
