// The first view: text in, coloured entities out while one types; a token that is chosen is looked at more closely.

import { copies } from "./copies.js";
import { find, make } from "./elements.js";
import { showDetails } from "./details.js";
import { newest, report, tell } from "./service.js";
import { fix, state } from "./state.js";
import { render, tokensOf } from "./tagged.js";
import { say } from "./words.js";

const question = newest();
let item = null;
let facts = null;
let active = -1;
let timer = 0;

export const currentItem = () => item;

export function setFacts(given) {
  facts = given;
}

// Ask soon, not at every key.
export function askSoon(ms = 120) {
  clearTimeout(timer);
  timer = setTimeout(askNow, ms);
}

export async function askNow() {
  clearTimeout(timer);
  if (!facts) return;
  try {
    const body = { model: facts.name, text: state.text, offsets: "utf-16", known: state.known };
    const answer = await question("v1/tag", body);
    item = answer.results[0];
    if (item.text !== state.text) return; // typed on meanwhile
    tell("");
    show();
    document.dispatchEvent(new CustomEvent("answered"));
  } catch (error) {
    report(error);
  }
}

export function show() {
  const output = find("output");
  if (!item) return;
  if (!item.text.trim()) output.replaceChildren(make("span", { class: "quiet" }, say("empty")));
  else {
    const fixed = new Set(state.known.map((known) => known.token));
    render(output, item, facts.types, (token) => ({
      classes: fixed.has(token.number) ? "fixed" : "", id: `token-${token.number}`, role: "option",
      "aria-selected": token.number === active ? "true" : "false",
    }));
  }
  if (active >= tokensOf(item).length) active = -1;
  choose(active, false);
  copies(find("copies"), item, facts);
}

function choose(number, scroll = true) {
  const output = find("output");
  for (const token of output.querySelectorAll(".token.active")) {
    token.classList.remove("active");
    token.setAttribute("aria-selected", "false");
  }
  active = number;
  const chosen = number < 0 ? null : output.querySelector(`[data-token="${number}"]`);
  if (chosen) {
    chosen.classList.add("active");
    chosen.setAttribute("aria-selected", "true");
    output.setAttribute("aria-activedescendant", chosen.id);
    if (scroll) chosen.scrollIntoView({ block: "nearest" });
  } else output.removeAttribute("aria-activedescendant");
  showDetails(find("details"), item, facts, chosen ? number : -1);
}

export function start() {
  const output = find("output");
  let hover = 0;
  output.addEventListener("click", (event) => {
    const token = event.target.closest("[data-token]") ?? event.target.closest(".entity")?.querySelector("[data-token]");
    if (token) choose(Number(token.dataset.token));
  });
  output.addEventListener("mouseover", (event) => {
    const token = event.target.closest("[data-token]");
    clearTimeout(hover);
    if (token && active < 0) hover = setTimeout(() => showDetails(find("details"), item, facts, Number(token.dataset.token)), 80);
  });
  output.addEventListener("keydown", (event) => {
    const count = item ? tokensOf(item).length : 0;
    const moves = { ArrowRight: active + 1, ArrowLeft: active - 1, Home: 0, End: count - 1, Escape: -1 };
    if (!(event.key in moves) || !count) return;
    event.preventDefault();
    choose(event.key === "Escape" ? -1 : Math.max(0, Math.min(count - 1, moves[event.key])));
  });
  document.addEventListener("fix", (event) => fix(event.detail.token, event.detail.label));
}
