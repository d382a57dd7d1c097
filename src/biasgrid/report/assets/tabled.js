// Tables that a family has made of the parts of a cell, drawn as they are.

import {capital, chance, count, h, name, part} from "./dom.js";
import {curve, forest} from "./chart.js";
import {real} from "./data.js";
import {figure, intervals, table} from "./table.js";
import {plain, templateColumns, veiled} from "./veil.js";

const ends = (pair) => (pair ? pair.map(real) : [null, null]);
const KINDS = {
  name: (title, of) => ({ title, value: of, cell: (row) => (of(row) === null ? null : name(`${of(row)}`)) }),
  text: (title, of) => ({ title, value: (row) => plain(of(row)), cell: (row) => veiled(of(row)) }),
  number: (title, of) => (["p", "q"].includes(title) ? { title, numeric: true, value: (row) => real(of(row)), cell: (row) => chance(real(of(row))) } : figure(title, (row) => real(of(row)))),
  interval: (title, of) => intervals(title, (row) => ends(of(row))),
  count: (title, of) => ({ title, numeric: true, value: of, cell: (row) => count(of(row)) }),
};

const MOST = 200;
// Titles of columns that say what a row's number is: such rows have no axis and no decimals in common.
const MEASURED = ["Measure", "Metric"];

// What `table` draws of columns that a family has laid out.
export function laidOut(columns, templates = []) {
  return columns.flatMap(([title, kind], place) => {
    const of = (row) => row[place];
    return kind === "template" ? templateColumns(templates, of) : { ...KINDS[kind](title, of), head: place === 0 };
  });
}

// A column for each key that any row has, and for a template also what it says.
export function keyColumns(keys, rows, templates) {
  return keys.filter((key) => rows.some((row) => row[key.name] !== null)).flatMap((key) => {
    const of = (row) => row[key.name];
    return key.on_page === "template" ? templateColumns(templates, of) : KINDS[key.on_page](capital(key.name.replaceAll("_", " ")), of);
  });
}

// With a picture of each number that has an interval behind it, where the table is of one number.
function pictured(columns, laid, rows) {
  const place = columns.findIndex(([, kind]) => kind === "interval");
  const single = columns.filter(([, kind]) => kind === "interval").length === 1 && columns[place - 1]?.[1] === "number";
  const number = laid.findIndex((column) => column.title === columns[place - 1]?.[0]);
  return single && rows.length > 1 ? laid.toSpliced(number, 0, forest(rows, (row) => [real(row[place - 1]), ...ends(row[place])])) : laid;
}

export function tabled(tables, file, templates) {
  return tables.map((one) => {
    const drawn = curves(one);
    const laid = laidOut(one.columns, templates);
    const mixed = one.columns.some(([title]) => MEASURED.includes(title));
    const columns = drawn || mixed ? laid : pictured(one.columns, laid, one.rows.slice(0, MOST));
    const carried = one.rows.length < one.of ? ` The page carries ${count(one.rows.length)} of ${count(one.of)}.` : "";
    const numbers = table(one.title, columns, one.rows, { mixed, headed: true, most: MOST, file: `${file}-${one.title.toLowerCase().replaceAll(" ", "-")}` });
    return part(one.title, h("p", { class: "soft" }, one.about, carried), drawn,
      drawn ? h("details", {}, h("summary", {}, "The same as a table"), numbers) : numbers);
  });
}

// A curve of each name that the rows have; one point is none.
function curves(one) {
  if (!one.curve) return null;
  const [named, across, up, around] = [...one.curve, "Interval"].map((title) => one.columns.findIndex((column) => column[0] === title));
  const band = (row) => ends(around < 0 ? null : row[around]);
  const rows = one.rows.filter((row) => row[across] !== null && row[up] !== null).map((row) => ({ of: named < 0 ? "" : row[named] ?? "", x: real(row[across]), y: real(row[up]), ends: band(row) }));
  const far = Math.max(...rows.map((row) => row.x), 1e-6);
  const names = [...new Set(rows.map((row) => row.of))].map((of) => [of, rows.filter((row) => row.of === of)]).filter(([, points]) => points.length > 1);
  return names.length ? h("div", { class: "curves" }, names.map(([of, points]) => curve([of, one.curve[1], one.curve[2]], points, far))) : null;
}
