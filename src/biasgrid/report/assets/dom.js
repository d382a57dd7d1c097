// Makes elements: text only ever becomes text nodes, so that no name can be markup.

const SVG = "http://www.w3.org/2000/svg";
const DASH = "–";

export function h(tag, options = {}, ...children) {
  return filled(document.createElement(tag), options, children);
}

export function s(tag, options = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), options, children);
}

function filled(element, options, children) {
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "vars") for (const [key, each] of Object.entries(value)) element.style.setProperty(key, each);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

// A name that others gave: its direction of writing ends with it.
export function name(text) {
  return h("bdi", {}, text);
}

const TINY = 1e-9;
const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";

// A number that is read alone: with three significant digits.
export function number(value) {
  if (value === null || value === undefined) return DASH;
  const size = Math.abs(value);
  if (size < TINY) return "0";
  if (size < 1e-4) return small(value);
  const text = size >= 999.5 ? value.toLocaleString("en", { maximumFractionDigits: 0 }) : value.toPrecision(3);
  return text.replace("-", "−");
}

function small(value) {
  const [digits, power] = value.toExponential(2).split("e-");
  return `${digits.replace("-", "−")} × 10⁻${[...power].map((each) => SUPERSCRIPTS[each]).join("")}`;
}

// What writes numbers that are read together: as many decimals as give the largest of them its significant digits.
export function alike(values, digits = 3) {
  const largest = values.reduce((most, value) => Math.max(most, Math.abs(value ?? 0)), 0);
  const decimals = largest < TINY ? 0 : Math.max(0, Math.min(12, digits - 1 - Number(largest.toExponential(digits - 1).split("e")[1])));
  return (value) => {
    if (value === null || value === undefined) return DASH;
    // What needs no separators is written the quick way: a matrix has thousands of numbers.
    const text = Math.abs(value) < 999.5 ? value.toFixed(decimals) : value.toLocaleString("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
    return Number(text) === 0 ? text.replace("-", "") : text.replace("-", "−");
  };
}

// Of p and q: two digits; near 0 and 1 only that they are.
export function chance(value) {
  if (value === null || value === undefined) return DASH;
  if (value < 0.001) return "< 0.001";
  return value > 0.99 ? "> 0.99" : alike([value], 2)(value);
}

export function count(value) {
  return value === null || value === undefined ? DASH : value.toLocaleString("en");
}

export function interval(low, high, write = alike([low, high])) {
  if (low === null || low === undefined || high === null || high === undefined) return "";
  return `${write(low)} to ${write(high)}`;
}

// A part of a page, which its contents name.
export function part(title, ...children) {
  return h("section", { class: "part", tabindex: "-1" }, h("h3", {}, title), ...children);
}

// What leads to the parts of a long page.
export function contents(root) {
  const parts = [...root.querySelectorAll(".part")];
  if (parts.length < 3) return null;
  const go = (to) => () => {
    to.scrollIntoView({ block: "start" });
    to.focus({ preventScroll: true });
  };
  return h("nav", { class: "onpage", "aria-label": "On this page" }, h("b", {}, "On this page"), parts.map((each) => button(each.firstChild.textContent, go(each), { class: "link" })));
}

export function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

export function link(address, ...children) {
  return h("a", { href: address }, ...children);
}

// An address of the page: parts are names, so that it outlives another run.
export function address(...parts) {
  return `#/${parts.map(encodeURIComponent).join("/")}`;
}

export function button(label, act, options = {}) {
  return h("button", { type: "button", onclick: act, ...options }, label);
}

// A link to an address that is in the page only where it holds no text that is hidden.
export function leading(to, hidden, ...children) {
  return hidden ? button(children, () => { location.hash = to; }, { class: "link" }) : link(to, ...children);
}

export function select(label, choices, chosen, act) {
  const options = choices.map(([value, text]) => h("option", { value, selected: value === chosen }, text));
  const box = h("select", { onchange: (event) => act(event.target.value) }, options);
  return h("label", { class: "choice" }, `${label} `, box);
}

export function replace(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter(Boolean));
  return element;
}

export function save(file, text, type) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  h("a", { href: url, download: file }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

// A command to run in a shell, with a button that copies it.
export function command(text) {
  const told = h("span", { class: "soft", role: "status" });
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      told.textContent = " copied";
    } catch {
      getSelection().selectAllChildren(code);
      told.textContent = " marked: copy it with the keyboard";
    }
  };
  const code = h("code", { tabindex: 0 }, text);
  return h("div", { class: "command" }, h("pre", {}, code), button("Copy", copy), told);
}

export function quoted(text) {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'"'"'`)}'`;
}
