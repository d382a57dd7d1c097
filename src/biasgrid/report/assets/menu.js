// The menu of what can be taken away from a page: its tables, its address, and paper.

import {button, h, replace, save} from "./dom.js";
import {csv, savedTables} from "./table.js";

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
    const tables = savedTables(roots()).map((each) => item(`${each.title} (CSV)`, () => save(file(each.file), csv(each.rows()), "text/csv"), { "data-csv": "" }));
    replace(items, tables, item("Copy the link to this page", copy), item("Print or save as PDF", () => print()));
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

const file = (name) => `${name.replaceAll(/[^\w-]+/g, "-")}.csv`;
