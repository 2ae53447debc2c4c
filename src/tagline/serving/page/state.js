// What the page shows: one state, kept in the address so that it can be sent to somebody.

const DEFAULTS = { view: "try", text: "", model: "", other: "", best: "3", sentence: "0", show: "marginals" };

export const state = { ...DEFAULTS, known: [] }; // known: [{token, label}], tokens counted over the whole text
const listeners = [];
let pending = 0;

export function readAddress() {
  const given = new URLSearchParams(location.hash.slice(1));
  for (const name of Object.keys(DEFAULTS)) state[name] = given.get(name) ?? (name === "view" ? "try" : state[name]);
  if (given.has("known")) {
    state.known = given.get("known").split(";").filter(Boolean).map((part) => {
      const at = part.indexOf(":");
      return { token: Number(part.slice(0, at)), label: part.slice(at + 1) };
    }).filter((known) => Number.isInteger(known.token) && known.token >= 0);
  }
}

function writeAddress() {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(DEFAULTS)) if (state[name] !== value) given.set(name, state[name]);
  if (state.known.length) given.set("known", state.known.map((known) => `${known.token}:${known.label}`).join(";"));
  if (!given.has("view")) given.set("view", state.view);
  history.replaceState(null, "", `#${given}`);
}

export const listen = (listener) => listeners.push(listener);

// Change some of it; views hear which names changed.
export function change(values) {
  const changed = Object.keys(values).filter((name) => state[name] !== values[name]);
  if (!changed.length) return;
  if (changed.includes("text") && !("known" in values)) {
    state.known = [];
    changed.push("known");
  }
  Object.assign(state, values);
  clearTimeout(pending);
  pending = setTimeout(writeAddress, 250);
  for (const listener of listeners) listener(changed);
}

export function fix(token, label) {
  const others = state.known.filter((known) => known.token !== token);
  change({ known: label === null ? others : [...others, { token, label }].sort((a, b) => a.token - b.token) });
}

// What holds in one sentence, whose tokens begin with number `first`.
export const knownWithin = (first, count) =>
  state.known.filter((known) => known.token >= first && known.token < first + count)
    .map((known) => ({ token: known.token - first, label: known.label }));
