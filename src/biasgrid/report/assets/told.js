// A number of the summary in words: its value, and how sure it is.

import {count, interval, number} from "./dom.js";
import {real} from "./data.js";

const counted = (row) => row.measure === "significant_tests";

export const valueTold = (row) => (row.value !== null && counted(row) ? count(real(row.value)) : number(real(row.value)));

export function sureTold(row) {
  if (row.value === null) return "";
  if (counted(row)) return `of ${count(row.n)}`;
  return interval(real(row.low), real(row.high)) || (row.null_mean === null ? "" : `floor ${number(real(row.null_mean))}`);
}
