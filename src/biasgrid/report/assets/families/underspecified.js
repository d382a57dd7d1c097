// Subjects x attributes, and the swap groups behind each association.

import {address, button, chance, count, h, interval, link, name, number, replace, select} from "../dom.js";
import {evidenceBlock, modelOf, real} from "../data.js";
import {DOUBT, associations} from "../associations.js";
import {matrix} from "../matrix.js";
import {intervals, table} from "../table.js";
import {plain, veiled} from "../veil.js";
import {views} from "../generic.js";
import {explaining} from "../sentences.js";
import {behind, numbersOf} from "./swap_group.js";

const NUMBERED = 12;
const LEVELS = 7;
const choice = { order: "similar", row: null, column: null, filter: "" };
let open = null;

async function cellView(core, model, dataset, rest) {
  const found = await associations(model, dataset);
  if (!found.all.length) return h("div", {}, h("p", {}, "Nothing was measured."), pronouns(found));
  const panel = h("section", { class: "panel", "aria-label": "Evidence", "aria-live": "polite" });
  const told = h("p", { class: "told", "aria-hidden": "true" }, " ");
  const held = h("div", { class: "held" });
  const draw = () => {
    open.drawn = drawMatrix(core, model, dataset, found, told, change);
    replace(held, open.drawn.grid);
    open.drawn.mark(...(open.chosen ?? []));
  };
  const change = (values) => {
    Object.assign(choice, values);
    draw();
  };
  open = { core, model, dataset, found, panel, drawn: null, chosen: null };
  await update(rest);
  draw();
  const filter = h("input", { type: "search", "aria-label": "Show subjects and attributes with", placeholder: "Filter", value: choice.filter, oninput: (event) => change({ filter: event.target.value }) });
  const tools = h("div", { class: "tools" }, select("Order", [["similar", "similar ones together"], ["name", "by name"], ["list", "as in the lists"]], choice.order, (order) => change({ order, row: null, column: null })), filter);
  return h("div", { class: "beside" }, h("div", {}, tools, legend(found), h("div", { class: "scroll" }, held), told, asTable(core, model, dataset, found), pronouns(found), subject_groups(found)), panel);
}

function legend(found) {
  return h("p", { class: "soft" }, `Each box is the association ${found.of_question ? "in the question alone, in log odds" : "of shares (how much more often, of the two, a subject is chosen)"}: `, h("span", { class: "key towards level-5" }, "red"), " is tied to this subject more than to those it is compared with, ",
    h("span", { class: "key away level-5" }, "blue"), " less; ", h("span", { class: "key doubtful" }, "hatched"), " is not significant (q, the expected share of false ones, is above 0.05). A dash was not asked.");
}

function orders(found) {
  const places = [found.subjects.map((_, s) => s), found.attributes.map((_, a) => a)];
  const by = (names) => (one, other) => names[one].localeCompare(names[other]);
  const gamma = (s, a) => found.of(s, a).gamma ?? -Infinity;
  let [rows, columns] = choice.order === "similar" && found.order ? found.order : places;
  if (choice.order === "name") [rows, columns] = [places[0].toSorted(by(found.subjects)), places[1].toSorted(by(found.attributes))];
  if (choice.row !== null && choice.row < places[0].length) columns = places[1].toSorted((one, other) => gamma(choice.row, other) - gamma(choice.row, one));
  if (choice.column !== null && choice.column < places[1].length) rows = places[0].toSorted((one, other) => gamma(other, choice.column) - gamma(one, choice.column));
  return [rows, columns];
}

function drawMatrix(core, model, dataset, found, told, change) {
  let [rows, columns] = orders(found);
  const wanted = choice.filter.toLowerCase();
  const hit = (text) => text.toLowerCase().includes(wanted);
  if (wanted && rows.some((s) => hit(found.subjects[s]))) rows = rows.filter((s) => hit(found.subjects[s]));
  else if (wanted) columns = columns.filter((a) => hit(found.attributes[a]));
  const far = Math.max(...found.all.map((each) => Math.abs(each.gamma)), 1e-9);
  const cell = (s, a) => {
    const one = found.of(s, a);
    if (one.gamma === null) return null;
    const doubtful = one.q !== null && one.q > DOUBT;
    return { text: number(one.gamma, 2), level: Math.round((LEVELS * one.gamma) / far) || 0, doubtful, label: sentence(one) };
  };
  return matrix({
    label: "Associations of subjects and attributes", rows, columns, cell, small: columns.length > NUMBERED,
    rowHead: (s) => link(address("subject", dataset, found.subjects[s]), name(found.subjects[s])), columnHead: (a) => veiled(found.attributes[a]),
    sortRow: (row) => change({ row, column: null }), sortColumn: (column) => change({ column, row: null }),
    told: (s, a) => { told.textContent = sentence(found.of(s, a)); },
    choose: (s, a) => { location.hash = address("cell", model, dataset, found.subjects[s], found.attributes[a]); },
  });
}

function sentence(one) {
  const bounds = interval(one.low, one.high);
  return `${one.subject}: ${plain(one.attribute)}, ${number(one.gamma)}${bounds ? ` (${bounds})` : ""}${one.q === null ? "" : `, q ${chance(one.q)}`}`;
}

function asTable(core, model, dataset, found) {
  const to = (one) => address("cell", model, dataset, one.subject, one.attribute);
  const bold = (key, told = number) => ({ numeric: true, value: (row) => row[key], cell: (row) => told(row[key]) });
  const columns = [
    { title: "Subject", head: true, value: (row) => row.subject, cell: (row) => link(to(row), name(row.subject)) },
    { title: "Attribute", value: (row) => plain(row.attribute), cell: (row) => veiled(row.attribute) },
    { title: "Association", ...bold("gamma") }, { title: "Low", ...bold("low") }, { title: "High", ...bold("high") }, { title: "q", ...bold("q", chance) }, { title: "η", ...bold("eta") },
    { title: "n", numeric: true, value: (row) => row.n, cell: (row) => count(row.n) },
  ];
  const rows = found.all.toSorted((one, other) => other.gamma - one.gamma);
  return h("details", { "data-table": "" }, h("summary", {}, "The same as a table"), table("Associations", columns, rows, { most: 300, file: `${model}-${dataset}-associations` }));
}

function subject_groups(found) {
  return groupTable("Groups of subjects", "Associations of groups of subjects", found.subject_groups, false);
}

function pronouns(found) {
  return groupTable("Pronouns of the groups, in log odds of the question alone", "Associations of pronouns", found.pronouns, true);
}

function groupTable(title, caption, rows, open) {
  if (!rows.length) return null;
  const columns = [
    { title: "Group", head: true, value: (row) => row.subject_group }, { title: "Attribute", value: (row) => plain(row.attribute), cell: (row) => veiled(row.attribute) },
    { title: "Association", numeric: true, value: (row) => real(row.value), cell: (row) => number(real(row.value)) },
    intervals("Interval", (row) => [real(row.low), real(row.high)]), { title: "q", numeric: true, value: (row) => real(row.q), cell: (row) => chance(real(row.q)) },
  ];
  return h("details", { open }, h("summary", {}, title), table(caption, columns, rows));
}

async function update(rest) {
  const { found, panel } = open;
  const place = [found.subjects.indexOf(rest[0]), found.attributes.indexOf(rest[1])];
  open.chosen = place;
  open.drawn?.mark(...place);
  if (!rest.length) replace(panel, h("p", { class: "soft" }, "Choose a box: its sentences are shown here."));
  else if (place.includes(-1)) replace(panel, h("p", {}, "This dataset has no such subject or attribute. ", link(address("cell", open.model, open.dataset), "To the cell"), "."));
  else replace(panel, await evidence(...place));
  return true;
}

async function evidence(s, a) {
  const { core, model, dataset, found } = open;
  const one = found.of(s, a);
  const carried = await evidenceBlock(model, dataset);
  const own = carried?.examples.find((each) => each.s === s && each.a === a);
  const close = button("Close", () => { location.hash = address("cell", model, dataset); }, { class: "tool" });
  return [h("h3", {}, name(one.subject), ": ", veiled(one.attribute)), close, numbersOf(one, modelOf(core, model).label),
    own ? behind(own, one, found.templates) : h("p", {}, `The page carries the sentences of ${carried?.examples.length ?? 0} associations of this cell, not of this one.`),
    h("h4", {}, "All its sentences"), explaining(core, model, dataset, namesOf(one))];
}

const namesOf = (one) => [["subject", one.subject], ["attribute", one.attribute]];

async function explained(model, dataset) {
  const { all } = await associations(model, dataset);
  return all.length ? namesOf(all.reduce((one, other) => (other.gamma > one.gamma ? other : one))) : [];
}

views.underspecified = { cellView, update, evidence, explained };
