// Drawings of numbers; each number stands in a table, too.

import {alike, capital, h, name, number, s} from "./dom.js";

const WIDTH = 320;

// Dots on an axis that has 0 in its middle: rows of {label, value, n}.
export function dots(title, rows, options = {}) {
  const far = Math.max(options.far ?? 0, ...rows.map((row) => Math.abs(row.value)), 1e-6);
  const x = (value) => WIDTH / 2 + (value / far) * (WIDTH / 2 - 8);
  const height = 24;
  const marks = rows.map((row) => s("circle", { cx: x(row.value), cy: height / 2, r: 4, class: "dot" }, s("title", {}, `${row.label}: ${number(row.value)}`)));
  const axis = [s("line", { x1: 4, x2: WIDTH - 4, y1: height / 2, y2: height / 2, class: "axis" }), s("line", { x1: WIDTH / 2, x2: WIDTH / 2, y1: 3, y2: height - 3, class: "axis" })];
  const drawn = s("svg", { viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-label": `${title}: ${rows.length} dots from −${far.toFixed(2)} to ${far.toFixed(2)}` }, axis, marks);
  return h("figure", { class: "dots" }, h("figcaption", {}, title), drawn);
}

// A number as a dot and its interval as a whisker, on an axis that all rows of a column share.
export function whisker(value, [low, high], [from, to]) {
  const place = (each) => `${(6 + (88 * (Math.max(from, Math.min(to, each)) - from)) / (to - from || 1)).toFixed(1)}%`;
  const line = (one, other, y1, y2, kind) => s("line", { x1: place(one), x2: place(other), y1, y2, class: kind });
  const known = low !== null && low !== undefined && high !== null && high !== undefined;
  return s("svg", { class: "plot", "aria-hidden": "true" }, from <= 0 && to >= 0 ? line(0, 0, "0", "100%", "zero") : null,
    known ? [line(low, high, "50%", "50%", "whisker"), ...[low, high].map((end) => line(end, end, "30%", "70%", "end"))] : null,
    value === null ? null : s("circle", { cx: place(value), cy: "50%", r: 3 }));
}

// The ends of that axis, and a column that has it in its head; `from` is a number that the axis holds, if any.
export function forest(rows, of, from = []) {
  const all = [...from, ...rows.flatMap(of)].filter((each) => each !== null && each !== undefined);
  // Numbers that are all alike have an axis, too.
  const middle = (Math.min(...all) + Math.max(...all)) / 2;
  const [least, most] = [Math.min(...all, middle - 0.001), Math.max(...all, middle + 0.001)];
  const ends = least < 0 && most > 0 ? [-Math.max(-least, most), Math.max(-least, most)] : [least, most];
  const write = alike(ends, 2);
  const over = h("span", { class: "ends", "aria-hidden": "true" }, ends.map((end) => h("span", {}, write(end))));
  return { title: "", drawing: true, over, value: () => null, cell: (row) => { const [value, ...sure] = of(row); return whisker(value ?? null, sure, ends); } };
}

// Two shares of one, as bars.
export function shares(rows) {
  return h("div", { class: "shares" }, rows.map((row) => h("div", { class: `share ${row.sort}` },
    h("span", { class: "bar", vars: { "--part": `${Math.max(0, Math.min(1, row.value ?? 0)) * 100}%` }, "aria-hidden": "true" }), h("span", {}, row.label, " ", row.text))));
}

const STYLES = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-size", "font-family", "text-anchor"];

// The figures of a page that have a name.
export const figuresOf = (roots) => roots.flatMap((root) => [...root.querySelectorAll("svg[role=img][aria-label]")]);

// A figure as a file of its own, as it looks on the page.
export function svgText(drawn) {
  const copy = drawn.cloneNode(true);
  const originals = [drawn, ...drawn.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((each, place) => {
    const style = getComputedStyle(originals[place]);
    for (const key of STYLES) each.setAttribute(key, style.getPropertyValue(key));
    each.removeAttribute("class");
    each.removeAttribute("style");
  });
  return `${new XMLSerializer().serializeToString(copy)}\n`;
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
  return h("figure", {}, h("figcaption", {}, `${capital(title)}: ${names[0]} across, ${names[1]} up, both from −${far.toFixed(2)} to ${far.toFixed(2)}. The models agree on the dashed line.`), drawn);
}

// Shares of one over what they depend on, from 0 to `far`: points of {x, y, ends} with their intervals as a band.
export function curve([title, across, up], points, far) {
  const [left, foot, wide, high] = [30, 120, 270, 110];
  const at = (x, y) => `${left + (x / far) * wide},${foot - y * high}`;
  const known = points.filter((point) => point.ends[0] !== null);
  const band = [...known.map((point) => at(point.x, point.ends[0])), ...known.toReversed().map((point) => at(point.x, point.ends[1]))];
  const axes = s("polyline", { points: `${at(0, 1)} ${at(0, 0)} ${at(far, 0)}`, class: "axis" });
  const texts = [[left - 6, foot, "end", "0"], [left - 6, foot - high + 8, "end", "1"], [left, foot + 14, "middle", "0"], [left + wide, foot + 14, "middle", far.toFixed(2)]];
  const ticks = texts.map(([x, y, anchor, text]) => s("text", { x, y, "text-anchor": anchor, class: "tick" }, text));
  const marks = points.map((point) => s("circle", { cx: left + (point.x / far) * wide, cy: foot - point.y * high, r: 2.5, class: "dot" }, s("title", {}, `${across} ${number(point.x)}: ${number(point.y)}`)));
  const drawn = s("svg", { viewBox: `0 0 ${WIDTH} 140`, role: "img", "aria-label": `${title ? `${title}: ` : ""}${up} over ${across.toLowerCase()}, ${points.length} points` }, axes, ticks,
    band.length ? s("polygon", { points: band.join(" "), class: "band" }) : null, s("polyline", { points: points.map((point) => at(point.x, point.y)).join(" "), class: "curve" }), marks);
  return h("figure", {}, h("figcaption", {}, name(title), `${title ? ": " : ""}${up.toLowerCase()} over ${across.toLowerCase()}`), drawn);
}
