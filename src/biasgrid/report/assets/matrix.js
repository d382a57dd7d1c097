// A matrix to walk with arrows: one of its cells is in the tab order, and what is focused is told as what is pointed at.

import {h} from "./dom.js";

const STEPS = {
  ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1],
  PageUp: [-10, 0], PageDown: [10, 0], Home: [0, -Infinity], End: [0, Infinity],
};

// `cell(row, column)` returns {text, label, level, doubtful} or null; `head` returns nodes; `choose` is told what is opened.
export function matrix({ label, rows, columns, rowHead, columnHead, cell, choose, told, small, sortRow, sortColumn }) {
  const cells = [];
  const state = { row: 0, column: 0 };
  const squares = rows.map((row, y) => {
    const line = columns.map((column, x) => square(cell(row, column), small, y, x));
    cells.push(line);
    return h("tr", { role: "row" }, h("th", { role: "rowheader", scope: "row" }, rowHead(row), sorter(sortRow, row, "this row")), line);
  });
  const heads = columns.map((column) => h("th", { role: "columnheader", scope: "col" }, h("span", { class: "head" }, columnHead(column)), sorter(sortColumn, column, "this column")));
  const top = h("tr", { role: "row" }, h("td", { role: "columnheader" }, h("span", { class: "unseen" }, label)), heads);
  const grid = h("table", { role: "grid", "aria-label": label, class: `matrix ${small ? "small" : ""}` }, h("thead", { role: "rowgroup" }, top), h("tbody", { role: "rowgroup" }, squares));
  const at = (event) => event.target.closest?.("td[data-y]");
  const tell = (node) => node && told(rows[node.dataset.y], columns[node.dataset.x]);
  const open = (node) => node && !node.classList.contains("none") && choose(rows[node.dataset.y], columns[node.dataset.x]);
  const focus = (y, x) => {
    cells[state.row]?.[state.column]?.setAttribute("tabindex", "-1");
    [state.row, state.column] = [y, x];
    cells[y][x].setAttribute("tabindex", "0");
  };
  grid.addEventListener("mouseover", (event) => tell(at(event)));
  grid.addEventListener("focusin", (event) => tell(at(event)));
  grid.addEventListener("click", (event) => {
    const node = at(event);
    if (!node) return;
    focus(Number(node.dataset.y), Number(node.dataset.x));
    open(node);
  });
  grid.addEventListener("keydown", (event) => {
    if (!at(event)) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      open(at(event));
    }
    const step = STEPS[event.key];
    if (!step) return;
    event.preventDefault();
    const within = (value, most) => Math.max(0, Math.min(most - 1, value));
    focus(within(state.row + step[0], rows.length), within(state.column + step[1], columns.length));
    cells[state.row][state.column].focus();
  });
  if (cells.length && cells[0].length) focus(0, 0);
  const mark = (row, column) => {
    grid.querySelector("[aria-selected]")?.removeAttribute("aria-selected");
    const [y, x] = [rows.indexOf(row), columns.indexOf(column)];
    if (y < 0 || x < 0) return;
    focus(y, x);
    cells[y][x].setAttribute("aria-selected", "true");
  };
  return { grid, mark };
}

function sorter(act, key, what) {
  return act ? h("button", { type: "button", class: "order", title: `Order by ${what}`, "aria-label": `Order by ${what}`, tabindex: "-1", onclick: () => act(key) }, "⇅") : null;
}

function square(found, small, y, x) {
  const place = { role: "gridcell", tabindex: "-1", "data-y": y, "data-x": x };
  if (found === null) return h("td", { ...place, class: "none", "aria-label": "not asked" }, small ? "" : "–");
  const classes = [found.level < 0 ? "away" : "towards", `level-${Math.abs(found.level)}`, found.doubtful ? "doubtful" : ""].join(" ");
  return h("td", { ...place, class: classes, "aria-label": small ? found.label : `${found.text}: ${found.label}` }, small ? "" : found.text);
}
