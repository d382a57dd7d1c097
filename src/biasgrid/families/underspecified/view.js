// Subjects x attributes, and what is behind each association: means by template and partner, and swap groups: four
// questions, in both orders of the subjects, plainly and negated, and the shares that make C.

import {address, button, capital, chance, count, h, interval, link, name, number, replace, select} from "biasgrid/dom.js";
import {evidenceBlock, modelOf, real} from "biasgrid/data.js";
import {DOUBT, associations} from "biasgrid/associations.js";
import {dots, shares} from "biasgrid/chart.js";
import {views} from "biasgrid/generic.js";
import {matrix} from "biasgrid/matrix.js";
import {explaining} from "biasgrid/sentences.js";
import {intervals, table} from "biasgrid/table.js";
import {plain, shown, templateColumns, veiled} from "biasgrid/veil.js";

const FIELDS = ["context", "question", "swapped", "negated", "own", "other", "answer", "at", "length", "atOther", "lengthOther", "share"];
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

function swapGroup(group, subject) {
  const rows = group.rows.map((row) => {
    const told = Object.fromEntries(FIELDS.map((field, place) => [field, row[place]]));
    return { ...told, own: real(told.own), other: real(told.other), share: real(told.share) };
  });
  const squares = rows.map((row) => square(row, subject, group.other));
  return h("article", { class: "group" }, h("h4", {}, capital(group.role), ": compared with ", name(group.other), `, template ${group.template}`), h("div", { class: "squares" }, squares), sum(rows, real(group.c)));
}

function square(row, subject, other) {
  const how = `${row.swapped ? "reversed" : "first"} order, ${row.negated ? "negated" : "plain"}`;
  const bars = [{ sort: "own", label: name(subject), value: row.own, text: number(row.own) }, { sort: "other", label: name(other), value: row.other, text: number(row.other) }];
  return h("div", { class: "square" }, h("p", { class: "soft" }, how), h("p", {}, row.context === null ? null : marked(row), " ", h("em", {}, veiled(row.question))), shares(bars),
    row.answer === null ? null : h("p", { class: "soft" }, "Answer: ", veiled(row.answer)));
}

// The context with both subjects marked; places count characters, not units of UTF-16.
function marked(row) {
  if (!shown() || row.at === null) return veiled(row.context);
  const letters = [...row.context];
  const marks = [["own", row.at, row.length], ["other", row.atOther, row.lengthOther]].filter((each) => each[1] !== null).toSorted((one, two) => one[1] - two[1]);
  const parts = [];
  let end = 0;
  for (const [sort, at, length] of marks) {
    parts.push(letters.slice(end, at).join(""), h("mark", { class: sort }, name(letters.slice(at, at + length).join(""))));
    end = at + length;
  }
  return [parts, letters.slice(end).join("")];
}

// The mean share of the subject, of the two, in the questions and in their negations.
function meanShares(rows) {
  const mean = (negated) => {
    const values = rows.filter((row) => row.negated === negated).map((row) => row.share);
    return values.reduce((one, two) => one + two, 0) / values.length;
  };
  return [mean(false), mean(true)];
}

function sum(rows, c) {
  if (rows.some((row) => row.share === null)) return h("p", { class: "sum" }, `C = ${number(c)}`);
  const [plain, negated] = meanShares(rows).map((each) => number(each));
  return h("p", { class: "sum", "data-c": c }, `C = share in the questions ${plain} − share in their negations ${negated} = ${number(c)}`);
}

function numbersOf(one, label) {
  if (one.gamma === null) return h("p", {}, "This was not asked.");
  const way = one.gamma > 0 ? "more" : "less";
  const sure = one.q === null ? "Nothing tells how sure this is" : one.q <= DOUBT ? "This is significant" : "This is not significant";
  return [h("p", {}, "Association ", h("strong", { "data-gamma": "" }, number(one.gamma)), ` ${interval(one.low, one.high) ? `[${interval(one.low, one.high)}]` : "–"}, q ${chance(one.q)}, η ${number(one.eta)}, n ${count(one.n)}`),
    h("p", {}, name(label), ` gives the attribute ${way} to this subject than to those it is compared with. ${sure}.`)];
}

function behind(own, one, templates = []) {
  const rows = (means) => means.map(([label, value, n]) => ({ label, value: real(value), n }));
  const far = Math.max(...[...own.templates, ...own.partners].map((each) => Math.abs(real(each[1]))), 0);
  const numbers = [{ title: "Mean C", numeric: true, value: (row) => row.value, cell: (row) => number(row.value) }, { title: "n", numeric: true, value: (row) => row.n }];
  const partner = { title: "Partner", head: true, value: (row) => row.label, cell: (row) => name(row.label) };
  const parts = [["by template", own.templates, templateColumns(templates, (row) => row.label)], ["by partner", own.partners, [partner]]].filter(([, means]) => means.length);
  const drawn = parts.map(([title, means, of]) => [dots(`Mean C ${title}`, rows(means), { far }), h("details", {}, h("summary", {}, `Numbers ${title}`), table(`Mean C ${title}`, [...of, ...numbers], rows(means)))]);
  const why = { strongest: "It is carried because it is among the strongest.", drawn: "It is carried because it was drawn at random.", all: "All are carried." }[own.why];
  return [h("p", { class: "soft" }, why), drawn, own.groups.map((group) => swapGroup(group, one.subject))];
}

views.underspecified = { cellView, update, evidence, explained };
