// One token from near by: how likely each label is, the readings of its sentence, and why. A click fixes a label.

import { bar, colourOf, make, number as shown, percent } from "./elements.js";
import { newest, report } from "./service.js";
import { change, knownWithin, state } from "./state.js";
import { entityOf, firstOf, tokensOf } from "./tagged.js";
import { say } from "./words.js";

const MOST_REASONS = 8;
const question = newest();
let last = { key: "", answer: null };

// Everything about one sentence, asked once.
async function sentenceOf(item, facts, sentence) {
  const row = item.sentences[sentence];
  const known = knownWithin(firstOf(item, sentence), row.tokens.length);
  const body = {
    model: facts.name, tokens: row.tokens.map((token) => token.text), marginals: true, spans: facts.finds_spans,
    k_best: Number(state.best), explain: facts.explains, known,
  };
  const key = JSON.stringify(body);
  if (last.key !== key) last = { key, answer: (await question("v1/tag", body)) };
  return last.answer;
}

export async function showDetails(target, item, facts, number) {
  if (!item || number < 0) {
    target.replaceChildren(make("p", { class: "quiet" }, say("nothing")), ...freeAll());
    return;
  }
  const token = tokensOf(item)[number];
  if (!token) return;
  try {
    const answer = await sentenceOf(item, facts, token.sentence);
    const sentence = answer.results[0].sentences[0];
    const focused = target.contains(document.activeElement) ? document.activeElement.dataset.fix : null;
    target.replaceChildren(
      make("h3", {}, `${token.text} `, make("span", { class: "quiet" }, token.label)),
      ...entityLines(item, facts, number),
      ...distribution(answer.labels, sentence.tokens[token.place], number),
      ...reasons(sentence, token.place),
      ...rivals(sentence, facts),
      ...freeAll(),
    );
    if (focused) target.querySelector(`[data-fix="${CSS.escape(focused)}"]`)?.focus();
  } catch (error) {
    report(error);
  }
}

function entityLines(item, facts, number) {
  const entity = entityOf(item, number);
  if (!entity) return [];
  const mark = make("span", { class: `entity ${colourOf(entity.type, facts.types)}` }, entity.text);
  return [make("p", {}, `${say("entity")}: `, mark, ` ${entity.type}, ${say("probability")} ${entity.probability.toFixed(4)}`)];
}

const tellFix = (token, label) => document.dispatchEvent(new CustomEvent("fix", { detail: { token, label } }));

function distribution(labels, token, number) {
  const fixed = state.known.some((known) => known.token === number);
  const rows = labels.map((label, j) => [label, token.marginals[j]]).sort((a, b) => b[1] - a[1]);
  const shownRows = rows.filter(([, p], rank) => p > 0.0005 || rank < 3);
  const hidden = rows.slice(shownRows.length);
  const line = ([label, p]) => make("li", {},
    make("button", { type: "button", class: "name", "data-fix": label, "aria-pressed": String(fixed && label === token.label), onclick: () => tellFix(number, label) }, label),
    bar(p), make("span", { class: "number" }, percent(p)));
  const rest = hidden.length ? [make("details", {}, make("summary", {}, `${hidden.length} ${say("more")}`), make("ul", { class: "bars" }, ...hidden.map(line)))] : [];
  const free = fixed ? [make("button", { type: "button", "data-fix": "", onclick: () => tellFix(number, null) }, say("free"))] : [];
  return [make("p", { class: "quiet" }, say("distribution")), make("ul", { class: "bars" }, ...shownRows.map(line)), ...rest, ...free];
}

function reasons(sentence, place) {
  const reason = sentence.explanation?.[place];
  if (!reason || !reason.runner_up || !reason.contributions.length) return [];
  const terms = reason.contributions.slice(0, MOST_REASONS);
  const most = Math.max(...terms.map((term) => Math.abs(term.amount)), 1e-9);
  const rows = terms.map((term) => make("li", {},
    make("span", { class: "name" }, nameOf(term)), bar(Math.abs(term.amount) / most, term.amount < 0), make("span", { class: "number" }, shown(term.amount))));
  return [
    make("h3", {}, `${say("why")} ${reason.runner_up} `, make("span", { class: "quiet" }, `${percent(reason.runner_up_probability)}, ${shown(reason.margin)}`)),
    make("ul", { class: "bars long" }, ...rows),
    ...meanings(sentence.legend ?? [], terms),
  ];
}

// What U25 and the like stand for, of those that are shown.
function meanings(legend, terms) {
  const lines = legend.filter((line) => terms.some((term) => term.name && line.trim().startsWith(term.name.split(":")[0])));
  return lines.length ? [make("p", { class: "quiet" }, lines.map((line) => line.trim()).join("; "))] : [];
}

function nameOf(term) {
  const pair = `${term.labels.join(" → ")} / ${term.rival.join(" → ")}`;
  return term.kind === "transition" || !term.name ? `${term.kind} ${pair}` : term.name;
}

function rivals(sentence, facts) {
  const slider = make("input", { type: "range", min: 1, max: 10, value: state.best, "aria-label": say("best"), oninput: (event) => change({ best: event.target.value }) });
  const rows = (sentence.k_best ?? []).map((ranked) => {
    const words = sentence.tokens.map((token, t) => {
      const type = ranked.labels[t].replace(/^[A-Z]-/, "");
      const marked = ranked.labels[t] !== "O" && facts.types.includes(type);
      return make("span", { class: marked ? `entity ${colourOf(type, facts.types)}` : "", title: ranked.labels[t] }, token.text);
    });
    const line = words.flatMap((word, t) => (t && !facts.by_character ? [" ", word] : [word]));
    return make("tr", {}, make("td", { class: "number" }, percent(ranked.probability)), make("td", {}, ...line));
  });
  return [make("h3", {}, say("rivals")), make("label", { class: "row" }, `${say("best")} `, slider), make("table", {}, make("tbody", {}, ...rows))];
}

function freeAll() {
  if (!state.known.length) return [];
  return [make("p", {}, make("button", { type: "button", onclick: () => change({ known: [] }) }, `${say("freeAll")} (${state.known.length})`))];
}
