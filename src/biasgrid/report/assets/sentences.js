// The sentences behind numbers, and the commands that print all of them.

import {capital, command, h, interval, number, part, quoted} from "./dom.js";
import {cellBlock, datasetOf, evidenceBlock, real} from "./data.js";
import {figure, table} from "./table.js";
import {laidOut} from "./tabled.js";
import {plain, veiled} from "./veil.js";

// So many examples are unfolded, which are the strongest ones.
const OPEN = 6;

// The command that explains a number; `named` are its options. It is not shown while one of them is a hidden text.
export function explaining(core, model, dataset, named) {
  const texts = core.keys.filter((key) => key.on_page === "text").map((key) => key.name);
  if (named.some(([key, value]) => texts.includes(key) && plain(value) !== value)) return h("p", { class: "soft" }, "Show the texts to see the command.");
  const options = [["model", model], ["dataset", dataset], ...named].map(([key, value]) => ` --${key.replaceAll("_", "-")}${argument(`${value}`)}`);
  return command(`biasgrid explain ${quoted(core.results)}${options.join("")}`);
}

// What begins like an option is none after an equals sign.
const argument = (value) => (value.startsWith("-") ? `=${quoted(value)}` : ` ${quoted(value)}`);

// As many as the page carries.
export async function sentences(core, model, dataset) {
  const carried = await evidenceBlock(model, dataset);
  if (!carried || !carried.examples.length) return null;
  const { summary } = await cellBlock(model, dataset);
  const declared = datasetOf(core, dataset).measures;
  const asked = (each) => (each.explain?.length ? h("details", { class: "tool" }, h("summary", {}, "All sentences behind it"), explaining(core, model, dataset, each.explain)) : null);
  const parts = carried.examples.map((example, rank) => h("details", { open: rank < OPEN }, h("summary", {}, example.about.map((each, place) => [place ? ", " : null, veiled(each, { inert: true })])),
    h("p", { class: "soft" }, `${capital(declared[example.measure]?.title ?? example.measure)} ${number(real(example.value))}${sureOf(summary, example)}${reasonOf(example)}`),
    example.units.map((unit) => [unitTable(unit), asked(unit)]), asked(example)));
  const told = carried.of > carried.examples.length ? `The page has the sentences behind ${carried.examples.length} of ${carried.of} numbers. ` : "";
  return part("Sentences behind numbers", h("p", { class: "soft" }, `${told}These are hand-picked extremes and typical cases, not a random sample.`), parts);
}

function reasonOf(example) {
  return { strongest: ", among the strongest", drawn: ", drawn at random" }[example.reason] ?? "";
}

// Interval and mark of the number, where it is one of the cell as a whole.
function sureOf(summary, example) {
  const row = summary.find((each) => each.measure === example.measure && each.options === example.options && each.value === example.value);
  if (!row) return "";
  const bounds = interval(real(row.low), real(row.high));
  const marks = row.mark === null || row.mark.length > 1 || row.best_mark === null || row.best_mark === row.worst_mark ? "" : ` (in the interval ${row.best_mark} to ${row.worst_mark})`;
  return `${bounds ? ` (${bounds})` : ""}${row.mark === null ? "" : `, mark ${row.mark}${marks}`}`;
}

function unitTable(unit) {
  const place = unit.template === null ? "" : `, template ${unit.template}`;
  const caption = `${capital(unit.role)}: ${unit.what ? `${unit.what} ` : ""}${number(real(unit.value))}${place}`;
  return table(caption, unit.columns ? laidOut(unit.columns) : unitColumns(unit), unit.rows, { file: "sentences" });
}

function unitColumns(unit) {
  const [own, other] = unit.scores ?? ["Score", unit.other ? `Score of ${unit.other}` : "Other score"];
  return [
    { title: "Group", value: (row) => row.group },
    { title: "Term", value: (row) => row.term },
    { title: "Text", value: (row) => plain(row.text), cell: (row) => veiled(row.text) },
    { title: "Second text", value: (row) => plain(row.text_pair), cell: (row) => veiled(row.text_pair) },
    { title: "Expected", value: (row) => plain(row.expected), cell: (row) => veiled(row.expected) },
    { title: "Said", value: (row) => plain(row.said), cell: (row) => veiled(row.said) },
    figure(own, (row) => real(row.score)),
    figure(other, (row) => real(row.other_score)),
  ].filter((column) => unit.rows.some((row) => (column.value(row) ?? null) !== null));
}
