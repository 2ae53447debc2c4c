// The trellis of one sentence: tokens across, labels down; sums and maxima can be played one token at a time.

import { draw, find, make, number as shown, percent } from "./elements.js";
import { newest, report } from "./service.js";
import { change, knownWithin, state } from "./state.js";
import { currentItem } from "./try.js";
import { firstOf } from "./tagged.js";
import { say } from "./words.js";

const MODES = ["marginals", "forward", "backward", "viterbi"];
const TABLES = { marginals: "nodes", forward: "log_alpha", backward: "log_beta", viterbi: "viterbi" };
const question = newest();
let facts = null;
let data = null;
let step = 0;
let scale = 1;
let chosen = null;
let playing = 0;

export function setFacts(given) {
  facts = given;
}

export async function askTrellis() {
  const item = currentItem();
  if (!facts || !item || state.view !== "trellis") return;
  const count = item.sentences.length;
  const sentence = Math.min(Number(state.sentence) || 0, count - 1);
  if (sentence < 0 || !item.sentences[sentence].tokens.length) {
    data = null;
    find("trellis").replaceChildren(say("empty"));
    return;
  }
  const tokens = item.sentences[sentence].tokens;
  try {
    const known = knownWithin(firstOf(item, sentence), tokens.length);
    data = await question("v1/trellis", { model: facts.name, tokens: tokens.map((token) => token.text), known });
    step = tokens.length - 1;
    chosen = null;
    show();
  } catch (error) {
    data = null;
    if (error.name === "AbortError") return;
    controls();
    find("trellis").replaceChildren(error.field === "model" ? say("noTrellis") : error.status === 413 ? say("tooLong") : error.message);
    if (!error.status) report(error);
  }
}

export function show() {
  controls();
  if (!data) return;
  find("trellis").replaceChildren(picture());
  showCell();
}

function controls() {
  const item = currentItem();
  const option = (value, text, selected) => make("option", { value, selected }, text);
  const sentences = (item?.sentences ?? []).map((row, b) => option(b, `${b + 1}: ${row.tokens.slice(0, 6).map((token) => token.text).join(" ")} …`, String(b) === state.sentence));
  const T = data ? data.tokens.length : 1;
  const button = (name, act) => make("button", { type: "button", onclick: act }, say(name));
  const active = document.activeElement?.id;
  find("trellis-controls").replaceChildren(
    make("label", {}, `${say("sentence")} `, make("select", { id: "sentence", onchange: (event) => change({ sentence: event.target.value }) }, ...sentences)),
    make("label", {}, `${say("show")} `, make("select", { id: "show", onchange: (event) => change({ show: event.target.value }) }, ...MODES.map((mode) => option(mode, say(mode), mode === state.show)))),
    make("label", {}, `${say("step")} `, make("input", { id: "step", type: "range", min: 0, max: T - 1, value: step, oninput: (event) => move(Number(event.target.value)) })),
    make("button", { id: "play", type: "button", onclick: play }, say(playing ? "stop" : "play")),
    button("larger", () => zoom(1.25)), button("smaller", () => zoom(0.8)),
  );
  if (active) find(active)?.focus();
}

function zoom(factor) {
  scale = Math.max(0.3, Math.min(4, scale * factor));
  show();
}

function move(to) {
  step = to;
  show();
}

function play() {
  if (playing) {
    clearInterval(playing);
    playing = 0;
    show();
    return;
  }
  const T = data?.tokens.length ?? 0;
  step = state.show === "backward" ? T - 1 : 0;
  playing = setInterval(() => {
    const next = state.show === "backward" ? step - 1 : step + 1;
    if (!data || next < 0 || next >= T || state.view !== "trellis") {
      clearInterval(playing);
      playing = 0;
      show();
    } else move(next);
  }, 900);
  show();
}

// Whether a column is computed already in the step that is shown.
const isDone = (t) => (state.show === "backward" ? t >= step : state.show === "marginals" || t <= step);

function picture() {
  const T = data.tokens.length;
  const L = data.labels.length;
  const left = 16 + 8 * Math.max(...data.labels.map((label) => label.length));
  const [dx, dy, top] = [96, 44, 44];
  const x = (t) => left + 40 + t * dx;
  const y = (j) => top + 24 + j * dy;
  const [width, height] = [left + 60 + T * dx, top + 30 + L * dy];
  const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, width: width * scale, height: height * scale, role: "group", "aria-label": say("trellis") });
  const hatch = draw("pattern", { id: "hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, draw("path", { d: "M0 0V6", stroke: "currentColor", "stroke-width": 1, opacity: 0.45 }));
  svg.append(draw("defs", {}, hatch));
  if (state.show !== "marginals") svg.append(draw("rect", { class: "now", x: x(step) - dx / 2 + 6, y: 4, width: dx - 12, height: height - 8, rx: 8 }));
  const line = (path, name) => svg.append(draw("polyline", { class: name, points: path.map((j, t) => `${x(t)},${y(j)}`).join(" ") }));
  if (state.show === "marginals") for (const edge of data.edges) svg.append(draw("path", { class: "edge", d: `M${x(edge.t - 1)} ${y(edge.from)}L${x(edge.t)} ${y(edge.to)}`, "stroke-width": (0.5 + 4 * edge.p).toFixed(2), opacity: Math.max(0.08, edge.p).toFixed(2) }));
  if (state.show === "viterbi") backPointers(svg, x, y);
  if (state.show === "marginals" || (state.show === "viterbi" && step === T - 1)) {
    if (data.runner_up) line(data.runner_up, "second");
    line(data.best, "best");
  }
  data.labels.forEach((label, j) => svg.append(draw("text", { x: left, y: y(j) + 4, "text-anchor": "end" }, label)));
  data.tokens.forEach((token, t) => {
    svg.append(draw("text", { x: x(t), y: 24, "text-anchor": "middle" }, token.text.length > 11 ? `${token.text.slice(0, 10)}…` : token.text));
    data.labels.forEach((label, j) => svg.append(cell(t, j, x(t), y(j))));
  });
  return svg;
}

function backPointers(svg, x, y) {
  for (let t = 1; t <= step; t += 1) {
    data.back[t].forEach((i, j) => {
      if (i >= 0 && data.viterbi[t][j] !== null) svg.append(draw("path", { class: "edge", d: `M${x(t - 1)} ${y(i)}L${x(t)} ${y(j)}`, "stroke-width": 1.4, opacity: 0.6 }));
    });
  }
}

function cell(t, j, x, y) {
  const p = data.nodes[t][j];
  const forbidden = data.log_alpha[t][j] === null || data.log_beta[t][j] === null;
  const value = data[TABLES[state.show]][t][j];
  const name = `${data.tokens[t].text} ${data.labels[j]}: ${state.show === "marginals" ? percent(p) : shown(value)}`;
  const choose = () => {
    chosen = [t, j];
    if (state.show !== "marginals") step = t;
    show();
    find("trellis").querySelector(`[data-cell="${t}-${j}"]`)?.focus();
  };
  const keys = (event) => {
    const next = { ArrowRight: [t + 1, j], ArrowLeft: [t - 1, j], ArrowDown: [t, j + 1], ArrowUp: [t, j - 1] }[event.key];
    if (next) find("trellis").querySelector(`[data-cell="${next[0]}-${next[1]}"]`)?.focus();
    else if (event.key === "Enter" || event.key === " ") choose();
    else return;
    event.preventDefault();
  };
  const isChosen = chosen && chosen[0] === t && chosen[1] === j;
  const group = draw("g", { class: `cell ${isChosen ? "chosen" : ""}`, tabindex: isChosen || (!chosen && t === 0 && j === 0) ? 0 : -1, role: "button", "aria-label": name, "data-cell": `${t}-${j}`, onclick: choose, onkeydown: keys });
  group.append(draw("title", {}, name));
  if (forbidden) group.append(draw("rect", { class: "hatch", x: x - 15, y: y - 15, width: 30, height: 30, rx: 6 }));
  group.append(draw("circle", { class: "ring", cx: x, cy: y, r: 15, "pointer-events": "all" }));
  if (isDone(t)) {
    if (state.show === "marginals") group.append(draw("circle", { class: "node", cx: x, cy: y, r: (15 * Math.sqrt(p)).toFixed(2) }));
    else if (!forbidden || value !== null) group.append(draw("text", { class: "value", x, y: y + 4, "text-anchor": "middle" }, value === null ? "−∞" : value.toFixed(1).replace("-", "−")));
  }
  return group;
}

// How one cell is computed: the terms of its sum or maximum.
function showCell() {
  const target = find("cell");
  if (!chosen || state.show === "marginals") {
    target.replaceChildren(make("p", { class: "quiet" }, chosen ? `${data.tokens[chosen[0]].text} ${data.labels[chosen[1]]}: ${percent(data.nodes[chosen[0]][chosen[1]])}` : say("chooseCell")));
    return;
  }
  const [t, j] = chosen;
  const T = data.tokens.length;
  const backwards = state.show === "backward";
  const table = data[TABLES[state.show]];
  const into = (s) => (Array.isArray(data.transitions[0]?.[0]) ? data.transitions[s] : data.transitions);
  const add = (...parts) => (parts.some((part) => part === null) ? null : parts.reduce((a, b) => a + b, 0));
  let rows = [];
  if (backwards && t < T - 1) rows = data.labels.map((label, i) => [`→ ${label}`, into(t + 1)[j][i], data.emissions[t + 1][i], table[t + 1][i]]);
  else if (!backwards && t > 0) rows = data.labels.map((label, i) => [`${label} →`, into(t)[i][j], null, table[t - 1][i]]);
  const terms = rows.map(([label, transition, emission, before]) => ({ label, transition, emission, before, sum: backwards ? add(transition, emission, before) : add(transition, before) }));
  const best = Math.max(...terms.map((term) => term.sum ?? -Infinity));
  const head = `${data.tokens[t].text} ${data.labels[j]}: ${shown(table[t][j])}`;
  const edge = backwards ? `${say("end")} ${shown(data.end[j])}` : `${say("start")} ${shown(data.start[j])} + ${say("emission")} ${shown(data.emissions[t][j])}`;
  const rule = !rows.length ? `= ${edge}` : `= ${say(state.show === "viterbi" ? "max" : "sum")} ↓${backwards ? "" : ` + ${say("emission")} ${shown(data.emissions[t][j])}`}`;
  const line = (term) => make("tr", {},
    make("th", { scope: "row" }, term.label), make("td", { class: "number" }, shown(term.before)), make("td", { class: "number" }, `+ ${shown(term.transition)}`),
    backwards ? make("td", { class: "number" }, `+ ${shown(term.emission)}`) : null,
    make("td", { class: "number" }, `= ${shown(term.sum)}${state.show === "viterbi" && term.sum === best ? " ★" : ""}`));
  target.replaceChildren(make("h3", {}, head), make("p", { class: "quiet" }, rule), make("table", {}, make("tbody", {}, ...terms.map(line))));
}
