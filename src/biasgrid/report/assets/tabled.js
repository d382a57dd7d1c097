// Tables that a family has made of the parts of a cell, drawn as they are.

import {count, h, interval, name, number} from "./dom.js";
import {real} from "./data.js";
import {table} from "./table.js";
import {plain, veiled} from "./veil.js";

const told = (pair) => (pair ? interval(real(pair[0]), real(pair[1])) : null);
const KINDS = {
  name: { value: (each) => each, cell: (each) => (each === null ? null : name(`${each}`)) },
  text: { value: plain, cell: veiled },
  number: { numeric: true, value: real, cell: (each) => number(real(each)) },
  interval: { value: told, cell: (each) => told(each) ?? "–" },
  count: { numeric: true, value: (each) => each, cell: count },
};

export function tabled(tables, file) {
  return tables.map((one) => {
    const columns = one.columns.map(([title, kind], place) => {
      const { numeric, value, cell } = KINDS[kind];
      return { title, numeric, head: place === 0, value: (row) => value(row[place]), cell: (row) => cell(row[place]) };
    });
    const carried = one.rows.length < one.of ? ` The page carries ${count(one.rows.length)} of ${count(one.of)}.` : "";
    return h("section", {}, h("h3", {}, one.title), h("p", { class: "soft" }, one.about, carried),
      table(one.title, columns, one.rows, { most: 200, file: `${file}-${one.title.toLowerCase().replaceAll(" ", "-")}` }));
  });
}
