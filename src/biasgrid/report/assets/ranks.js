// In which order the models of a dataset stand, and how sure that is.

import {capital, h, name} from "./dom.js";
import {block, labelOf, real} from "./data.js";
import {figure, table} from "./table.js";

export const rankTold = (rank) => `${rank.rank} (${rank.rank_low} to ${rank.rank_high}) of ${rank.models}`;

export const rankNote = () => "Rank 1 has the largest number among the models that can be compared. The interval in brackets is over the factors of the numbers (clusters of templates, items or prompts); the intervals of a measure hold simultaneously.";

export async function ranksOf(core, dataset) {
  const rows = (await block(`ranks/${dataset.name}`)) ?? [];
  if (!rows.length) return null;
  const columns = [
    { title: "Measure", head: true, value: (row) => capital(dataset.measures[row.measure]?.title ?? row.measure) }, { title: "Options", value: (row) => row.options || null },
    { title: "Bias type", value: (row) => row.bias_type }, { title: "Compared together", numeric: true, value: (row) => row.set + 1 },
    { title: "Model", value: (row) => labelOf(core, row.model), cell: (row) => name(labelOf(core, row.model)) },
    figure("Value", (row) => real(row.value)), { title: "Rank", whole: true, value: rankTold },
  ].filter((column) => rows.some((row) => (column.value(row) ?? null) !== null));
  return h("details", {}, h("summary", {}, "Ranks of models"), h("p", { class: "soft" }, rankNote()), table("Ranks of models", columns, rows, { mixed: true, headed: true, most: 400, file: `${dataset.name}-ranks` }));
}
