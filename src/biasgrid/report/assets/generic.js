// The page of a cell: what is the same for all families, and the view of a family that has none of its own.

import {address, capital, chance, command, contents, count, h, link, name, part, select} from "./dom.js";
import {cellBlock, cellOf, datasetOf, evidenceBlock, labelOf, real, templatesOf} from "./data.js";
import {running} from "./run.js";
import {explaining, sentences} from "./sentences.js";
import {table} from "./table.js";
import {keyColumns, tabled} from "./tabled.js";
import {boundsTold, counted, littleTold, valueTold} from "./told.js";

export const views = {};

export async function cellPage(core, model, dataset, rest, go) {
  const cell = cellOf(core, model, dataset);
  const of = datasetOf(core, dataset);
  const view = views[of.family] ?? views.generic;
  const body = h("div", { class: "cell" }, await view.cellView(core, model, dataset, rest, go), await checks(core, model, dataset), part("Reproduce", reproduce(core, await view.explained(model, dataset), model, dataset)));
  return [cellHead(core, model, of), flags(cell), tiles(core.screen.tiles[`${model}/${dataset}`] ?? []), contents(body), body];
}

function cellHead(core, model, dataset) {
  const others = core.cells.filter((cell) => cell.dataset === dataset.name && cell.model !== model);
  const go = (...parts) => { location.hash = address(...parts); };
  const models = core.models.filter((each) => cellOf(core, each.name, dataset.name)).map((each) => [each.name, labelOf(core, each.name)]);
  const datasets = core.datasets.filter((each) => cellOf(core, model, each.name)).map((each) => [each.name, each.title]);
  const compare = others.length ? select("Compare with", [["", "–"], ...others.map((cell) => [cell.model, labelOf(core, cell.model)])], "", (other) => other && go("compare", dataset.name, model, other)) : null;
  return h("header", { class: "titled" }, h("p", { class: "soft" }, link("#/", "Overview"), " › ", link(address("dataset", dataset.name), name(dataset.title)), " › ", name(labelOf(core, model)), controlled(core, model, dataset)),
    h("h2", {}, name(labelOf(core, model)), ": ", name(dataset.title)),
    models.length > 1 ? select("Model", models, model, (other) => go("cell", other, dataset.name)) : null,
    datasets.length > 1 ? select("Dataset", datasets, dataset.name, (other) => go("cell", model, other)) : null, compare);
}

// What shows how much of it the templates alone make, or what it is there for.
function controlled(core, model, dataset) {
  const asked = (each) => cellOf(core, model, each.name);
  const to = (each) => link(address("cell", model, each.name), name(each.title));
  const own = core.datasets.filter((each) => each.control_of === dataset.name && asked(each));
  const of = core.datasets.filter((each) => each.name === dataset.control_of && asked(each));
  return [own.map((each) => ["; its control: ", to(each), " (significant here means larger than in the control)"]), of.map((each) => ["; the control of ", to(each)])];
}

function flags(cell) {
  if (!cell.flag) return null;
  return h("p", { class: "banner", role: "note" }, h("strong", {}, capital(cell.flag)), cell.is_withheld ? ". The tables below show what was asked, not what the model is like." : ".");
}

// What is claimed of the cell, its test, how much was asked, and what is evidence: in words that Python has written.
// With p and its number in one line.
const unbroken = (text) => text.replaceAll(/\bp ([<>=]) /g, "p\u00a0$1\u00a0");

function tiles(told) {
  return h("ul", { class: "tiles", "aria-label": "What is claimed of this cell" }, told.map((each) => h("li", { class: each.is_evidence ? "evidence" : null }, h("small", {}, each.label), h("p", {}, h("b", {}, each.number), " ", each.what), h("p", {}, unbroken(each.said)))));
}

async function checks(core, model, dataset) {
  const { summary } = await cellBlock(model, dataset);
  const declared = datasetOf(core, dataset).measures;
  const rows = summary.map((row) => ({ ...row, title: capital(declared[row.measure]?.title ?? row.measure) }));
  const columns = [
    { title: "Measure", value: (row) => row.title, head: true },
    { title: "Options", value: (row) => row.options || null },
    { title: "Bias type", value: (row) => row.bias_type },
    ...numbers(declared),
    { title: "Mark", value: (row) => row.mark },
    { title: "Best and worst mark in the interval", value: (row) => (row.best_mark === null ? null : `${row.best_mark} to ${row.worst_mark}`) },
    { title: "Flag", value: (row) => row.flag },
  ].filter((column) => rows.some((row) => (column.value(row) ?? null) !== null));
  return part("All numbers", h("details", {}, h("summary", {}, `All ${rows.length} numbers for the whole cell`), table("Numbers for the whole cell", columns, rows, { mixed: true, headed: true, file: `${model}-${dataset}` })));
}

export function numbers(declared) {
  const of = (row) => declared[row.measure];
  const figures = (row) => (counted(row) ? [] : [real(row.value), real(row.low), real(row.high), real(row.null_mean)]);
  return [
    { title: "Value", numeric: true, value: (row) => real(row.value), figures, cell: (row, write) => h("span", { class: littleTold(row, of(row)) ? "soft" : null, title: littleTold(row, of(row)) || null }, valueTold(row, of(row), write)) },
    { title: "Interval", whole: true, value: (row) => boundsTold(row, of(row)) || null, cell: (row, write) => boundsTold(row, of(row), write) || null },
    { title: "Noise alone gives", numeric: true, value: (row) => real(row.null_mean), cell: (row, write) => write(real(row.null_mean)) },
    { title: "p", numeric: true, value: (row) => real(row.p), cell: (row) => chance(real(row.p)) },
    { title: "q", numeric: true, value: (row) => real(row.q), cell: (row) => chance(real(row.q)) },
    { title: "n", numeric: true, value: (row) => row.n, cell: (row) => (row.left_out && !counted(row) ? `${count(row.n)} of ${count(row.n + row.left_out)}` : count(row.n)) },
  ];
}

function reproduce(core, named, model, dataset) {
  return h("details", { class: "reproduce" }, h("summary", {}, "Commands"),
    named.length ? [h("p", {}, "All questions and answers behind one number, and the number computed from them again, for example:"), explaining(core, model, dataset, named)] : null,
    h("p", {}, "To measure again from the stored answers:"), command(`${running(core)} --forcerun measure`));
}

views.generic = { cellView: genericView, update: async () => false, evidence: sentences, explained: firstExplained };

async function firstExplained(model, dataset) {
  const [first] = (await evidenceBlock(model, dataset))?.examples ?? [];
  return first ? [first, ...first.units].find((each) => each.explain?.length)?.explain ?? [] : [];
}

async function genericView(core, model, dataset, rest) {
  return [await keyed(core, model, dataset), await sentences(core, model, dataset, rest)];
}

// What is about something: one column for each key that any row has.
export async function keyed(core, model, dataset) {
  const { tables, keyed: rows, keyed_of: all } = await cellBlock(model, dataset);
  const templates = await templatesOf(dataset);
  if (tables) return tabled(tables, `${model}-${dataset}`, templates);
  if (!rows.length) return null;
  const declared = datasetOf(core, dataset).measures;
  const columns = [
    { title: "Measure", value: (row) => capital(declared[row.measure]?.title ?? row.measure), head: true },
    { title: "Options", value: (row) => row.options || null },
    ...keyColumns(core.keys, rows, templates),
    ...numbers(declared),
  ].filter((column) => rows.some((row) => (column.value(row) ?? null) !== null));
  const told = rows.length < all ? h("p", { class: "soft" }, `This page has ${count(rows.length)} of ${count(all)} such numbers; the measures table has all of them.`) : null;
  return part("Numbers by what they are about", table("Numbers by what they are about", columns, rows, { mixed: true, headed: true, most: 200, file: `${model}-${dataset}-parts` }), told);
}
