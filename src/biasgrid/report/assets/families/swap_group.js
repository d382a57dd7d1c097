// What is behind an association: means by template and partner, and swap groups: four questions, in both orders of the
// subjects, plainly and negated, and the shares that make C.

import {capital, chance, count, h, interval, name, number} from "../dom.js";
import {real} from "../data.js";
import {DOUBT} from "../associations.js";
import {dots, shares} from "../chart.js";
import {table} from "../table.js";
import {shown, templateColumns, veiled} from "../veil.js";

const FIELDS = ["context", "question", "swapped", "negated", "own", "other", "answer", "at", "length", "atOther", "lengthOther", "share"];

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

export function numbersOf(one, label) {
  if (one.gamma === null) return h("p", {}, "This was not asked.");
  const way = one.gamma > 0 ? "more" : "less";
  const sure = one.q === null ? "Nothing tells how sure this is" : one.q <= DOUBT ? "This is significant" : "This is not significant";
  return [h("p", {}, "Association ", h("strong", { "data-gamma": "" }, number(one.gamma)), ` ${interval(one.low, one.high) ? `[${interval(one.low, one.high)}]` : "–"}, q ${chance(one.q)}, η ${number(one.eta)}, n ${count(one.n)}`),
    h("p", {}, name(label), ` gives the attribute ${way} to this subject than to those it is compared with. ${sure}.`)];
}

export function behind(own, one, templates = []) {
  const rows = (means) => means.map(([label, value, n]) => ({ label, value: real(value), n }));
  const far = Math.max(...[...own.templates, ...own.partners].map((each) => Math.abs(real(each[1]))), 0);
  const numbers = [{ title: "Mean C", numeric: true, value: (row) => row.value, cell: (row) => number(row.value) }, { title: "n", numeric: true, value: (row) => row.n }];
  const partner = { title: "Partner", head: true, value: (row) => row.label, cell: (row) => name(row.label) };
  const parts = [["by template", own.templates, templateColumns(templates, (row) => row.label)], ["by partner", own.partners, [partner]]].filter(([, means]) => means.length);
  const drawn = parts.map(([title, means, of]) => [dots(`Mean C ${title}`, rows(means), { far }), h("details", {}, h("summary", {}, `Numbers ${title}`), table(`Mean C ${title}`, [...of, ...numbers], rows(means)))]);
  const why = { strongest: "It is carried because it is among the strongest.", drawn: "It is carried because it was drawn at random.", all: "All are carried." }[own.why];
  return [h("p", { class: "soft" }, why), drawn, own.groups.map((group) => swapGroup(group, one.subject))];
}
