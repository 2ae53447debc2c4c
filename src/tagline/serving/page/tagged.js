// A tagged text as elements: tokens that can be chosen, entities in the colours of their types.

import { colourOf, make, percent } from "./elements.js";

// All tokens of an item, in order, with their number and their sentence.
export function tokensOf(item) {
  const tokens = [];
  item.sentences.forEach((sentence, b) => sentence.tokens.forEach((token, t) => tokens.push({ ...token, number: tokens.length, sentence: b, place: t })));
  return tokens;
}

export const firstOf = (item, sentence) => item.sentences.slice(0, sentence).reduce((sum, row) => sum + row.tokens.length, 0);

// Entities by the number of their first token.
function entitiesByToken(item) {
  const byToken = new Map();
  for (const entity of item.entities ?? []) {
    const base = firstOf(item, entity.sentence);
    byToken.set(base + entity.tokens[0], { ...entity, first: base + entity.tokens[0], after: base + entity.tokens[1] });
  }
  return byToken;
}

export function entityOf(item, number) {
  for (const entity of entitiesByToken(item).values()) if (entity.first <= number && number < entity.after) return entity;
  return null;
}

// Offsets are UTF-16 units: what JavaScript's strings are counted in.
export function render(target, item, types, decorate = () => ({})) {
  const starts = entitiesByToken(item);
  const parts = document.createDocumentFragment();
  const tokens = tokensOf(item);
  let at = 0;
  let n = 0;
  const gap = (parent, start) => {
    if (start > at) parent.append(item.text.slice(at, start));
  };
  const put = (parent, token) => {
    gap(parent, token.start);
    const { classes = "", ...more } = decorate(token);
    const label = token.label === "O" ? "" : ` ${token.label}`;
    parent.append(make("span", { class: `token ${classes}`, "data-token": token.number, title: label.trim() || undefined, ...more }, token.text));
    at = token.end;
  };
  while (n < tokens.length) {
    const entity = starts.get(n);
    if (!entity) {
      put(parts, tokens[n]);
      n += 1;
      continue;
    }
    gap(parts, tokens[n].start);
    at = tokens[n].start;
    const mark = make("span", { class: `entity ${colourOf(entity.type, types)}` });
    for (; n < entity.after; n += 1) put(mark, tokens[n]);
    mark.append(make("span", { class: "type" }, `${entity.type} ${percent(entity.probability)}`));
    parts.append(mark);
  }
  gap(parts, item.text.length);
  target.replaceChildren(parts);
  return tokens;
}
