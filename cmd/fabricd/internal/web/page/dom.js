// Helpers for the document. Repeated content is changed in place, so that nothing jumps, and focus and selection stay.

const svgSpace = "http://www.w3.org/2000/svg";

export const byId = (id) => document.getElementById(id);

// el makes an element. Attributes that are functions are listeners.
export function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

// svg is el for drawings.
export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(svgSpace, tag), attributes, children);
}

function fill(e, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") e.addEventListener(name, value);
    else set(e, name, value);
  }
  e.append(...children);
  return e;
}

// set changes an attribute if it differs. false and undefined remove it.
export function set(e, name, value) {
  if (value === false || value === undefined) {
    if (e.hasAttribute(name)) e.removeAttribute(name);
    return;
  }
  value = value === true ? "" : String(value);
  if (e.getAttribute(name) !== value) e.setAttribute(name, value);
}

// text changes an element's text if it differs.
export function text(e, value) {
  value = String(value);
  if (e.textContent !== value) e.textContent = value;
}

// sync makes parent's children show items. Children with the key of an item stay, missing ones are made, and others
// are removed. sync calls update for each. Keys come from other processes, so two items may have the same.
export function sync(parent, items, keyOf, make, update) {
  const old = Map.groupBy(parent.children, (c) => c.dataset.key);
  let next = parent.firstElementChild;
  for (const item of items) {
    const key = String(keyOf(item));
    let e = old.get(key)?.shift();
    if (!e) {
      e = make(item);
      e.dataset.key = key;
    }
    if (e === next) next = next.nextElementSibling;
    else parent.insertBefore(e, next);
    update(e, item);
  }
  for (const e of [...old.values()].flat()) e.remove();
}

// row makes a row of a table. numbers tells which cells hold numbers.
export function row(numbers) {
  return el("tr", {}, ...numbers.map((n) => el("td", { class: n ? "n" : undefined })));
}

// cells fills the first cells of a row.
export function cells(tr, values) {
  values.forEach((v, i) => text(tr.cells[i], v));
}
