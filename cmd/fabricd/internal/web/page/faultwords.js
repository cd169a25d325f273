// The faults of a link in words, like the output of fabricd link.

import { percent, seconds, bits, short } from "./format.js";

// words returns the faults of a direction, [] for none.
export function words(f) {
  const all = [];
  const add = (is, word) => is && all.push(word);
  add(f.loss, `loss ${percent(f.loss)}`);
  add(f.burst.enter || f.burst.leave || f.burst.loss, `bursts ${percent(f.burst.enter)}/${percent(f.burst.leave)}/${percent(f.burst.loss)}`);
  add(f.delay_ms, `delay ${seconds(f.delay_ms / 1e3)}`);
  add(f.jitter_ms, `jitter ${seconds(f.jitter_ms / 1e3)}`);
  add(f.rate_mbit, bits(f.rate_mbit * 1e6));
  add(f.queue_packets, `queue ${f.queue_packets}`);
  add(f.queue_bytes, `queue ${f.queue_bytes} B`);
  add(f.ecn, `marks from ${short(f.ecn)}`);
  add(f.dup, `twice ${percent(f.dup)}`);
  add(f.reorder, `reorder ${percent(f.reorder)}`);
  add(f.corrupt, `corrupt ${percent(f.corrupt)}`);
  return all;
}

// harms tells whether a direction has faults other than a limit of its rate or its queue.
export const harms = (f) => Boolean(f.loss || f.burst.enter || f.delay_ms || f.jitter_ms || f.dup || f.reorder || f.corrupt);
