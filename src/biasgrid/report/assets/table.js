// Tables that can be sorted and saved; what is saved is what is shown.

import {alike, button, h, interval, replace} from "./dom.js";

// What a heading stands for.
const MEANINGS = { q: "expected share of false ones (Benjamini-Hochberg)" };
const FORMULA = /^(?:[=@\t\r]|[+-](?:[^\d.]|$))/;
const kept = new WeakMap();

export function csv(rows) {
  const field = (value) => {
    if (value === null || value === undefined) return "";
    const text = typeof value === "string" && FORMULA.test(value) ? `'${value}` : String(value);
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map((row) => row.map(field).join(",") + "\n").join("");
}

// All tables of a page: a list of rows for each title, with a name for each value.
export function json(tables) {
  const named = tables.map((each) => {
    const [heads, ...rows] = each.rows();
    return [each.title, rows.map((row) => Object.fromEntries(heads.map((head, place) => [head, row[place] ?? null])))];
  });
  return `${JSON.stringify(Object.fromEntries(named), null, 1)}\n`;
}

// Columns of numbers that are read together, and so share their decimals: of one number, and of an interval's pair.
export const figure = (title, of) => ({ title, numeric: true, value: of, figures: (row) => [of(row)] });
export const intervals = (title, ends) => ({ title, whole: true, value: (row) => interval(...ends(row)) || null, figures: ends });

// Columns are {title, value: row => what is sorted and saved, cell: row => what is shown, numeric, head, whole}: a whole
// cell is one line. Figures (see above) share decimals over all rows or, where rows are of different measures (`mixed`),
// in each. The caption is only read out where it is that of a heading above (`headed`).
export function table(caption, columns, rows, options = {}) {
  const state = { by: null, down: false };
  const body = h("tbody");
  const heads = columns.map((column, place) => {
    if (column.drawing) return h("th", { scope: "col" }, h("span", { class: "unseen" }, "Picture"), column.over);
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
  const figures = (row) => columns.flatMap((column) => (column.figures ? column.figures(row) : []));
  const written = options.mixed ? null : alike(rows.flatMap(figures));
  const most = options.most ?? Infinity;
  const draw = () => replace(body, sorted().slice(0, most).map((row) => {
    const write = written ?? alike(figures(row));
    return h("tr", {}, columns.map((column) => cell(column, row, write)));
  }));
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
  const kinds = columns.filter((column) => !column.drawing);
  const saved = () => [kinds.map((column) => column.title), ...shownRows().map((row) => kinds.map((each) => each.value(row)))];
  const told = rows.length > most ? h("p", { class: "soft" }, `The first ${most} of ${rows.length.toLocaleString("en")} rows.`) : null;
  const drawn = h("table", {}, h("caption", { class: options.headed ? "unseen" : null }, caption), h("thead", {}, h("tr", {}, heads)), body);
  kept.set(drawn, { title: caption, file: options.file ?? caption, rows: saved });
  return h("div", { class: "tabled" }, scroll(caption, drawn), told);
}

function cell(column, row, write) {
  const shown = column.cell ? column.cell(row, write) : column.figures ? (column.numeric ? write(column.value(row)) : interval(...column.figures(row), write)) : column.value(row);
  const content = shown === null || shown === undefined || shown === "" ? "–" : shown;
  if (column.head) return h("th", { scope: "row" }, content);
  return h("td", { class: column.drawing ? "drawing" : column.numeric ? "number" : column.whole ? "whole" : null }, content);
}

// What is wider than its place scrolls in its own box, whose edge fades while there is more.
export function scroll(label, ...children) {
  return h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": label }, ...children);
}

export function fade(root) {
  for (const box of root.querySelectorAll(".scroll")) {
    const more = () => box.classList.toggle("more", box.scrollWidth - box.clientWidth - box.scrollLeft > 4);
    box.addEventListener("scroll", more, { passive: true });
    more();
  }
}

// What can be saved of the tables in some elements, {title, file, rows}: those that Python has written as they stand.
export function savedTables(roots) {
  const tables = roots.flatMap((root) => [...root.querySelectorAll("table:not([role=grid])")]);
  return tables.map((each) => kept.get(each) ?? written(each));
}

function written(each) {
  const title = each.caption?.textContent ?? each.closest("section").querySelector("h2, h3").textContent;
  return { title: title.trim(), file: title.trim(), rows: () => unfolded(each) };
}

// The rows of a table, in which what spans several is in each of them, below one row of heads.
function unfolded(each) {
  const drawings = (one) => [...one.childNodes].filter((part) => part.nodeName !== "svg").map((part) => part.textContent).join("");
  const text = (one) => (one.querySelector("a.box > strong")?.textContent ?? drawings(one)).trim().replaceAll(/\s+/g, " ");
  const grid = [...each.rows].map(() => []);
  [...each.rows].forEach((row, y) => {
    for (const one of row.cells) {
      let x = 0;
      while (grid[y][x] !== undefined) x += 1;
      for (let down = 0; down < one.rowSpan; down += 1) for (let right = 0; right < one.colSpan; right += 1) grid[y + down][x + right] = text(one);
    }
  });
  const heads = grid.splice(0, each.tHead.rows.length);
  return [heads[0].map((_, x) => [...new Set(heads.map((row) => row[x]))].join(": ")), ...grid.map((row) => row.slice(0, heads[0].length))];
}
