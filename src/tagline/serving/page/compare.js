// Two models on the same text: what they read, and the tokens on which they differ.

import { find, make } from "./elements.js";
import { ask, newest, report } from "./service.js";
import { state } from "./state.js";
import { render, tokensOf } from "./tagged.js";
import { say } from "./words.js";

const questions = [newest(), newest()];
const described = new Map();

async function factsOf(name) {
  if (!described.has(name)) described.set(name, await ask(`v1/models/${encodeURIComponent(name)}`));
  return described.get(name);
}

// Labels by the place of their token: two models may cut the text differently.
const placed = (item) => new Map(tokensOf(item).map((token) => [`${token.start}-${token.end}`, token.label]));

export async function askCompare(models) {
  if (state.view !== "compare" || !models.length) return;
  const names = [state.model || models[0], state.other || models.find((name) => name !== (state.model || models[0])) || models[0]];
  if (models.length < 2) find("agreement").textContent = say("onlyOne");
  try {
    const body = (name) => ({ model: name, text: state.text, offsets: "utf-16" });
    const facts = await Promise.all(names.map(factsOf));
    const answers = await Promise.all(names.map((name, n) => questions[n]("v1/tag", body(name))));
    const items = answers.map((answer) => answer.results[0]);
    const labels = items.map(placed);
    const differs = (n) => (token) => ({ classes: labels[1 - n].get(`${token.start}-${token.end}`) === token.label ? "" : "differs" });
    const sides = names.map((name, n) => {
      const output = make("div", { class: "output", tabindex: 0, role: "region", "aria-label": name });
      render(output, items[n], facts[n].types, differs(n));
      return make("div", { class: "side" }, make("h3", {}, name), output);
    });
    find("sides").replaceChildren(...sides);
    const count = tokensOf(items[0]).filter((token) => differs(0)(token).classes).length;
    if (models.length > 1) find("agreement").textContent = count ? `${count} ${say("differ")}` : say("agree");
  } catch (error) {
    report(error);
  }
}
