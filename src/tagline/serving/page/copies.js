// The answer to take away: as JSON, columns, brackets, or as the call that gives it.

import { make } from "./elements.js";
import { tell } from "./service.js";
import { state } from "./state.js";
import { say } from "./words.js";

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

function request(facts) {
  return { model: facts.name, text: state.text, ...(state.known.length ? { known: state.known } : {}) };
}

const FORMS = {
  JSON: (item) => JSON.stringify(item, null, 1),
  Columns: (item) => item.sentences.map((sentence) => sentence.tokens.map((token) => `${token.text}\t${token.label}\n`).join("")).join("\n"),
  Brackets: (item) => {
    let text = "";
    let at = 0;
    for (const entity of item.entities ?? []) {
      text += `${item.text.slice(at, entity.start)}[${entity.text}](${entity.type})`;
      at = entity.end;
    }
    return text + item.text.slice(at);
  },
  curl: (item, facts) => `curl -s ${quoted(new URL("v1/tag", location.href).href)} -H 'Content-Type: application/json' -d ${quoted(JSON.stringify(request(facts)))}`,
  Python: (item, facts) => {
    const url = new URL(".", location.href).href.replace(/\/(#.*)?$/, "");
    return `from tagline.serving import Client\n\nclient = Client(${JSON.stringify(url)}, ${JSON.stringify(facts.name)})\nprint(client.tag(${JSON.stringify(state.text)}).entities)\n`;
  },
};

export function copies(target, item, facts) {
  const label = make("span", { class: "quiet" }, say("copyAs"));
  const buttons = Object.entries(FORMS).map(([name, form]) =>
    make("button", { type: "button", onclick: () => copy(target, form(item, facts)) }, name));
  target.replaceChildren(label, ...buttons);
}

async function copy(target, text) {
  target.querySelector("textarea")?.remove();
  try {
    await navigator.clipboard.writeText(text);
    tell(say("copied"));
  } catch {
    tell(say("notCopied"));
    const area = make("textarea", { rows: 6, readonly: true, "aria-label": say("copyAs") });
    area.value = text;
    target.append(area);
    area.select();
  }
}
