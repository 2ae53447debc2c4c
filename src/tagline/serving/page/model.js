// What a model has learned: facts, transitions as a heat map, the features that weigh most.

import { bar, find, make, number as shown } from "./elements.js";
import { newest, report } from "./service.js";
import { state } from "./state.js";
import { say } from "./words.js";

const question = newest();
let facts = null;
let timer = 0;

export function setFacts(given) {
  facts = given;
  const labels = [make("option", { value: "" }, say("allLabels")), ...facts.labels.map((label) => make("option", { value: label }, label))];
  find("feature-label").replaceChildren(...labels);
}

export function show() {
  if (!facts || state.view !== "model") return;
  find("facts").replaceChildren(factTable());
  showTypes(facts.training?.dev?.types ?? {});
  find("heat").replaceChildren(facts.transitions ? heatMap(facts.labels, facts.transitions) : say("noTransitions"));
  askFeatures();
}

function factTable() {
  const rows = [[say("kind"), facts.kind], [say("labels"), `${facts.labels.length}: ${facts.labels.join(" ")}`], [say("scheme"), facts.scheme ?? "—"], ["", facts.line], [say("loaded"), `${facts.loaded} ${facts.fingerprint}`]];
  for (const [name, value] of Object.entries(facts.training ?? {})) {
    if (value === null || value === "" || (Array.isArray(value) && !value.length) || name === "log") continue;
    const plain = typeof value === "object" ? Object.entries(value).filter(([key]) => key !== "types").map(([key, x]) => `${key} ${typeof x === "number" ? Number(x.toFixed(4)) : JSON.stringify(x)}`).join(", ") : String(value);
    rows.push([name === "dev" ? say("dev") : `${say("trained")}: ${name}`, plain]);
  }
  return make("table", {}, make("tbody", {}, ...rows.map(([name, value]) => make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, value)))));
}

function showTypes(types) {
  const names = ["precision", "recall", "f1", "gold"];
  const head = make("tr", {}, make("th", { scope: "col" }, say("type")), ...names.map((name) => make("th", { scope: "col" }, say(name))));
  const rows = Object.entries(types).map(([type, scores]) => make("tr", {}, make("th", { scope: "row" }, type || "—"), ...names.map((name) => make("td", {}, scores[name] === undefined ? "—" : name === "gold" ? String(scores[name]) : (100 * scores[name]).toFixed(2)))));
  find("types").hidden = !rows.length;
  find("type-scores").replaceChildren(make("table", { class: "numbers" }, make("thead", {}, head), make("tbody", {}, ...rows)));
}

function heatMap(labels, transitions) {
  const finite = transitions.flat().filter((x) => x !== null);
  const most = Math.max(...finite.map(Math.abs), 1e-9);
  const head = make("tr", {}, make("td", {}, `${say("from")} ↓`), ...labels.map((label) => make("th", { scope: "col" }, label)));
  const rows = transitions.map((row, i) => make("tr", {}, make("th", { scope: "row" }, labels[i]), ...row.map((x, j) => heatCell(x, most, `${labels[i]} → ${labels[j]}: ${shown(x)}`))));
  return make("table", { class: "heat" }, make("thead", {}, head), make("tbody", {}, ...rows));
}

function heatCell(x, most, title) {
  if (x === null) return make("td", { class: "forbidden", title }, make("span", { class: "quiet" }, "×"));
  const cell = make("td", { title }, x.toFixed(1).replace("-", "−"));
  const share = Math.round(55 * Math.min(1, Math.abs(x) / most));
  cell.style.background = `color-mix(in srgb, var(${x >= 0 ? "--more" : "--less"}) ${share + (share ? 40 : 0)}%, transparent)`;
  return cell;
}

async function askFeatures() {
  const given = new URLSearchParams({ top: "40", search: find("feature-search").value });
  if (find("feature-label").value) given.set("label", find("feature-label").value);
  try {
    const { features } = await question(`v1/models/${encodeURIComponent(facts.name)}/features?${given}`);
    const rows = features.slice(0, 60);
    const most = Math.max(...rows.map((row) => Math.abs(row.weight)), 1e-9);
    const lines = rows.map((row) => make("li", {}, make("span", { class: "name" }, `${row.label}  ${row.attribute}`), bar(Math.abs(row.weight) / most, row.weight < 0), make("span", { class: "number" }, shown(row.weight))));
    find("features").replaceChildren(lines.length ? make("ul", { class: "bars long" }, ...lines) : say("noFeatures"));
  } catch (error) {
    report(error);
  }
}

export function start() {
  find("feature-label").addEventListener("change", askFeatures);
  find("feature-search").addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(askFeatures, 200);
  });
}
