// Subjects x attributes, and what is behind each association: means by template and partner, and swap groups: four
// questions, in both orders of the subjects, plainly and negated, and the shares that make C.

import {address, alike, button, capital, chance, count, h, interval, leading, link, name, number, part, replace, select} from "biasgrid/dom.js";
import {evidenceBlock, labelOf, real} from "biasgrid/data.js";
import {DOUBT, associations} from "biasgrid/associations.js";
import {dots, forest, shares} from "biasgrid/chart.js";
import {views} from "biasgrid/generic.js";
import {matrix} from "biasgrid/matrix.js";
import {explaining} from "biasgrid/sentences.js";
import {figure, intervals, table} from "biasgrid/table.js";
import {plain, shown, templateColumns, veiled} from "biasgrid/veil.js";

const FIELDS = ["context", "question", "swapped", "negated", "own", "other", "answer", "at", "length", "atOther", "lengthOther", "share"];
const NUMBERED = 12;
const LEVELS = 7;
// From this association on a box has its full colour, in every report; log odds have no such end.
const FULL = 0.5;
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
  const grouped = found.subject_groups.length > 0;
  const matrixPart = part(grouped ? "Evidence: single names" : "Groups and attributes", legend(found, grouped), tools, h("div", { class: "scroll" }, held), told);
  return h("div", { class: "beside" }, h("div", {}, groupPart(found), matrixPart, part("As a table", asTable(core, model, dataset, found)), pronouns(found)), panel);
}

function legend(found, grouped) {
  const what = found.of_question ? "the association in the question alone, in log odds" : "how much more often the model chooses this name or group for the attribute than the one it is compared with";
  return h("p", { class: "legend" }, grouped ? "These numbers hold for these names only; the claim about the groups is above. " : null, `A number is ${what}. `, h("span", { class: "key towards level-5" }, "Red"), " more often. ",
    h("span", { class: "key away level-5" }, "Blue"), " less often. ", h("span", { class: "key doubtful" }, "Hatched"), " not significant (q > 0.05). ", found.of_question ? null : "Full colour: 0.5 and more. ", "Dash: not asked. Choose a box to see its sentences.");
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
  const far = found.of_question ? Math.max(...found.all.map((each) => Math.abs(each.gamma)), 1e-9) : FULL;
  const write = alike(found.all.map((each) => each.gamma), 2);
  const cell = (s, a) => {
    const one = found.of(s, a);
    if (one.gamma === null) return null;
    const doubtful = one.q !== null && one.q > DOUBT;
    return { text: write(one.gamma), level: Math.round((LEVELS * Math.max(-1, Math.min(1, one.gamma / far)))) || 0, doubtful, label: sentence(one) };
  };
  return matrix({
    label: "Associations of subjects and attributes", rows, columns, cell, small: columns.length > NUMBERED,
    rowHead: (s) => link(address("subject", dataset, found.subjects[s]), name(found.subjects[s])), columnHead: (a) => veiled(found.attributes[a], { inert: columns.length > NUMBERED }),
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
  const columns = [
    { title: "Subject", head: true, value: (row) => row.subject, cell: (row) => leading(to(row), plain(row.attribute) !== row.attribute, name(row.subject)) },
    { title: "Attribute", value: (row) => plain(row.attribute), cell: (row) => veiled(row.attribute) },
    figure("Association", (row) => row.gamma), intervals("Interval", (row) => [row.low, row.high]), chances(),
    { title: "η", numeric: true, value: (row) => row.eta, cell: (row) => number(row.eta) },
    { title: "n", numeric: true, value: (row) => row.n, cell: (row) => count(row.n) },
  ];
  const rows = found.all.toSorted((one, other) => other.gamma - one.gamma);
  return h("details", { "data-table": "" }, h("summary", {}, `${count(rows.length)} associations, the largest first`), table("Associations", columns, rows, { headed: true, most: 300, file: `${model}-${dataset}-associations` }));
}

const chances = () => ({ title: "q", numeric: true, value: (row) => row.q, cell: (row) => chance(row.q) });

// What is claimed of the cell where subjects have groups; of two groups each number of one mirrors the other's.
function groupPart(found) {
  const names = [...new Set(found.subject_groups.map((row) => row.subject_group))];
  if (!names.length) return null;
  const two = names.length === 2;
  const rows = found.subject_groups.filter((row) => !two || row.subject_group === names[0]);
  const about = two ? `Right of 0: the model chooses ${names[0]} names more often; left: ${names[1]} names. ` : "Right of 0: the model chooses names of the group more often than others. ";
  return part(two ? `Groups: ${names[0]} against ${names[1]} names` : "Groups of names", h("p", { class: "soft" }, about, "The interval covers other names and other templates."), groupTable("Associations of groups", rows, found.of_question));
}

function pronouns(found) {
  return found.pronouns.length ? part("Pronouns of the groups", h("p", { class: "soft" }, "In log odds of the question alone."), groupTable("Associations of pronouns", found.pronouns, true)) : null;
}

function groupTable(caption, rows, unbounded) {
  const told = rows.map((row) => ({ ...row, value: real(row.value), low: real(row.low), high: real(row.high), q: real(row.q) }));
  const reading = (row) => (row.q === null ? "not tested" : row.q <= DOUBT ? "significant" : !unbounded && row.high - row.low > 1 ? "too little asked to say" : "not significant");
  const columns = [
    { title: "Attribute", head: true, value: (row) => plain(row.attribute), cell: (row) => veiled(row.attribute) }, ...(new Set(rows.map((row) => row.subject_group)).size > 1 ? [{ title: "Group", value: (row) => row.subject_group }] : []),
    forest(told, (row) => [row.value, row.low, row.high], [0]), figure("Association", (row) => row.value), intervals("Interval", (row) => [row.low, row.high]), chances(),
    { title: "Reading", value: reading, cell: (row) => (row.q !== null && row.q <= DOUBT ? h("strong", {}, reading(row)) : reading(row)) },
  ];
  return table(caption, columns, told, { headed: true });
}

async function update(rest) {
  const { found, panel } = open;
  const place = [found.subjects.indexOf(rest[0]), found.attributes.indexOf(rest[1])];
  open.chosen = place;
  open.drawn?.mark(...place);
  if (!rest.length) replace(panel, h("p", { class: "soft" }, "Choose a box to see its sentences here."));
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
  return [close, h("h3", {}, name(one.subject), ": ", veiled(one.attribute)), numbersOf(one, labelOf(core, model)),
    own ? behind(own, one, found.templates) : h("p", {}, `The page has the sentences of ${carried?.examples.length ?? 0} of ${found.all.length} associations of this cell, not of this one. This command prints them.`),
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
  const write = alike(rows.flatMap((row) => [row.own, row.other]));
  const squares = rows.map((row) => square(row, subject, group.other, write));
  return h("article", { class: "group" }, h("h4", {}, capital(group.role), ": compared with ", name(group.other), `, template ${group.template}`), h("div", { class: "squares" }, squares), sum(rows, real(group.c)));
}

function square(row, subject, other, write) {
  const how = `names ${row.swapped ? "swapped" : "in first order"}${row.negated ? ", negated" : ""}`;
  const bars = [{ sort: "own", label: name(subject), value: row.own, text: write(row.own) }, { sort: "other", label: name(other), value: row.other, text: write(row.other) }];
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
  const shares = meanShares(rows);
  const write = alike([...shares, c]);
  const [plain, negated] = shares.map(write);
  return h("p", { class: "sum", "data-c": c }, `C = share in the questions ${plain} − share in their negations ${negated} = ${write(c)}`);
}

function numbersOf(one, label) {
  if (one.gamma === null) return h("p", {}, "This was not asked.");
  const sure = one.q !== null && one.q <= DOUBT;
  const said = sure ? [name(label), ` chooses this subject ${one.gamma > 0 ? "more" : "less"} often than the subjects it is compared with. Significant.`] : one.q === null ? "The uncertainty of this was not tested." : "No significant difference from the subjects it is compared with.";
  const write = alike([one.gamma, one.low, one.high]);
  const bounds = interval(one.low, one.high, write);
  return [h("p", { class: "big" }, h("strong", { "data-gamma": "" }, write(one.gamma)), h("span", { class: "soft" }, `${bounds ? ` interval ${bounds}` : " no interval"}, q ${chance(one.q)}, η ${number(one.eta)}, ${count(one.n)} comparisons`)), h("p", {}, said)];
}

function behind(own, one, templates = []) {
  const rows = (means) => means.map(([label, value, n]) => ({ label, value: real(value), n }));
  const far = Math.max(...[...own.templates, ...own.partners].map((each) => Math.abs(real(each[1]))), 0);
  const numbers = [figure("Mean C", (row) => row.value), { title: "n", numeric: true, value: (row) => row.n }];
  const partner = { title: "Partner", head: true, value: (row) => row.label, cell: (row) => name(row.label) };
  const parts = [["by template", own.templates, templateColumns(templates, (row) => row.label)], ["by partner", own.partners, [partner]]].filter(([, means]) => means.length);
  const drawn = parts.map(([title, means, of]) => h("div", {}, dots(`Mean C ${title}`, rows(means), { far }), h("details", {}, h("summary", {}, `Numbers ${title}`), table(`Mean C ${title}`, [...of, ...numbers], rows(means), { headed: true }))));
  const why = { strongest: "Shown because it is among the strongest. ", drawn: "Shown because it was drawn at random. " }[own.why] ?? "";
  return [h("p", { class: "soft" }, why, "The examples below are hand-picked extremes and one typical case, not a random sample."), h("div", { class: "means" }, drawn), own.groups.map((group) => swapGroup(group, one.subject))];
}

views.underspecified = { cellView, update, evidence, explained };
