// The first screen, which Python has written: what is hidden there is a button, and numbers lead to their sentences.

import {address, button, leading, replace} from "./dom.js";
import {cellPage} from "./generic.js";
import {showStatic} from "./run.js";
import {plain, veiled} from "./veil.js";

export function overview(core, go) {
  const { screen } = core;
  showStatic("grid");
  for (const each of document.querySelectorAll("[data-page]")) each.setAttribute("href", each.dataset.page);
  const places = (name) => document.querySelectorAll(`#grid [data-${name}]`);
  for (const table of document.querySelectorAll("#grid .overview")) sortable(table);
  for (const place of places("largest")) replace(place, veiled(screen.largest[place.dataset.largest].what));
  for (const place of places("value")) {
    const { address: to, what, is_hidden } = screen.largest[place.dataset.value];
    replace(place, leading(address(...to), is_hidden && plain(what) !== what, place.textContent));
  }
  for (const place of places("example")) replace(place, veiled(screen.example));
  // Of a single cell there is nothing to choose.
  if (core.cells.length !== 1) return [];
  const [{ model, dataset }] = core.cells;
  return cellPage(core, model, dataset, [], go);
}

const NEXT = { none: "descending", descending: "ascending", ascending: null };

// Sorts the models by a column: the largest first, the smallest first, and as they are in the config.
function sortable(table) {
  const [body] = table.tBodies;
  const given = [...body.rows];
  table.querySelectorAll("th.sub:not(:has(button)) > span").forEach((label, place) => {
    const head = label.parentElement;
    const number = (row) => Number(row.cells[place + 1].dataset.number ?? NaN);
    const order = () => {
      const next = NEXT[head.getAttribute("aria-sort") ?? "none"];
      for (const each of table.querySelectorAll("[aria-sort]")) each.removeAttribute("aria-sort");
      if (next) head.setAttribute("aria-sort", next);
      const sign = next === "descending" ? -1 : 1;
      // What has no number is last.
      const compared = (one, other) => (Number.isNaN(number(one)) - Number.isNaN(number(other))) || sign * (number(one) - number(other)) || 0;
      body.append(...(next ? given.toSorted(compared) : given));
      table.classList.toggle("sorted", next !== null);
    };
    label.replaceWith(button(label.textContent, order, { class: "sort", title: "Sort the models by this column" }));
  });
}
