// A number of the summary in words: its value, and how sure it is, both within the range of its measure.

import {count, interval, number} from "./dom.js";
import {real} from "./data.js";

const TOO_LITTLE = "too little asked to say";
export const counted = (row) => row.measure === "significant_tests";
const within = (measure) => [measure?.within?.[0] ?? -Infinity, measure?.within?.[1] ?? Infinity];
const shown = (value, [least, most]) => (value === null ? null : Math.min(Math.max(value, least), most));

export function valueTold(row, measure, write = number) {
  return row.value !== null && counted(row) ? count(real(row.value)) : write(shown(real(row.value), within(measure)));
}

// The interval; of a size that is below 0 for noise, how large it is at most.
export function boundsTold(row, measure, write) {
  if (counted(row)) return row.value === null && !row.left_out ? "" : `of ${count(row.n)}${row.left_out ? `, ${count(row.left_out)} could not be tested` : ""}`;
  const range = within(measure);
  const [low, high] = [row.low, row.high].map((end) => shown(real(end), range));
  return low !== null && row.value !== null && real(row.value) < range[0] ? `at most ${(write ?? number)(high)}` : interval(low, high, write);
}

// Why a number says next to nothing: its interval is wider than half of the range. Empty where it is not.
export function littleTold(row, measure) {
  const range = within(measure);
  const [low, high] = [row.low, row.high].map((end) => shown(real(end), range));
  return low !== null && high !== null && high - low > (range[1] - range[0]) / 2 ? TOO_LITTLE : "";
}
