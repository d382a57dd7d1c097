// The first screen, which Python has written: what is hidden there is a button, and numbers lead to their sentences.

import {address, leading, replace} from "./dom.js";
import {cellPage} from "./generic.js";
import {showStatic} from "./run.js";
import {plain, veiled} from "./veil.js";

export function overview(core, go) {
  const { screen } = core;
  showStatic("grid");
  for (const each of document.querySelectorAll("[data-page]")) each.setAttribute("href", each.dataset.page);
  const places = (name) => document.querySelectorAll(`#grid [data-${name}]`);
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
