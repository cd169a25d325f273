// The stuck operations, and the directory's names.

import { byId, cells, row, sync, text } from "./dom.js";
import { ago, bytes, until } from "./format.js";

// fillTable shows items as rows of a section's table, or a note that there are none.
function fillTable(section, items, keyOf, numbers, values) {
  const table = section.querySelector("table");
  table.hidden = !items.length;
  section.querySelector(".none").hidden = items.length > 0;
  sync(table.tBodies[0], items, keyOf, () => row(numbers), (tr, item) => cells(tr, values(item)));
}

// showStuck shows which process waits for which peer. null: the daemon does not watch processes.
export function showStuck(answer) {
  const section = byId("stuck");
  section.hidden = !answer;
  if (!answer) return;
  const keyOf = (s) => [s.pid, s.what, s.provider, s.local, s.peer, s.since].join(" ");
  section.classList.toggle("some", answer.stuck.length > 0);
  fillTable(section, answer.stuck, keyOf, [false, false, false, false, false, false], (s) => [
    ago(s.since),
    `${s.name} ${s.pid}`,
    [s.what, s.provider].filter(Boolean).join(" on "),
    [s.state, s.bytes && bytes(s.bytes)].filter(Boolean).join(", "),
    [s.local, s.interface && `(${s.interface})`].filter(Boolean).join(" "),
    [s.peer, s.peer_pid && `(${s.peer_name} ${s.peer_pid})`].filter(Boolean).join(" "),
  ]);
}

// showNames shows the directory. null: the daemon has none.
export function showNames(answer) {
  const section = byId("names");
  section.hidden = !answer;
  if (!answer) return;
  const names = answer.names ?? [];
  fillTable(section, names, (n) => n.name, [false, false, true, true], (n) => [n.name + (n.private ? " (private)" : ""), n.address, n.owner_uid, until(n.expires)]);
  const note = section.querySelector(".none");
  note.hidden = names.length > 0 && !answer.more;
  text(note, answer.more ? `The first ${names.length}. fabricd names lists all.` : "The directory is empty.");
}
