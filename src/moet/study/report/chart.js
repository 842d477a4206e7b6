// A plot's frame: axes, ticks, places. Colours come from classes, so that the style sheet alone knows light and dark.

import { html, svg } from "../../web/dom.js";

const WIDTH = 520;
const HEIGHT = 380;
const MARGIN = { left: 72, right: 16, top: 14, bottom: 46 };

/** Values with some room on either side; a single value gets room as well. */
function padded(values) {
  const low = Math.min(...values);
  const high = Math.max(...values);
  const room = high > low ? 0.07 * (high - low) : Math.max(Math.abs(high) * 0.01, 1e-3);
  return [low - room, high + room];
}

/** About five round numbers in [low, high], or a dozen whole ones, each with its text. */
function roundTicks(low, high, whole) {
  const rough = whole ? Math.max((high - low) / 12, 1) : (high - low) / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough * (1 - 1e-9));
  const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k++) found.push([k * step, (k * step).toFixed(decimals)]);
  return found;
}

/** An axis: its name, the share of its length at which a value is, and its ticks. */
export function linearAxis(name, values, whole = false) {
  const [low, high] = padded(values);
  return { name, low, high, share: (value) => (value - low) / (high - low), ticks: roundTicks(low, high, whole) };
}

export function logAxis(name, values) {
  const [low, high] = padded(values.map(Math.log10));
  const factors = high - low < 2 ? [1, 2, 5] : [1];
  const found = [];
  for (let k = Math.floor(low); k <= high; k++) {
    for (const factor of factors) {
      const value = Number(`${factor}e${k}`);
      if (Math.log10(value) >= low && Math.log10(value) <= high) found.push([value, String(value)]);
    }
  }
  return { name, low: 10 ** low, high: 10 ** high, share: (value) => (Math.log10(value) - low) / (high - low), ticks: found };
}

/** An empty plot: its element, and functions from values to places. */
export function frame(label, xAxis, yAxis) {
  const [left, right, top, bottom] = [MARGIN.left, WIDTH - MARGIN.right, MARGIN.top, HEIGHT - MARGIN.bottom];
  const x = (value) => left + (right - left) * xAxis.share(value);
  const y = (value) => bottom + (top - bottom) * yAxis.share(value);
  const element = svg("svg", { class: "plot", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "group", "aria-label": label });
  for (const [value, text] of xAxis.ticks) {
    element.append(
      svg("line", { class: "grid", x1: x(value), x2: x(value), y1: top, y2: bottom }),
      svg("text", { x: x(value), y: bottom + 18, "text-anchor": "middle" }, text),
    );
  }
  for (const [value, text] of yAxis.ticks) {
    element.append(
      svg("line", { class: "grid", x1: left, x2: right, y1: y(value), y2: y(value) }),
      svg("text", { x: left - 8, y: y(value) + 4, "text-anchor": "end" }, text),
    );
  }
  element.append(
    svg("path", { class: "axis", fill: "none", d: `M${left} ${top}V${bottom}H${right}` }),
    svg("text", { x: (left + right) / 2, y: HEIGHT - 8, "text-anchor": "middle" }, xAxis.name),
    svg("text", { transform: `translate(14 ${(top + bottom) / 2}) rotate(-90)`, "text-anchor": "middle" }, yAxis.name),
  );
  return { element, x, y, left, right, top, bottom };
}

/** A dashed line across the plot with a word on it. */
export function horizontal(plot, value, word) {
  const height = plot.y(value);
  plot.element.append(
    svg("line", { class: "reference", x1: plot.left, x2: plot.right, y1: height, y2: height }),
    svg("text", { x: plot.left + 6, y: height - 5 }, word),
  );
}

/** A plot with its heading and a line of explanation. */
export function figure(heading, explanation, plot) {
  return html("figure", {}, html("figcaption", {}, heading, html("span", {}, explanation)), plot.element);
}
