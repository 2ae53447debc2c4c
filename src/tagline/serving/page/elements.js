// Elements are made by these, from texts: no token ever becomes HTML.

const SVG = "http://www.w3.org/2000/svg";

function fill(part, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) part.addEventListener(name.slice(2), value);
    else part.setAttribute(name, value === true ? "" : String(value));
  }
  part.append(...children.filter((child) => child !== null && child !== undefined));
  return part;
}

export const make = (name, properties = {}, ...children) => fill(document.createElement(name), properties, children);
export const draw = (name, properties = {}, ...children) => fill(document.createElementNS(SVG, name), properties, children);
export const find = (id) => document.getElementById(id);

export function bar(share, against = false) {
  const inner = make("span", against ? { class: "against" } : {});
  inner.style.width = `${Math.max(0, Math.min(100, 100 * share)).toFixed(1)}%`;
  return make("div", { class: "bar", "aria-hidden": "true" }, inner);
}

export const percent = (p) => (p >= 0.9995 || p === 0 ? `${(100 * p).toFixed(0)} %` : p < 0.001 ? "< 0.1 %" : `${(100 * p).toFixed(1)} %`);
export const number = (x) => (x === null || x === undefined ? "−∞" : x.toFixed(3).replace("-", "−"));

// Types have colours by their place among the model's types, the same in every view.
export const colourOf = (type, types) => `c${Math.max(0, types.indexOf(type)) % 8}`;
