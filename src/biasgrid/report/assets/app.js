// Starts the page: reads the address, draws what it names, and listens to keys.

import {address, h, link, name, replace} from "./dom.js";
import {block, cellOf, datasetOf} from "./data.js";
import {about, switchedOn, toggle} from "./veil.js";
import {cellPage, views} from "./generic.js";
import {comparePage} from "./compare.js";
import {exporting} from "./menu.js";
import {overview} from "./overview.js";
import {datasetPage, runPage, showStatic, staticPage} from "./run.js";
import {searchBox} from "./search.js";
import {elsewhere} from "./split.js";
import {subjectPage} from "./subject.js";
import {fade} from "./table.js";

const core = await block("core");
const root = document.documentElement;
const app = document.getElementById("app");
const drawn = { cell: null, count: 0 };

const PAGES = {
  "": () => overview(core, draw),
  cell: async (model, dataset, ...rest) => {
    about(datasetOf(core, dataset));
    if (!cellOf(core, model, dataset)) return null;
    return cellPage(core, model, dataset, rest, draw);
  },
  compare: (dataset, one, other) => {
    about(datasetOf(core, dataset));
    return comparePage(core, dataset, one, other);
  },
  subject: (dataset, subject) => {
    about(datasetOf(core, dataset));
    return subjectPage(core, dataset, subject, draw);
  },
  dataset: (key) => {
    const dataset = datasetOf(core, key);
    return dataset ? datasetPage(core, dataset) : null;
  },
  measures: () => staticPage("measures"),
  controls: () => staticPage("controls"),
  run: () => {
    showStatic("run", "figures");
    return runPage(core);
  },
  synthetic: () => staticPage("synthetic"),
  published: () => staticPage("published"),
};

function parts() {
  try {
    return location.hash.replace(/^#\/?/, "").split("/").map(decodeURIComponent);
  } catch {
    return null;
  }
}

function unknown() {
  return [h("h2", {}, "Page not found"), h("p", {}, "This report has nothing at this address. ", link("#/", "Go to the overview"), ".")];
}

async function pageOf(names) {
  const [page, ...rest] = names ?? [null];
  return page !== null && Object.hasOwn(PAGES, page) ? PAGES[page](...rest) : null;
}

async function draw() {
  const names = parts();
  const other = elsewhere(names);
  if (other !== null) return location.replace(other);
  about(undefined);
  if (await updated(names)) return done();
  showStatic();
  const page = await pageOf(names);
  if (String(names) !== String(parts())) return;
  replace(app, [page ?? unknown()]);
  // The first screen stands above what follows it.
  document.getElementById("static")[names?.[0] === "" ? "after" : "before"](app);
  drawn.cell = page && names[0] === "cell" ? String(names.slice(0, 3)) : null;
  for (const each of document.querySelectorAll("header nav a")) {
    if (each.getAttribute("href") === `#/${names?.[0] ?? ""}`) each.setAttribute("aria-current", "page");
    else each.removeAttribute("aria-current");
  }
  fade(document);
  done();
}

// Within a cell only what changes is drawn anew, where its family can.
async function updated(names) {
  if (!names || names[0] !== "cell" || drawn.cell !== String(names.slice(0, 3))) return false;
  const dataset = datasetOf(core, names[2]);
  about(dataset);
  return (views[dataset.family] ?? views.generic).update(names.slice(3));
}

function done() {
  drawn.count += 1;
  root.dataset.ready = String(drawn.count);
}

function redraw() {
  drawn.cell = null;
  return draw();
}

function tools() {
  const change = () => {
    toggle();
    veil.setAttribute("aria-checked", String(switchedOn()));
    redraw();
  };
  const veil = h("button", { type: "button", class: "switch", role: "switch", "aria-checked": String(switchedOn()), "aria-keyshortcuts": "t", onclick: change }, h("span", { class: "rail", "aria-hidden": "true" }), "Show texts");
  const titles = [["", "Overview"], ["controls", "Controls"], ["synthetic", "Synthetic"], ["published", "Published"], ["measures", "Measures"], ["run", "Run"]];
  const pages = titles.filter(([page]) => !page || document.getElementById(page) !== null);
  const nav = h("nav", { "aria-label": "Pages" }, pages.map(([page, title]) => link(page ? address(page) : "#/", name(title))));
  const search = searchBox(core);
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select, textarea")) return;
    if (event.key === "t") change();
    if (event.key === "/") {
      event.preventDefault();
      search.querySelector("input").focus();
    }
  });
  const warning = h("span", { class: "soft" }, "Some texts quote harmful stereotypes.");
  const menu = exporting(() => [app, ...document.querySelectorAll("#static > section:not([hidden])")]);
  return [nav, h("div", { class: "right" }, search, warning, veil, menu)];
}

root.classList.add("js");
document.getElementById("tools").append(...tools());
addEventListener("hashchange", async () => {
  const before = drawn.cell;
  await draw();
  if (before === null || before !== drawn.cell) {
    scrollTo(0, 0);
    app.focus({ preventScroll: true });
  } else if (innerWidth < 960) {
    // On a phone the sentences stand above what leads to them.
    app.querySelector(".panel:has(> h3)")?.scrollIntoView();
  }
});
await draw();
