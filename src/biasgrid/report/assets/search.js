// Finds models and datasets by a part of their names.

import {address, h, link, name, replace} from "./dom.js";

const MOST = 12;
let places = null;

export function searchBox(core) {
  const found = h("ul", { class: "found" });
  const told = h("span", { class: "unseen", role: "status" });
  const look = () => {
    const wanted = input.value.trim().toLowerCase();
    places ??= all(core);
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
  const input = h("input", { type: "search", placeholder: "Search ( / )", "aria-label": "Search models and datasets", oninput: look, onkeydown: leave });
  const box = h("div", { class: "search", role: "search" }, input, told, found);
  addEventListener("hashchange", () => replace(found));
  return box;
}

function all(core) {
  const cells = core.cells.map((cell) => ({ text: `${cell.model}, ${cell.dataset}`, sort: "cell", to: address("cell", cell.model, cell.dataset) }));
  const datasets = core.datasets.map((each) => ({ text: each.title, sort: "dataset", to: address("dataset", each.name) }));
  return [...cells, ...datasets];
}
