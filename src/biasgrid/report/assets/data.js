// The numbers of the page: blocks of compressed JSON, unpacked when they are first needed.

const SCALE = 10000;
const unpacked = new Map();

export function has(id) {
  return document.getElementById(id) !== null;
}

export function block(id) {
  if (!unpacked.has(id)) unpacked.set(id, unpack(id));
  return unpacked.get(id);
}

async function unpack(id) {
  const element = document.getElementById(id);
  if (element === null) return null;
  const bytes = Uint8Array.from(atob(element.textContent.trim()), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

// Numbers are whole ten-thousandths; what was not asked is null.
export function real(value) {
  return value === null || value === undefined ? null : value / SCALE;
}

export const cellBlock = (model, dataset) => block(`cell/${model}/${dataset}`);
export const evidenceBlock = (model, dataset) => block(`evidence/${model}/${dataset}`);
export const datasetBlock = (dataset) => block(`dataset/${dataset}`);
// What the templates of a dataset say, by number.
export const templatesOf = async (dataset) => (await datasetBlock(dataset))?.templates ?? [];

export function modelOf(core, key) {
  return core.models.find((model) => model.name === key);
}

export function datasetOf(core, key) {
  return core.datasets.find((dataset) => dataset.name === key);
}

export function cellOf(core, model, dataset) {
  return core.cells.find((cell) => cell.model === model && cell.dataset === dataset);
}

export function labelOf(core, key) {
  const model = modelOf(core, key);
  return model ? `${model.label} (${model.kind})` : key;
}
