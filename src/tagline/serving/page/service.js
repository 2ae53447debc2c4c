// The service, as the page asks it: a token where it wants one, patience where it is busy or gone.

import { find } from "./elements.js";
import { say } from "./words.js";

export class Problem extends Error {
  constructor(document) {
    super(document.detail || document.title || String(document.status));
    this.status = document.status;
    this.field = document.field;
  }
}

const wait = (ms) => new Promise((done) => setTimeout(done, ms));
let gone = false;

export function tell(text) {
  const status = find("status");
  if (status.textContent !== text) status.textContent = text;
}

async function askToken() {
  const dialog = find("token-dialog");
  if (!dialog.open) dialog.showModal();
  await new Promise((done) => dialog.addEventListener("close", done, { once: true }));
  sessionStorage.setItem("tagline-token", find("token").value);
}

// One question; a later one with the same signal ends it. Errors of the request are Problems.
export async function ask(path, body, signal) {
  for (let turn = 0; ; turn += 1) {
    const headers = {};
    const token = sessionStorage.getItem("tagline-token");
    if (token) headers.Authorization = `Bearer ${token}`;
    if (body !== undefined) headers["Content-Type"] = "application/json";
    let response;
    try {
      const method = body === undefined ? "GET" : "POST";
      response = await fetch(path, { method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body) });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      gone = true;
      tell(say("gone"));
      await wait(Math.min(5000, 500 * 2 ** turn));
      if (signal?.aborted) throw new DOMException("", "AbortError");
      continue;
    }
    if (gone) {
      gone = false;
      tell("");
    }
    if (response.status === 401) {
      await askToken();
      continue;
    }
    if ((response.status === 429 || response.status === 503) && turn < 6) {
      tell(say("busy"));
      await wait(1000);
      continue;
    }
    const answer = await response.json();
    if (!response.ok) throw new Problem(answer);
    return answer;
  }
}

// A question that replaces the one before it: only the newest is answered.
export function newest() {
  let current = null;
  return async (path, body) => {
    current?.abort();
    current = new AbortController();
    return ask(path, body, current.signal);
  };
}

export function report(error) {
  if (error.name === "AbortError") return;
  tell(error.message);
}
