// Drawings of numbers; each number stands in a table, too.

import {h, s} from "./dom.js";

const WIDTH = 320;

// Dots on an axis that has 0 in its middle: rows of {label, value, n}.
export function dots(title, rows, options = {}) {
  const far = Math.max(options.far ?? 0, ...rows.map((row) => Math.abs(row.value)), 1e-6);
  const x = (value) => WIDTH / 2 + (value / far) * (WIDTH / 2 - 8);
  const height = 24;
  const marks = rows.map((row) => s("circle", { cx: x(row.value), cy: height / 2, r: 4, class: "dot" }, s("title", {}, `${row.label}: ${row.value.toFixed(3)}`)));
  const axis = [s("line", { x1: 4, x2: WIDTH - 4, y1: height / 2, y2: height / 2, class: "axis" }), s("line", { x1: WIDTH / 2, x2: WIDTH / 2, y1: 3, y2: height - 3, class: "axis" })];
  const drawn = s("svg", { viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-label": `${title}: ${rows.length} dots from −${far.toFixed(2)} to ${far.toFixed(2)}` }, axis, marks);
  return h("figure", { class: "dots" }, h("figcaption", {}, title), drawn);
}

// Two shares of one, as bars.
export function shares(rows) {
  return h("div", { class: "shares" }, rows.map((row) => h("div", { class: `share ${row.sort}` },
    h("span", { class: "bar", vars: { "--part": `${Math.max(0, Math.min(1, row.value ?? 0)) * 100}%` }, "aria-hidden": "true" }), h("span", {}, row.label, " ", row.text))));
}

// Points of {x, y, label, to, found} with the line on which both are alike.
export function scatter(title, rows, names) {
  const far = Math.max(...rows.flatMap((row) => [Math.abs(row.x), Math.abs(row.y)]), 1e-6);
  const place = (value) => 160 + (value / far) * 150;
  // By keyboard the table beside it has the same links.
  const open = (row) => () => { location.hash = row.to; };
  const marks = rows.map((row) => s("circle", { cx: place(row.x), cy: 320 - place(row.y), r: 3, class: row.found ? "dot found" : "dot", onclick: open(row) }, s("title", {}, row.label)));
  const lines = [s("line", { x1: 10, y1: 160, x2: 310, y2: 160, class: "axis" }), s("line", { x1: 160, y1: 10, x2: 160, y2: 310, class: "axis" }), s("line", { x1: 10, y1: 310, x2: 310, y2: 10, class: "alike" })];
  const drawn = s("svg", { viewBox: "0 0 320 320", class: "scatter", role: "img", "aria-label": title }, lines, marks);
  return h("figure", {}, h("figcaption", {}, `${title}. Across: ${names[0]}, up: ${names[1]}, from −${far.toFixed(2)} to ${far.toFixed(2)}. On the line both are alike.`), drawn);
}
