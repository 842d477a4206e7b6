// Reward against fidelity, before and after re-evaluation, side by side on the same axes.

import { html, svg } from "../../web/dom.js";
import { figure, frame, horizontal, linearAxis } from "./chart.js";
import { modelMark, outline, roving, summary } from "./models.js";

/** Radius of a mark: from 5 for the smallest model of the task to 11 for the largest, by the logarithm. */
function radii(models) {
  const logs = models.map((model) => Math.log(Math.max(model.numbers, 1)));
  const low = Math.min(...logs);
  const spread = Math.max(...logs) - low || 1;
  return logs.map((value) => 5 + (6 * (value - low)) / spread);
}

/** The border of what the members of a front dominate, from the bottom of the plot to its left. */
function stairs(plot, members, models, when) {
  const points = members.map((k) => models[k][when]).sort((a, b) => b.fidelity - a.fidelity || a.reward - b.reward);
  const steps = points.map(({ fidelity, reward }) => `H${plot.x(fidelity)}V${plot.y(reward)}`);
  return `M${plot.x(points[0].fidelity)} ${plot.bottom}${steps.join("")}H${plot.left}`;
}

/** Axes for all that is shown, before and after; the teacher's reward is included if it is not far off. */
function frontAxes(task, shown) {
  const all = shown.flatMap((k) => [task.models[k].before, task.models[k].after]);
  const rewards = all.map((m) => m.reward);
  const span = Math.max(...rewards) - Math.min(...rewards);
  const near = Math.abs(task.teacher - Math.max(...rewards)) <= span;
  return [linearAxis("fidelity", all.map((m) => m.fidelity)), linearAxis("reward", near ? [...rewards, task.teacher] : rewards)];
}

function panel(task, when, shown, visible, radius, families) {
  const label = when === "before" ? "Before re-evaluation" : "After re-evaluation";
  const [fidelity, reward] = frontAxes(task, shown);
  const plot = frame(`${label}: reward against fidelity`, fidelity, reward);
  if (task.teacher > reward.low && task.teacher < reward.high) horizontal(plot, task.teacher, "teacher");
  const fronts = task[when];
  families.forEach((name, family) => {
    const members = fronts.families[name];
    if (!visible[family] || !members) return;
    plot.element.append(svg("path", { class: `stairs family-${family}`, d: stairs(plot, members, task.models, when) }));
  });
  plot.element.append(svg("path", { class: "stairs global", d: stairs(plot, fronts.global, task.models, when) }));
  const drawn = shown.filter((k) => visible[task.models[k].family]);
  if (when === "after") for (const k of drawn) if (task.chosen.includes(k)) plot.element.append(tail(plot, task.models[k]));
  // those on the front last, and large ones first, so that none hides one that matters more
  const rank = (k) => fronts.global.includes(k) + task.chosen.includes(k);
  const order = [...drawn].sort((a, b) => rank(a) - rank(b) || radius[b] - radius[a]);
  const marks = new Map(order.map((k) => [k, frontMark(plot, task, k, when, radius[k])]));
  plot.element.append(...marks.values());
  roving([...drawn].sort((a, b) => task.models[a][when].fidelity - task.models[b][when].fidelity).map((k) => marks.get(k)));
  const caption = when === "before" ? "episodes that models are chosen by" : "fresh episodes; tails begin where models were before";
  return { element: figure(label, caption, plot), marks };
}

/** From where a model was before to where it is now. */
function tail(plot, model) {
  const [x, y] = [plot.x(model.before.fidelity), plot.y(model.before.reward)];
  return svg("g", { class: `family-${model.family}` },
    svg("line", { class: "tail", x1: x, y1: y, x2: plot.x(model.after.fidelity), y2: plot.y(model.after.reward) }),
    svg("circle", { class: "was", cx: x, cy: y, r: 2.5 }));
}

function frontMark(plot, task, k, when, radius) {
  const model = task.models[k];
  const kind = task[when].global.includes(k) ? " solid" : task.chosen.includes(k) ? "" : " faint";
  const standing = kind === " solid" ? "on the global front" : kind === "" ? "on the front of its family before" : "on no front";
  const { fidelity, reward } = model[when];
  return modelMark(model, plot.x(fidelity), plot.y(reward), { kind, radius, words: `${summary(model)}\n${standing}` });
}

/** While a mark is pointed at or focused, the same model is emphasised in the other panel. */
function twins(first, second) {
  for (const [here, there] of [[first, second], [second, first]]) {
    for (const [k, mark] of here) {
      for (const event of ["pointerenter", "focus"]) mark.addEventListener(event, () => there.get(k).classList.add("twin"));
      for (const event of ["pointerleave", "blur"]) mark.addEventListener(event, () => there.get(k).classList.remove("twin"));
    }
  }
}

export function drawFronts(place, task, families) {
  const radius = radii(task.models);
  const present = families.map((_, family) => task.models.some((model) => model.family === family));
  const visible = [...present];
  let all = false;
  const panels = html("div", { class: "panels" });

  function draw() {
    const shown = all ? task.models.map((_, k) => k) : task.chosen;
    const [before, after] = ["before", "after"].map((when) => panel(task, when, shown, visible, radius, families));
    twins(before.marks, after.marks);
    panels.replaceChildren(before.element, after.element);
  }

  const toggles = families.map((name, family) => present[family] && html("label", {},
    html("input", { type: "checkbox", checked: "", onchange: (event) => { visible[family] = event.target.checked; draw(); } }),
    svg("svg", { viewBox: "-9 -9 18 18", "aria-hidden": "true" }, svg("path", { class: `mark solid family-${family}`, d: outline(family, 7) })),
    name)).filter(Boolean);
  const scopes = [[false, `fronts (${task.chosen.length})`], [true, `all models (${task.models.length})`]].map(([value, words]) =>
    html("label", {},
      html("input", { type: "radio", name: `scope-${task.slug}`, checked: value === all ? "" : null, onchange: () => { all = value; draw(); } }),
      words));
  place.append(
    html("div", { class: "controls" },
      html("fieldset", { "aria-label": "Families" }, ...toggles),
      html("fieldset", { "aria-label": "Models shown" }, ...scopes)),
    panels,
    html("p", { class: "note" },
      "Filled marks and the thick line: global front. Thin lines: front of each family. Larger marks: larger models. Point at a mark for its configuration, click it for its policy; or Tab, arrow keys and Enter."),
  );
  draw();
}
