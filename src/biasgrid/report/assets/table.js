// Tables that can be sorted and saved; what is saved is what is shown.

import {button, h, interval, replace, save} from "./dom.js";

// What a heading stands for.
const MEANINGS = { q: "expected share of false ones (Benjamini-Hochberg)" };
const FORMULA = /^(?:[=@\t\r]|[+-](?:[^\d.]|$))/;

export function csv(rows) {
  const field = (value) => {
    if (value === null || value === undefined) return "";
    const text = typeof value === "string" && FORMULA.test(value) ? `'${value}` : String(value);
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map((row) => row.map(field).join(",") + "\n").join("");
}

// The column of an interval, of whose ends `ends(row)` is the pair.
export const intervals = (title, ends) => ({ title, whole: true, value: (row) => interval(...ends(row)) || null });

// Columns are {title, value: row => what is sorted and saved, cell: row => what is shown, numeric, head, whole}: a whole
// cell is one line. The caption is only read out where it is that of a heading above (`headed`).
export function table(caption, columns, rows, options = {}) {
  const state = { by: null, down: false };
  const body = h("tbody");
  const heads = columns.map((column, place) => {
    const sort = button(column.title, () => order(place), { class: "sort", title: MEANINGS[column.title] ?? null });
    return h("th", { scope: "col", class: column.numeric ? "number" : null }, sort);
  });
  const sorted = () => {
    if (state.by === null) return rows;
    const value = columns[state.by].value;
    const compared = (one, other) => {
      const [a, b] = [value(one), value(other)];
      if (a === null || a === undefined || b === null || b === undefined) return (b ?? null) === null ? -1 : 1;
      const less = typeof a === "number" ? a - b : String(a).localeCompare(String(b));
      return state.down ? -less : less;
    };
    return rows.toSorted(compared);
  };
  const most = options.most ?? Infinity;
  const draw = () => replace(body, sorted().slice(0, most).map((row) => h("tr", {}, columns.map((column) => cell(column, row)))));
  const order = (place) => {
    state.down = state.by === place ? !state.down : Boolean(columns[place].numeric);
    state.by = place;
    heads.forEach((head, each) => {
      if (each === place) head.setAttribute("aria-sort", state.down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    draw();
  };
  draw();
  const shownRows = () => sorted().slice(0, most);
  const saved = () => [columns.map((column) => column.title), ...shownRows().map((row) => columns.map((each) => each.value(row)))];
  const file = `${(options.file ?? caption).replaceAll(/[^\w-]+/g, "-")}.csv`;
  const told = rows.length > most ? h("p", { class: "soft" }, `The first ${most} of ${rows.length.toLocaleString("en")} rows.`) : null;
  const drawn = h("table", {}, h("caption", { class: options.headed ? "unseen" : null }, caption), h("thead", {}, h("tr", {}, heads)), body);
  return h("div", { class: "tabled" }, scroll(caption, drawn), told, csvButton(file, saved));
}

function cell(column, row) {
  const shown = column.cell ? column.cell(row) : column.value(row);
  const content = shown === null || shown === undefined ? "–" : shown;
  if (column.head) return h("th", { scope: "row" }, content);
  return h("td", { class: column.numeric ? "number" : column.whole ? "whole" : null }, content);
}

export function scroll(label, ...children) {
  return h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": label }, ...children);
}

export function csvButton(file, rows) {
  return button("CSV of what is shown", () => save(file, csv(rows()), "text/csv"), { class: "tool", "data-csv": "" });
}

// Tables that Python has written are saved as they stand.
export function saveStatic(section) {
  for (const each of section.querySelectorAll("table")) {
    if (each.dataset.saved) continue;
    each.dataset.saved = "yes";
    const rows = () => [...each.rows].map((row) => [...row.cells].map((one) => one.textContent.trim().replaceAll(/\s+/g, " ")));
    each.parentElement.after(csvButton(`${section.id}.csv`, rows));
  }
}
