// Stereotypes are hidden until asked for: what is hidden is not in the drawn page, only a mark of its length.

import {h, name} from "./dom.js";

const KEY = "biasgrid-texts";
const state = { shown: remembered(), open: false };

function remembered() {
  try {
    return sessionStorage.getItem(KEY) === "shown";
  } catch {
    return false;
  }
}

export function shown() {
  return state.shown || state.open;
}

export function toggle() {
  state.shown = !state.shown;
  try {
    sessionStorage.setItem(KEY, state.shown ? "shown" : "hidden");
  } catch {
    // Without storage, it is forgotten with the page.
  }
}

// Texts of a dataset that is not sensitive are shown.
export function about(dataset) {
  state.open = dataset !== undefined && dataset.sensitive === false;
}

// A text is a string, or a list of its parts, of which every other one is marked.
const whole = (text) => (Array.isArray(text) ? text.join("") : text);
const marked = (text) => (Array.isArray(text) ? text.map((part, place) => (place % 2 ? h("mark", {}, part) : part)) : text);

export function veiled(text) {
  if (text === null || text === undefined) return "–";
  if (shown()) return name(marked(text));
  const width = `${Math.max(2, Math.min(60, whole(text).length))}ch`;
  return h("span", { class: "veil", vars: { "--width": width } }, h("span", { class: "unseen" }, "hidden text"));
}

// Columns of the number of a template and, where it is known, of what that says.
export function templateColumns(templates, of) {
  const said = (row) => templates[of(row)] || null;
  const numbers = { title: "Template", numeric: true, value: of };
  return templates.length ? [numbers, { title: "What it says", value: (row) => plain(said(row)), cell: (row) => veiled(said(row)) }] : [numbers];
}

export function plain(text) {
  return shown() || text === null || text === undefined ? whole(text) : "hidden text";
}
