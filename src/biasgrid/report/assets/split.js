// Where the cells of each dataset stand in a file of their own, leads there.

import {block} from "./data.js";

const split = await block("split");

// The file and address of a page that is not in this file, null of one that is.
export function elsewhere(names) {
  const [page, ...rest] = names ?? [];
  const dataset = { cell: rest[1], compare: rest[0], subject: rest[0] }[page];
  if (!split || dataset === split.here || !Object.hasOwn(split.files, dataset)) return null;
  return encodeURIComponent(split.files[dataset]) + location.hash;
}
