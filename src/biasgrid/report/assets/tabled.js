// Tables that a family has made of the parts of a cell, drawn as they are.

import {count, h, interval, name, number} from "./dom.js";
import {curve} from "./chart.js";
import {real} from "./data.js";
import {table} from "./table.js";
import {plain, templateColumns, veiled} from "./veil.js";

const told = (pair) => (pair ? interval(real(pair[0]), real(pair[1])) : null);
const KINDS = {
  name: { value: (each) => each, cell: (each) => (each === null ? null : name(`${each}`)) },
  text: { value: plain, cell: veiled },
  number: { numeric: true, value: real, cell: (each) => number(real(each)) },
  interval: { whole: true, value: told, cell: (each) => told(each) ?? "–" },
  count: { numeric: true, value: (each) => each, cell: count },
};

// What `table` draws of columns that a family has laid out.
export function laidOut(columns, templates = []) {
  return columns.flatMap(([title, kind], place) => {
    if (kind === "template") return templateColumns(templates, (row) => row[place]);
    const { numeric, whole, value, cell } = KINDS[kind];
    return { title, numeric, whole, head: place === 0, value: (row) => value(row[place]), cell: (row) => cell(row[place]) };
  });
}

export function tabled(tables, file, templates) {
  return tables.map((one) => {
    const columns = laidOut(one.columns, templates);
    const carried = one.rows.length < one.of ? ` The page carries ${count(one.rows.length)} of ${count(one.of)}.` : "";
    const drawn = curves(one);
    const numbers = table(one.title, columns, one.rows, { headed: true, most: 200, file: `${file}-${one.title.toLowerCase().replaceAll(" ", "-")}` });
    return h("section", {}, h("h3", {}, one.title), h("p", { class: "soft" }, one.about, carried), drawn,
      drawn ? h("details", {}, h("summary", {}, "The same as a table"), numbers) : numbers);
  });
}

// A curve of each name that the rows have; one point is none.
function curves(one) {
  if (!one.curve) return null;
  const [named, across, up, around] = [...one.curve, "Interval"].map((title) => one.columns.findIndex((column) => column[0] === title));
  const ends = (row) => (around < 0 || row[around] === null ? [null, null] : row[around].map(real));
  const rows = one.rows.filter((row) => row[across] !== null && row[up] !== null).map((row) => ({ of: named < 0 ? "" : row[named] ?? "", x: real(row[across]), y: real(row[up]), ends: ends(row) }));
  const far = Math.max(...rows.map((row) => row.x), 1e-6);
  const names = [...new Set(rows.map((row) => row.of))].map((of) => [of, rows.filter((row) => row.of === of)]).filter(([, points]) => points.length > 1);
  return names.length ? h("div", { class: "curves" }, names.map(([of, points]) => curve([of, one.curve[1], one.curve[2]], points, far))) : null;
}
