// Rates of links, from two samples of their counts.

let before = null;
let rates = new Map();

// look stores the counts of a fabric, and returns the rates of each direction ("n1-n2 ab") since the previous sample.
// A sample less than 0.3 s later, such as the answer to a change, returns the previous rates.
export function look(fabric) {
  const passed = before ? fabric.seconds - before.seconds : 0;
  if (before && passed >= 0 && passed < 0.3) return rates;
  const now = { seconds: fabric.seconds, stats: new Map() };
  const next = new Map();
  for (const link of fabric.links) {
    for (const way of ["ab", "ba"]) {
      const key = `${link.id} ${way}`;
      const s = link[way].stats;
      const old = passed > 0 ? before.stats.get(key) : undefined;
      now.stats.set(key, s);
      const per = (name) => (old && s[name] >= old[name] ? (s[name] - old[name]) / passed : 0);
      next.set(key, { bits: per("bytes") * 8, frames: per("frames"), harmed: per("lost") + per("dropped") + per("cut") });
    }
  }
  before = now;
  rates = next;
  return rates;
}
