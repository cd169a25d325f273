// Partitions: nodes that do not reach each other.

import { byId, el, sync, text } from "./dom.js";

const chosen = () => [...byId("sides").querySelectorAll("input:checked")].map((i) => i.value);

export function startPartition(change) {
  const refused = (message) => text(byId("uncut"), message);
  const attempt = async (method, body) => {
    try {
      await change(method, "/partition", body);
      refused("");
    } catch (e) {
      refused(e.message);
    }
  };
  byId("partition").addEventListener("submit", (event) => {
    event.preventDefault();
    if (chosen().length) attempt("PUT", { groups: [chosen()] });
    else refused("Choose nodes first.");
  });
  byId("heal").addEventListener("click", () => attempt("DELETE"));
}

export function showPartition(fabric) {
  const nodes = fabric.nodes;
  sync(byId("sides"), nodes, (n) => n.name, (n) => el("label", {}, el("input", { type: "checkbox", value: n.name }), ` ${n.name}`), () => {});
  const some = nodes.length > 1;
  const sides = fabric.partitions ?? [];
  const named = new Set(sides.flat());
  const rest = nodes.map((n) => n.name).filter((n) => !named.has(n));
  const all = [...sides, ...(rest.length ? [rest] : [])];
  text(byId("groups"), sides.length ? `Apart: ${all.map((g) => g.join(" ")).join(" | ")}` : "All nodes reach each other.");
  byId("cut").disabled = !some;
  byId("heal").disabled = !sides.length;
}
