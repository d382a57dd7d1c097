// The grid: a box for each cell, and what was found.

import {address, capital, h, link, name, select} from "./dom.js";
import {cellOf, headline, real} from "./data.js";
import {csvButton, scroll} from "./table.js";
import {littleTold, sureTold, valueTold} from "./told.js";
import {veiled} from "./veil.js";

const OWN = "";
const choice = { measure: OWN, kind: "", dataset: "", sorted: null, down: true };

export function overview(core, go) {
  const models = core.models.filter((model) => !choice.kind || model.kind === choice.kind);
  const datasets = core.datasets.filter((dataset) => !choice.dataset || dataset.name === choice.dataset);
  const redraw = (key) => (value) => {
    choice[key] = value;
    go();
  };
  const kinds = [...new Set(core.models.map((model) => model.kind))];
  const tools = h("div", { class: "tools" },
    select("Measure", [[OWN, "that of each dataset"], ...measuresOf(core)], choice.measure, redraw("measure")),
    select("Kind", [["", "all"], ...kinds.map((kind) => [kind, kind])], choice.kind, redraw("kind")),
    select("Dataset", [["", "all"], ...core.datasets.map((each) => [each.name, each.title])], choice.dataset, redraw("dataset")));
  return [h("h2", {}, "The grid"), wholeness(core), findings(core), tools, legend(), grid(core, inOrder(core, models), datasets, go)];
}

function measuresOf(core) {
  const titles = new Map();
  for (const dataset of core.datasets) {
    for (const each of dataset.headlines) titles.set(each, capital(dataset.measures[each].title));
  }
  return [...titles];
}

export function measureOf(dataset, chosen = OWN) {
  const judged = (each) => dataset.measures[each].fair !== null;
  return chosen === OWN ? dataset.headlines.find(judged) ?? dataset.headlines[0] : dataset.headlines.find((each) => each === chosen);
}

function wholeness(core) {
  const withheld = core.cells.filter((cell) => cell.flag && cell.flag.startsWith("not measurable"));
  const told = `${core.cells.length} ${core.cells.length === 1 ? "cell" : "cells"}, each with all of its answers`;
  if (!withheld.length) return h("p", {}, `${told}.`);
  const items = withheld.map((cell) => h("li", {}, link(address("cell", cell.model, cell.dataset), name(cell.model), " on ", name(cell.dataset)), ` is ${cell.flag}`));
  return h("div", {}, h("p", {}, `${told}; ${withheld.length} not measurable:`), h("ul", {}, items));
}

function findings(core) {
  if (!core.findings.length) return null;
  const items = core.findings.map((each) => h("li", {}, h("strong", {}, name(each.label)), ":", each.parts.map(([text, hidden], place) => [place ? "; " : " ", hidden ? veiled(text) : text]), "."));
  return h("section", { class: "findings" }, h("h3", {}, "What was found"), h("ul", {}, items));
}

function legend() {
  return h("p", { class: "soft" }, "The darker a box, the further its number is from equal treatment, among those of its ",
    "measure in its dataset; a control has the scale of its dataset. The bar at its foot is its interval. A dash says that nothing can be said, which is not 0.");
}

function inOrder(core, models) {
  if (choice.sorted === null) return models;
  const dataset = core.datasets.find((each) => each.name === choice.sorted);
  const value = (model) => {
    const row = rowOf(core, model, dataset);
    return row && row.value !== null ? real(row.value) : -Infinity;
  };
  return models.toSorted((one, other) => (choice.down ? 1 : -1) * (value(other) - value(one)));
}

function rowOf(core, model, dataset) {
  const measure = measureOf(dataset, choice.measure);
  const cell = cellOf(core, model.name, dataset.name);
  return cell && measure ? headline(core, cell, measure) : undefined;
}

function grid(core, models, datasets, go) {
  const order = (dataset) => {
    choice.down = choice.sorted === dataset.name ? !choice.down : true;
    choice.sorted = dataset.name;
    go();
  };
  const heads = datasets.map((dataset) => {
    const measure = measureOf(dataset, choice.measure);
    const sorted = choice.sorted === dataset.name ? (choice.down ? "descending" : "ascending") : null;
    const sort = h("button", { type: "button", class: "sort", onclick: () => order(dataset) }, measure ? dataset.measures[measure].symbol : "–");
    return h("th", { scope: "col", "aria-sort": sorted }, link(address("dataset", dataset.name), name(dataset.title)), sort);
  });
  // What is noise must not look like bias: a control has the scale of its dataset.
  const measured = (dataset) => core.datasets.find((each) => each.name === dataset.control_of) ?? dataset;
  const ends = new Map(datasets.map((dataset) => [dataset.name, endsOf(core, measured(dataset))]));
  const rows = models.map((model) => h("tr", {}, h("th", { scope: "row" }, name(model.label), h("small", {}, name(model.kind))),
    datasets.map((dataset) => box(core, model, dataset, ends.get(dataset.name)))));
  const table = h("table", { class: "grid" }, h("caption", {}, "Models and datasets"), h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Model"), heads)), h("tbody", {}, rows));
  const saved = () => [["model", "kind", "dataset", "measure", "bias_type", "value", "low", "high", "null_mean", "n", "flag"],
    ...models.flatMap((model) => datasets.flatMap((dataset) => savedRow(core, model, dataset)))];
  return h("div", {}, scroll("The grid", table), csvButton("grid.csv", saved));
}

function savedRow(core, model, dataset) {
  const row = rowOf(core, model, dataset);
  const cell = cellOf(core, model.name, dataset.name);
  if (!cell) return [];
  if (!row) return [[model.name, model.kind, dataset.name, null, null, null, null, null, null, null, cell.flag]];
  const numbers = [row.value, row.low, row.high, row.null_mean].map(real);
  return [[model.name, model.kind, dataset.name, row.measure, row.bias_type, ...numbers, row.n, cell.flag]];
}

// How far numbers of a dataset go: from what is fair, and from the lowest to the highest end of an interval.
function endsOf(core, dataset) {
  const rows = core.models.map((model) => rowOf(core, model, dataset)).filter((row) => row && row.value !== null);
  const fair = rows.length ? dataset.measures[rows[0].measure].fair : null;
  const all = rows.flatMap((row) => [row.value, row.low, row.high].map(real).filter((each) => each !== null));
  const far = Math.max(...rows.map((row) => Math.abs(real(row.value) - (fair ?? 0))), 1e-9);
  return { fair, far, low: Math.min(...all, fair ?? Infinity), high: Math.max(...all, fair ?? -Infinity) };
}

function box(core, model, dataset, ends) {
  const cell = cellOf(core, model.name, dataset.name);
  if (!cell) return h("td", { class: "none" }, h("span", { class: "soft" }, "not asked"));
  const to = address("cell", model.name, dataset.name);
  const label = `${model.label} (${model.kind}), ${dataset.title}`;
  const row = rowOf(core, model, dataset);
  if (!row || row.value === null) {
    const reason = cell.flag ?? (row ? "nothing was measured" : "no such measure");
    return h("td", {}, h("a", { href: to, class: "box empty", "aria-label": `${label}: ${reason}` }, "–", h("small", {}, reason)));
  }
  const value = real(row.value);
  const measure = dataset.measures[row.measure];
  const little = littleTold(row, measure);
  const shade = ends.fair === null || little ? 0 : Math.min(8, Math.round(8 * Math.abs(value - ends.fair) / ends.far));
  return h("td", {}, h("a", { href: to, class: `box shade-${shade}` },
    h("span", { class: "unseen" }, `${label}: `), h("b", { class: little ? "soft" : null }, valueTold(row, measure)), row.mark ? ` ${row.mark}` : null,
    row.bias_type ? h("small", {}, name(row.bias_type)) : null, h("small", { class: "whole" }, sureTold(row, measure)),
    little ? h("small", {}, little) : null, whisker(row, ends),
    cell.flag ? h("small", { class: "flag", title: cell.flag }, "flagged") : null));
}

function whisker(row, ends) {
  if (row.low === null || row.high === null) return null;
  const place = (value) => `${(100 * (real(value) - ends.low)) / (ends.high - ends.low || 1)}%`;
  return h("span", { class: "whisker", vars: { "--from": place(row.low), "--to": place(row.high) }, "aria-hidden": "true" });
}
