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

// With three significant digits; in boxes of a matrix with so many decimals.
export function number(value, decimals) {
  if (value === null || value === undefined) return DASH;
  const text = decimals === undefined ? significant(value) : value.toFixed(decimals);
  return Number(text) === 0 ? text.replace("-", "") : text.replace("-", "−");
}

// As `format_number` of biasgrid.tables.claims.numbers writes it.
function significant(value) {
  const size = Math.abs(value);
  if (size < 1e-9) return "0";
  return size >= 999.5 ? value.toLocaleString("en", { maximumFractionDigits: 0 }) : value.toPrecision(3);
}

// Of p and q, which are never 0.
export function chance(value) {
  return value !== null && value !== undefined && value < 0.0005 ? "<0.001" : number(value);
}

export function count(value) {
  return value === null || value === undefined ? DASH : value.toLocaleString("en");
}

export function interval(low, high) {
  if (low === null || low === undefined || high === null || high === undefined) return "";
  return `${number(low)} to ${number(high)}`;
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
