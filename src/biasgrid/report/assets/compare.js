// Two models on one dataset: what rule compare tells of them, and their associations side by side.

import {address, capital, chance, h, leading, link, name, number} from "./dom.js";
import {block, cellOf, datasetOf, labelOf, real, templatesOf} from "./data.js";
import {DOUBT, associations} from "./associations.js";
import {scatter} from "./chart.js";
import {rankNote, rankTold} from "./ranks.js";
import {figure, intervals, table} from "./table.js";
import {keyColumns} from "./tabled.js";
import {plain} from "./veil.js";

export async function comparePage(core, dataset, one, other) {
  if (!cellOf(core, one, dataset) || !cellOf(core, other, dataset)) return null;
  const of = datasetOf(core, dataset);
  const rows = await rowsOf(dataset, one, other);
  const whole = rows.filter((row) => core.keys.every((key) => !key.is_part || row[key.name] === null));
  const parts = rows.filter((row) => !whole.includes(row));
  const names = [labelOf(core, one), labelOf(core, other)];
  const swap = link(address("compare", dataset, other, one), "the other way round");
  return [h("h2", {}, name(names[0]), " and ", name(names[1]), ": ", name(of.title)),
    h("p", { class: "soft" }, link(address("cell", one, dataset), name(names[0])), ", ", link(address("cell", other, dataset), name(names[1])), "; ", swap),
    reasons(rows), over(rows), wholes(of, whole, names, await rankOf(dataset, one, other)), await drawn(of, parts, one, other, names), await differences(core, of, parts, one, other, names)];
}

// Differences are those of the first less the second, whichever way round they are kept.
async function rowsOf(dataset, one, other) {
  const kept = await block(`compared/${dataset}/${one}/${other}`);
  if (kept) return kept;
  const flip = (value) => (value === null ? null : -value);
  return ((await block(`compared/${dataset}/${other}/${one}`)) ?? []).map((row) => ({
    ...row, value: row.other_value, other_value: row.value, difference: flip(row.difference), low: flip(row.high), high: flip(row.low), mark: row.other_mark, other_mark: row.mark }));
}

function reasons(rows) {
  const told = [...new Set(rows.filter((row) => row.difference === null && row.reason).map((row) => row.reason))];
  return told.length ? h("p", { class: "banner" }, `Not compared: ${told.join("; ")}.`) : null;
}

function measured(names) {
  const value = (title, key, mark) => ({ ...figure(title, (row) => real(row[key])), cell: (row, write) => [write(real(row[key])), row[mark] ? ` ${row[mark]}` : null] });
  return [value(names[0], "value", "mark"), value(names[1], "other_value", "other_mark"), value("Difference", "difference"),
    intervals("Interval", (row) => [real(row.low), real(row.high)]), { title: "q", numeric: true, value: (row) => real(row.q), cell: (row) => chance(real(row.q)) }];
}

const found = (row) => row.q !== null && real(row.q) <= DOUBT;
const significant = { title: "Significant", value: (row) => (row.q === null ? null : found(row) ? "yes" : "no") };

// What the differences are over, whose variance makes intervals and q.
function over(rows) {
  const clusters = Math.max(...rows.map((row) => row.clusters ?? 0));
  if (clusters < 1) return null;
  const alike = rows.every((row) => row.paired !== false) ? "the same for both models: each is left out of both at once" : "which differ between the models";
  const others = [...new Set(rows.map((row) => row.other_factors).filter(Boolean))];
  const names = others.length ? ` Numbers about ${others.join(" or ")} cover the variation between these, too; numbers of whole cells take them as given.` : "";
  return h("p", { class: "soft" }, `Intervals and q come from ${clusters} ${clusters === 1 ? "cluster" : "clusters"} (templates that do not reword each other), ${alike}.${names}`);
}

// Returns what tells the rank of either model in a row, with its interval and among how many models.
async function rankOf(dataset, one, other) {
  const ranks = (await block(`ranks/${dataset}`)) ?? [];
  const same = (row, rank) => ["measure", "options", "bias_type"].every((key) => row[key] === rank[key]);
  const told = (model) => (row) => {
    const own = ranks.find((rank) => rank.model === model && same(row, rank));
    return own ? rankTold(own) : null;
  };
  return [told(one), told(other)];
}

function wholes(dataset, rows, names, ranks) {
  if (!rows.length) return h("p", {}, "What differs between these models was not tested.");
  const columns = [
    { title: "Measure", head: true, value: (row) => capital(dataset.measures[row.measure]?.title ?? row.measure) }, { title: "Options", value: (row) => row.options || null },
    { title: "Bias type", value: (row) => row.bias_type }, ...measured(names), significant, ...ranks.map((told, place) => ({ title: `Rank of ${names[place]}`, whole: true, value: told })),
  ].filter((column) => rows.some((row) => (column.value(row) ?? null) !== null));
  const about = rows.some((row) => ranks[0](row) !== null) ? [rankNote(), " ", link(address("dataset", dataset.name), "All ranks"), "."] : null;
  // What is about bias stands above what says whether it could be measured.
  const order = Object.keys(dataset.measures);
  const place = (row) => order.indexOf(row.measure) + (dataset.measures[row.measure]?.fair === null ? order.length : 0);
  const sorted = rows.toSorted((a, b) => place(a) - place(b));
  return h("section", {}, h("h3", {}, "Whole cells"), h("p", { class: "soft" }, about), table("Whole cells", columns, sorted, { mixed: true, headed: true, file: "compared" }));
}

async function drawn(dataset, parts, one, other, names) {
  const [first, second] = await Promise.all([associations(one, dataset.name), associations(other, dataset.name)]);
  if (!first || !second) return null;
  const told = new Set(parts.filter((row) => row.measure === "share_gamma" && found(row)).map((row) => `${row.subject}\n${row.attribute}`));
  const points = first.all.map((each) => ({ each, against: second.of(each.s, each.a).gamma })).filter((point) => point.against !== null);
  if (points.length < 3) return null;
  const rows = points.map(({ each, against }) => ({
    x: each.gamma, y: against, found: told.has(`${each.subject}\n${each.attribute}`), to: address("cell", one, dataset.name, each.subject, each.attribute),
    label: `${each.subject}: ${plain(each.attribute)}, ${number(each.gamma)} and ${number(against)}`,
  }));
  return h("section", {}, h("h3", {}, "Associations"), h("p", {}, `The associations of the two models correlate with ${number(correlation(rows))} (${rows.length.toLocaleString("en")} associations).${rows.some((row) => row.found) ? " Orange: the two models differ significantly (q ≤ 0.05)." : ""}`), scatter("association in both models", rows, names));
}

function correlation(rows) {
  const mean = (key) => rows.reduce((sum, row) => sum + row[key], 0) / rows.length;
  const [x, y] = [mean("x"), mean("y")];
  const sum = (make) => rows.reduce((total, row) => total + make(row.x - x, row.y - y), 0);
  const spread = Math.sqrt(sum((a) => a * a) * sum((_, b) => b * b));
  return spread === 0 ? null : sum((a, b) => a * b) / spread;
}

async function differences(core, dataset, rows, one, other, names) {
  if (!rows.length) return null;
  const templates = await templatesOf(dataset.name);
  const hidden = (row) => plain(row.attribute) !== row.attribute;
  const to = (model, row, text) => (row.subject !== null && row.attribute !== null ? leading(address("cell", model, dataset.name, row.subject, row.attribute), hidden(row), text) : text);
  const [first, second, ...rest] = measured(names);
  const columns = [{ title: "Measure", head: true, value: (row) => capital(dataset.measures[row.measure]?.title ?? row.measure) },
    ...keyColumns(core.keys, rows, templates),
    { ...first, cell: (row, write) => to(one, row, write(real(row.value))) }, { ...second, cell: (row, write) => to(other, row, write(real(row.other_value))) }, ...rest, significant];
  const sorted = rows.toSorted((a, b) => Math.abs(b.difference ?? 0) - Math.abs(a.difference ?? 0));
  return h("section", {}, h("h3", {}, "Largest differences of parts"), h("p", { class: "soft" }, "Sorted by size. The page has the largest differences and all significant ones."), table("Largest differences", columns, sorted, { mixed: new Set(rows.map((row) => row.measure)).size > 1, headed: true, most: 100, file: "differences" }));
}
