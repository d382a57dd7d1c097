// The page of a cell: what is the same for all families, and the view of a family that has none of its own.

import {address, capital, command, count, h, interval, link, name, number, quoted} from "./dom.js";
import {cellBlock, cellOf, datasetOf, evidenceBlock, labelOf, real} from "./data.js";
import {table} from "./table.js";
import {tabled} from "./tabled.js";
import {plain, veiled} from "./veil.js";

export const views = {};
const KEYS = ["subject_cluster", "subject", "attribute_cluster", "attribute", "bias_type", "group", "other", "template"];

export async function cellPage(core, model, dataset, rest, go) {
  const cell = cellOf(core, model, dataset);
  const of = datasetOf(core, dataset);
  const view = views[of.family] ?? views.generic;
  const drawn = await view.cellView(core, model, dataset, rest, go);
  return [cellHead(core, model, of), flags(cell), drawn, await checks(core, model, dataset), reproduce(core, model, dataset)];
}

function cellHead(core, model, dataset) {
  const others = core.cells.filter((cell) => cell.dataset === dataset.name && cell.model !== model);
  const pairs = others.map((cell) => [link(address("compare", dataset.name, model, cell.model), name(labelOf(core, cell.model))), " "]);
  return h("header", {}, h("h2", {}, name(labelOf(core, model)), ": ", name(dataset.title)),
    h("p", { class: "soft" }, link(address("dataset", dataset.name), "All models side by side"), pairs.length ? ["; compare with ", pairs] : null));
}

function flags(cell) {
  return cell.flag ? h("p", { class: "warning", role: "note" }, h("strong", {}, capital(cell.flag)), ".") : null;
}

async function checks(core, model, dataset) {
  const { summary } = await cellBlock(model, dataset);
  const declared = datasetOf(core, dataset).measures;
  const rows = summary.map((row) => ({ ...row, title: capital(declared[row.measure]?.title ?? row.measure) }));
  const columns = [
    { title: "Measure", value: (row) => row.title, head: true },
    { title: "Options", value: (row) => row.options || null },
    { title: "Bias type", value: (row) => row.bias_type },
    ...numbers(),
    { title: "Mark", value: (row) => row.mark },
    { title: "Best and worst mark in the interval", value: (row) => (row.best_mark === null ? null : `${row.best_mark} to ${row.worst_mark}`) },
    { title: "Flag", value: (row) => row.flag },
  ].filter((column) => rows.some((row) => (column.value(row) ?? null) !== null));
  return h("details", {}, h("summary", {}, "All numbers of this cell as a whole"), table("Numbers of the cell as a whole", columns, rows, { file: `${model}-${dataset}` }));
}

export function numbers() {
  return [
    { title: "Value", numeric: true, value: (row) => real(row.value), cell: (row) => number(real(row.value)) },
    { title: "Interval", value: (row) => interval(real(row.low), real(row.high)) || null },
    { title: "Floor", numeric: true, value: (row) => real(row.floor), cell: (row) => number(real(row.floor)) },
    { title: "p", numeric: true, value: (row) => real(row.p), cell: (row) => number(real(row.p)) },
    { title: "q", numeric: true, value: (row) => real(row.q), cell: (row) => number(real(row.q)) },
    { title: "n", numeric: true, value: (row) => row.n, cell: (row) => count(row.n) },
  ];
}

export function reproduce(core, model, dataset, more = "") {
  const asked = `biasgrid explain ${quoted(core.results)} --model ${quoted(model)} --dataset ${quoted(dataset)}${more}`;
  const made = `snakemake --cores all --configfile ${quoted(core.config)} --forcerun measure`;
  return h("details", { class: "reproduce" }, h("summary", {}, "Reproduce"), h("p", {}, "All sentences behind a number:"), command(asked),
    h("p", {}, "The numbers, measured anew from the kept answers:"), command(made));
}

views.generic = { headline: {}, cellView: genericView, update: async () => false, evidence: sentences };

async function genericView(core, model, dataset, rest) {
  return [await keyed(core, model, dataset), await sentences(core, model, dataset, rest)];
}

// What is about something: one column for each key that any row has.
export async function keyed(core, model, dataset) {
  const { tables, keyed: rows, keyed_of: all } = await cellBlock(model, dataset);
  if (tables) return tabled(tables, `${model}-${dataset}`);
  if (!rows.length) return null;
  const declared = datasetOf(core, dataset).measures;
  const present = KEYS.filter((key) => rows.some((row) => row[key] !== null));
  const shown = (key) => (key.startsWith("attribute") ? (row) => veiled(row[key]) : (row) => (typeof row[key] === "string" ? name(row[key]) : row[key]));
  const saved = (key) => (key.startsWith("attribute") ? (row) => plain(row[key]) : (row) => row[key]);
  const columns = [
    { title: "Measure", value: (row) => capital(declared[row.measure]?.title ?? row.measure), head: true },
    { title: "Options", value: (row) => row.options || null },
    ...present.map((key) => ({ title: capital(key.replaceAll("_", " ")), value: saved(key), cell: shown(key) })),
    ...numbers(),
  ].filter((column) => rows.some((row) => (column.value(row) ?? null) !== null));
  const told = rows.length < all ? h("p", { class: "soft" }, `The page carries ${count(rows.length)} of ${count(all)} such numbers; all stand in the measures table.`) : null;
  return h("section", {}, h("h3", {}, "Numbers by what they are about"), table("Numbers by what they are about", columns, rows, { most: 200, file: `${model}-${dataset}-parts` }), told);
}

// The sentences behind numbers, as far as the page carries them.
export async function sentences(core, model, dataset) {
  const carried = await evidenceBlock(model, dataset);
  if (!carried || !carried.examples.length) return null;
  const declared = datasetOf(core, dataset).measures;
  const parts = carried.examples.map((example) => h("article", {}, h("h4", {}, example.about.map((each, place) => [place ? ", " : null, veiled(each)])),
    h("p", { class: "soft" }, `${capital(declared[example.measure]?.title ?? example.measure)} ${number(real(example.value))}, ${reasonOf(example)}`),
    example.units.map((unit) => unitTable(unit))));
  const told = carried.of > carried.examples.length ? `${carried.examples.length} of ${carried.of} are carried. ` : "";
  return h("section", {}, h("h3", {}, "Sentences behind numbers"), h("p", { class: "soft" }, `${told}They are chosen because they are extreme, and are no sample of what the model usually does.`), parts);
}

export function reasonOf(example) {
  return { strongest: "among the strongest", drawn: "drawn at random" }[example.reason] ?? example.reason;
}

function unitTable(unit) {
  const [own, other] = unit.scores ?? ["Score", unit.other ? `Score of ${unit.other}` : "Other score"];
  const columns = [
    { title: "Group", value: (row) => row.group },
    { title: "Term", value: (row) => row.term },
    { title: "Text", value: (row) => plain(row.text), cell: (row) => veiled(row.text) },
    { title: "Second text", value: (row) => plain(row.text_pair), cell: (row) => veiled(row.text_pair) },
    { title: "Expected", value: (row) => plain(row.expected), cell: (row) => veiled(row.expected) },
    { title: "Said", value: (row) => plain(row.said), cell: (row) => veiled(row.said) },
    { title: own, numeric: true, value: (row) => real(row.score), cell: (row) => number(real(row.score)) },
    { title: other, numeric: true, value: (row) => real(row.other_score), cell: (row) => number(real(row.other_score)) },
  ].filter((column) => unit.rows.some((row) => (column.value(row) ?? null) !== null));
  const place = unit.template === null ? "" : `, template ${unit.template}`;
  return table(`${capital(unit.role)}: ${number(real(unit.value))}${place}`, columns, unit.rows, { file: "sentences" });
}
