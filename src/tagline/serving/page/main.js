// The page: its views, its language and colours, and who hears when something changes.

import { askCompare } from "./compare.js";
import { find, make } from "./elements.js";
import * as modelView from "./model.js";
import { ask, report } from "./service.js";
import { change, listen, readAddress, state } from "./state.js";
import * as trellisView from "./trellis.js";
import * as tryView from "./try.js";
import { currentLanguage, say, useLanguage } from "./words.js";

const VIEWS = ["try", "trellis", "model", "compare"];
const EXAMPLES = ["Maria Lindqvist met Peter Oduya in Oslo on 3 May 2021.", "Anna Smith works for Acme Corporation in New York. She lives in Rome.", "王小明在北京大学读书，2021年5月3日去了上海。"];
let models = [];

function showView() {
  if (!VIEWS.includes(state.view)) state.view = "try";
  for (const view of VIEWS) find(`view-${view}`).hidden = view !== state.view;
  find("input").hidden = state.view === "model";
  for (const link of document.querySelectorAll("nav a")) {
    if (link.dataset.view === state.view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  trellisView.askTrellis();
  modelView.show();
  askCompare(models);
}

async function chooseModel() {
  try {
    const name = models.includes(state.model) ? state.model : models[0];
    find("model").value = name;
    const facts = await ask(`v1/models/${encodeURIComponent(name)}`);
    for (const view of [tryView, trellisView, modelView]) view.setFacts(facts);
    await tryView.askNow();
    showView();
  } catch (error) {
    report(error);
  }
}

function translate(name) {
  useLanguage(name);
  localStorage.setItem("tagline-language", currentLanguage());
  const other = currentLanguage() === "en" ? ["zh", "中文"] : ["en", "English"];
  find("language").textContent = other[1];
  find("language").lang = other[0];
  paint(document.documentElement.dataset.theme);
  tryView.show();
  trellisView.show();
}

function paint(theme) {
  document.documentElement.dataset.theme = theme;
  find("theme").textContent = say(theme === "dark" ? "light" : "dark");
}

function onChange(changed) {
  if (changed.includes("view")) showView();
  if (changed.includes("model")) chooseModel();
  else if (changed.includes("text")) tryView.askSoon();
  else if (changed.includes("known")) tryView.askNow();
  if (changed.includes("best")) tryView.show();
  if (changed.includes("sentence")) trellisView.askTrellis();
  if (changed.includes("show")) trellisView.show();
  if (changed.includes("text") || changed.includes("other")) askCompare(models);
}

function listenToPage() {
  const text = find("text");
  const take = () => change({ text: text.value });
  text.addEventListener("input", (event) => event.isComposing || take()); // an input method is still at work
  text.addEventListener("compositionend", take);
  find("model").addEventListener("change", (event) => change({ model: event.target.value }));
  find("other").addEventListener("change", (event) => change({ other: event.target.value }));
  find("language").addEventListener("click", () => translate(currentLanguage() === "en" ? "zh" : "en"));
  find("theme").addEventListener("click", () => {
    paint(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
    localStorage.setItem("tagline-theme", document.documentElement.dataset.theme);
  });
  for (const link of document.querySelectorAll("nav a")) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      change({ view: link.dataset.view });
    });
  }
  document.addEventListener("answered", () => trellisView.askTrellis());
  addEventListener("hashchange", () => {
    readAddress();
    text.value = state.text;
    chooseModel();
  });
  find("examples").replaceChildren(...EXAMPLES.map((example) => make("button", { type: "button", class: "quiet", onclick: () => {
    text.value = example;
    take();
  } }, example.length > 34 ? `${example.slice(0, 33)}…` : example)));
}

async function start() {
  readAddress();
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  paint(localStorage.getItem("tagline-theme") ?? (dark ? "dark" : "light"));
  translate(localStorage.getItem("tagline-language") ?? (navigator.language.startsWith("zh") ? "zh" : "en"));
  listen(onChange);
  tryView.start();
  modelView.start();
  listenToPage();
  if (!state.text) state.text = EXAMPLES[currentLanguage() === "zh" ? 2 : 0];
  find("text").value = state.text;
  models = (await ask("v1/models")).models.map((line) => line.name);
  for (const id of ["model", "other"]) find(id).replaceChildren(...models.map((name) => make("option", { value: name }, name)));
  if (models.length > 1) find("other").value = state.other || models[1];
  await chooseModel();
  document.documentElement.dataset.ready = "true";
}

start().catch(report);
