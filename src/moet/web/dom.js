// Elements without HTML text: names and labels come from strangers, so they only ever become text nodes.

const SVG = "http://www.w3.org/2000/svg";

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== null) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}

export function html(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

export function byId(id) {
  return document.getElementById(id);
}

export function classLabel(page, number) {
  return page.classes[number] ?? "no answer"; // where the gate of a soft model overflows
}

/** A chip with the colour and the label of a class. */
export function classChip(page, number, extra = "") {
  const swatch = html("span", { class: "swatch", "aria-hidden": "true" });
  swatch.style.background = number < 0 ? "transparent" : page.palette.solid(number);
  const label = classLabel(page, number) + extra;
  return html("span", { class: "chip" }, swatch, html("span", { class: "chip-label", title: label }, label));
}

/** A bar that fills `share` (0 to 1) of its track. */
export function bar(share, fillColour = "") {
  const fill = html("span", { class: "bar-fill" });
  fill.style.width = `${Math.max(0, Math.min(1, share)) * 100}%`;
  fill.style.background = fillColour;
  return html("span", { class: "bar", "aria-hidden": "true" }, fill);
}

/** A name that may break after an underscore. */
export function breakable(name) {
  return name.split(/(?<=_)/).flatMap((part, i) => (i ? [html("wbr"), part] : [part]));
}

export function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}
