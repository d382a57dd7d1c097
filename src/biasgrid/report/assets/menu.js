// The menu of what can be taken away from a page: its tables, numbers and figures, its address, and paper.

import {button, h, replace, save} from "./dom.js";
import {figuresOf, svgText} from "./chart.js";
import {csv, json, savedTables} from "./table.js";

// The tables of sentences are left to the cell's own.
export function exporting(roots) {
  const told = h("span", { role: "status", class: "unseen" });
  const items = h("div", { class: "items" });
  const menu = h("details", { class: "menu" }, h("summary", {}, "Export"), items, told);
  const item = (label, act, options = {}) => button(label, () => {
    menu.open = false;
    act();
  }, options);
  menu.addEventListener("toggle", () => {
    if (!menu.open) return;
    const tables = savedTables(roots()).map((each) => item(`${each.title} (CSV)`, () => save(file(each.file, "csv"), csv(each.rows()), "text/csv"), { "data-csv": "" }));
    const shown = roots();
    const numbers = () => save(file(document.title, "json"), json(savedTables(shown)), "application/json");
    const figures = figuresOf(shown).map((each) => item(`Figure: ${each.getAttribute("aria-label")} (SVG)`, () => save(file(each.getAttribute("aria-label"), "svg"), svgText(each), "image/svg+xml"), { "data-svg": "" }));
    // A long page has many tables.
    replace(items, item("All numbers of this page (JSON)", numbers, { "data-json": "" }), item("Copy the link to this page", copy), item("Print or save as PDF", () => print()), figures, tables);
  });
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(location.href);
      told.textContent = "copied";
    } catch {
      told.textContent = "the address cannot be copied";
    }
  };
  addEventListener("click", (event) => {
    if (!menu.contains(event.target)) menu.open = false;
  });
  addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    menu.open = false;
    menu.firstChild.focus();
  });
  return menu;
}

const file = (name, kind) => `${name.replaceAll(/[^\w-]+/g, "-").slice(0, 80)}.${kind}`;
