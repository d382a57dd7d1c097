// What cells tell of pairs of a subject and an attribute: columns, row by row of the matrix.

import {cellBlock, datasetBlock, real} from "./data.js";

const COLUMNS = ["gamma", "low", "high", "q", "eta"];
export const DOUBT = 0.05;

// Null where the family of the dataset has no such pairs.
export async function associations(model, dataset) {
  const [shared, cell] = await Promise.all([datasetBlock(dataset), cellBlock(model, dataset)]);
  if (!shared?.subjects || !cell?.gamma) return null;
  const wide = shared.attributes.length;
  const at = (column, s, a) => (Array.isArray(cell[column]) ? cell[column][s * wide + a] : cell[column]);
  const of = (s, a) => ({
    s, a, subject: shared.subjects[s], attribute: shared.attributes[a], n: at("n", s, a),
    ...Object.fromEntries(COLUMNS.map((each) => [each, real(at(each, s, a))])),
  });
  const all = shared.subjects.flatMap((_, s) => shared.attributes.map((_, a) => of(s, a))).filter((each) => each.gamma !== null);
  return { ...shared, of, all, order: cell.order, of_question: cell.of_question, subject_groups: cell.subject_groups, pronouns: cell.pronouns };
}
