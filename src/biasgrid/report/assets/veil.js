// Stereotypes are hidden until asked for: what is hidden is not in the drawn page, only a mark of its length.

import {h, name} from "./dom.js";

const KEY = "biasgrid-texts";
const state = { shown: remembered(), open: false, opened: new Set() };
const hiddenBy = new WeakMap();

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

export function switchedOn() {
  return state.shown;
}

export function toggle() {
  state.shown = !state.shown;
  state.opened.clear();
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
const isShown = (text) => shown() || state.opened.has(whole(text));

// What is hidden is a button that shows this text, wherever it stands; within other controls it is only its mark.
export function veiled(text, options = {}) {
  if (text === null || text === undefined) return "–";
  if (isShown(text)) return name(marked(text));
  const width = `${Math.max(2, Math.min(40, whole(text).length))}ch`;
  const bar = h("span", { class: "bar", vars: { "--width": width } });
  if (options.inert) return h("span", { class: "veil" }, bar, h("span", { class: "unseen" }, "hidden text"));
  const made = h("button", { type: "button", class: "veil", onclick: () => open(text) }, bar, h("span", { class: "show" }, "show text"));
  hiddenBy.set(made, text);
  return made;
}

function open(text) {
  state.opened.add(whole(text));
  const buttons = [...document.querySelectorAll("button.veil")].filter((each) => whole(hiddenBy.get(each)) === whole(text));
  buttons.forEach((each, place) => {
    const shownText = name(marked(hiddenBy.get(each)));
    each.replaceWith(shownText);
    if (place) return;
    shownText.tabIndex = -1;
    shownText.focus({ preventScroll: true });
  });
}

// Columns of the number of a template and, where it is known, of what that says.
export function templateColumns(templates, of) {
  const said = (row) => templates[of(row)] || null;
  const numbers = { title: "Template", numeric: true, value: of };
  return templates.length ? [numbers, { title: "What it says", value: (row) => plain(said(row)), cell: (row) => veiled(said(row)) }] : [numbers];
}

export function plain(text) {
  return text === null || text === undefined || isShown(text) ? whole(text) : "hidden text";
}
