// A subject's profile: a row for each attribute, a mark for each model.

import {address, chance, h, leading, name, select} from "./dom.js";
import {datasetBlock, datasetOf, labelOf} from "./data.js";
import {DOUBT, associations} from "./associations.js";
import {dots} from "./chart.js";
import {figure, intervals, table} from "./table.js";
import {plain, veiled} from "./veil.js";

const choice = { model: null };

export async function subjectPage(core, dataset, subject, go) {
  const of = datasetOf(core, dataset);
  const shared = of && (await datasetBlock(dataset));
  const s = shared?.subjects?.indexOf(subject) ?? -1;
  if (s < 0) return null;
  const models = core.cells.filter((cell) => cell.dataset === dataset).map((cell) => cell.model);
  const found = new Map(await Promise.all(models.map(async (model) => [model, await associations(model, dataset)])));
  const shown = models.includes(choice.model) ? choice.model : models[0];
  const rows = shared.attributes.map((attribute, a) => ({ attribute, of: new Map(models.map((model) => [model, found.get(model)?.of(s, a) ?? null])) }));
  const gamma = (row, model) => row.of.get(model)?.gamma ?? null;
  const far = Math.max(...rows.flatMap((row) => models.map((model) => Math.abs(gamma(row, model) ?? 0))), 1e-6);
  const one = (row) => row.of.get(shown);
  const marks = (row) => dots("", models.filter((model) => gamma(row, model) !== null).map((model) => ({ label: labelOf(core, model), value: gamma(row, model) })), { far });
  const columns = [
    { title: "Attribute", head: true, value: (row) => plain(row.attribute), cell: (row) => veiled(row.attribute) },
    { title: "All models", value: (row) => models.map((model) => gamma(row, model)).filter((each) => each !== null).length, cell: marks },
    intervals(`Interval of ${labelOf(core, shown)}`, (row) => [one(row)?.low, one(row)?.high]),
    { title: "q", numeric: true, value: (row) => one(row)?.q ?? null, cell: (row) => chance(one(row)?.q) },
    ...models.map((model) => ({
      ...figure(labelOf(core, model), (row) => gamma(row, model)),
      cell: (row, write) => (gamma(row, model) === null ? null : leading(address("cell", model, dataset, subject, row.attribute), plain(row.attribute) !== row.attribute, write(gamma(row, model)), (row.of.get(model).q ?? 0) > DOUBT ? " ?" : "")),
    })),
  ];
  const choose = select("Interval of", models.map((model) => [model, labelOf(core, model)]), shown, (model) => {
    choice.model = model;
    go();
  });
  return [h("h2", {}, name(subject), ": ", name(of.title)), h("p", { class: "soft" }, "One row per attribute, one dot per model. Above 0, the attribute is associated more with this subject than with the subjects it is compared with. A question mark means not significant (q, the expected share of false positives, is above 0.05)."),
    choose, table(`Associations of ${subject}`, columns, rows, { headed: true, most: 200, file: `${dataset}-subject` })];
}
