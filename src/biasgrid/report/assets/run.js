// Pages that Python has written: with a script one of them is shown at a time, without one all are.

import {address, button, command, h, link, name, quoted, save} from "./dom.js";
import {block, labelOf} from "./data.js";
import {ranksOf} from "./ranks.js";

export function showStatic(...ids) {
  for (const section of document.querySelectorAll("#static > section")) {
    section.hidden = !ids.includes(section.id);
  }
}

// Nothing where this report has no such section.
export function staticPage(id) {
  showStatic(id);
  return document.getElementById(id) === null ? null : [];
}

// The command that runs the config; settings that were given beside its files are the reader's to add.
export function running(core) {
  const [files, ...overruled] = core.config.split(" and --config");
  const paths = files.split(" + ").map(quoted).join(" ");
  // `biasgrid run` takes one file and no settings.
  if (overruled.length || files.includes(" + ")) {
    return `snakemake --cores all --configfile ${paths}${overruled.length ? " --config ..." : ""}`;
  }
  return `biasgrid run ${paths}`;
}

export async function runPage(core) {
  const config = await block("config");
  const box = h("section", {}, h("h2", {}, "Reproduce"),
    h("p", {}, "This page contains the config that it was made from. With that config, the same version and the same word lists, these commands make it again:"),
    command(running(core)), command(`biasgrid summary ${quoted(core.results)}`),
    config === null ? null : button("Download the config", () => save("config.json", `${JSON.stringify(config, null, 2)}\n`, "application/json"), { class: "tool" }));
  return box;
}

export async function datasetPage(core, dataset) {
  const section = `dataset-${core.datasets.indexOf(dataset) + 1}`;
  showStatic(section);
  // What leads to its cells stands between heading and numbers.
  document.querySelector(`#${section} > h2`).hidden = true;
  const cells = core.cells.filter((cell) => cell.dataset === dataset.name);
  return [h("h2", {}, name(dataset.title)), h("p", {}, "Cells: ", cells.map((cell, place) => [place ? ", " : "", link(address("cell", cell.model, dataset.name), name(labelOf(core, cell.model)))])), await ranksOf(core, dataset)];
}
