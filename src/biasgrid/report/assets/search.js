// Finds subjects, models and datasets by a part of their names.

import {address, h, link, name, replace} from "./dom.js";
import {datasetBlock} from "./data.js";

const MOST = 12;
let places = null;

export function searchBox(core) {
  const found = h("ul", { class: "found" });
  const told = h("span", { class: "unseen", role: "status" });
  const look = async () => {
    const wanted = input.value.trim().toLowerCase();
    places ??= await all(core);
    const hits = wanted ? places.filter((each) => each.text.toLowerCase().includes(wanted)) : [];
    replace(found, hits.slice(0, MOST).map((each) => h("li", {}, link(each.to, name(each.text), h("small", {}, ` ${each.sort}`)))));
    told.textContent = wanted ? `${hits.length} found` : "";
  };
  const leave = (event) => {
    if (event.key !== "Escape") return;
    input.value = "";
    replace(found);
    input.blur();
  };
  const input = h("input", { type: "search", placeholder: "Search ( / )", "aria-label": "Search subjects, models and datasets", oninput: look, onkeydown: leave });
  const box = h("div", { class: "search", role: "search" }, input, told, found);
  addEventListener("hashchange", () => replace(found));
  return box;
}

async function all(core) {
  const cells = core.cells.map((cell) => ({ text: `${cell.model}, ${cell.dataset}`, sort: "cell", to: address("cell", cell.model, cell.dataset) }));
  const datasets = core.datasets.map((each) => ({ text: each.title, sort: "dataset", to: address("dataset", each.name) }));
  const subjects = await Promise.all(core.datasets.map(async (dataset) => {
    const shared = await datasetBlock(dataset.name);
    return (shared?.subjects ?? []).map((subject) => ({ text: subject, sort: `subject of ${dataset.title}`, to: address("subject", dataset.name, subject) }));
  }));
  return [...subjects.flat(), ...cells, ...datasets];
}
