// What VIPER's trees reach by depth: mean, and a band of one standard deviation.

import { html, svg } from "../../web/dom.js";
import { figure, frame, linearAxis } from "./chart.js";
import { count, explained, outline, roving } from "./models.js";

function curve(levels, depths, name, saturates) {
  const bounds = levels.flatMap(({ mean, std }) => [mean - std, mean + std]);
  const plot = frame(`VIPER's ${name} by depth`, linearAxis("greatest depth", depths, true), linearAxis(name, bounds));
  const at = (sign) => levels.map(({ mean, std }, k) => `${plot.x(depths[k])} ${plot.y(mean + sign * std)}`);
  const group = svg("g", { class: "family-0" },
    svg("path", { class: "band", d: `M${at(1).join("L")}L${at(-1).reverse().join("L")}Z` }),
    svg("path", { class: "curve", d: `M${at(0).join("L")}` }));
  if (saturates !== null) {
    const x = plot.x(saturates);
    group.append(svg("line", { class: "reference", x1: x, x2: x, y1: plot.top, y2: plot.bottom }));
  }
  const marks = levels.map(({ mean, std, runs }, k) => {
    const words = `depth ${depths[k]}\n${name} ${mean.toPrecision(5)} ± ${std.toPrecision(2)}\n${count(runs, "run")}`;
    const mark = svg("path", {
      class: "mark solid", d: outline(0, 5), role: "img", tabindex: -1, "aria-label": words,
      transform: `translate(${plot.x(depths[k])} ${plot.y(mean)})`,
    });
    return explained(mark, words);
  });
  roving(marks);
  group.append(...marks);
  plot.element.append(group);
  const words = saturates === null ? "no saturation up to the deepest tried" : `saturates at depth ${saturates} (dashed)`;
  return figure(`VIPER: ${name} by depth`, words, plot);
}

export function drawSaturation(place, { depths, reward, fidelity }) {
  place.append(
    html("div", { class: "panels" },
      curve(reward.levels, depths, "reward", reward.depth),
      curve(fidelity.levels, depths, "fidelity", fidelity.depth)),
    html("p", { class: "note" }, "Fresh episodes; line and band: mean and standard deviation over the runs of a depth."),
  );
}
