// One model: its mark, what a pointer or the keyboard learns of it, and its policy as text.

import { byId, html, svg } from "../../web/dom.js";

/** Outline of the mark of a family around (0, 0): triangle, circle, square. */
export function outline(family, radius) {
  if (family === 0) return `M0 ${-1.2 * radius}L${1.1 * radius} ${0.8 * radius}H${-1.1 * radius}Z`;
  if (family === 1) return `M${-radius} 0A${radius} ${radius} 0 1 0 ${radius} 0A${radius} ${radius} 0 1 0 ${-radius} 0Z`;
  const half = 0.88 * radius;
  return `M${-half} ${-half}H${half}V${half}H${-half}Z`;
}

export function count(number, noun, plural = `${noun}s`) {
  return `${number.toLocaleString("en")} ${number === 1 ? noun : plural}`;
}

export function size(model) {
  return `${count(model.leaves, "leaf", "leaves")}, ${count(model.numbers, "number")}`;
}

export function seconds(model) {
  return `${Number(model.verification.seconds.toPrecision(3))} s`;
}

function measured({ reward, low, high, fidelity, episodes }) {
  return `reward ${reward.toFixed(2)} (${low.toFixed(2)} … ${high.toFixed(2)}), fidelity ${fidelity.toFixed(4)}, ${count(episodes, "episode")}`;
}

export function summary(model) {
  return `${model.name}\n${size(model)}\nbefore: ${measured(model.before)}\nafter: ${measured(model.after)}`;
}

/** Words beside a mark while it has the pointer or the focus. */
function showTip(text, mark) {
  const tip = byId("tip");
  tip.textContent = text;
  tip.hidden = false;
  const at = mark.getBoundingClientRect();
  const { width, height } = tip.getBoundingClientRect();
  const left = Math.min(at.right + 8, document.documentElement.clientWidth - width - 8);
  const above = at.top - height - 8;
  tip.style.left = `${Math.max(8, left)}px`;
  tip.style.top = `${above > 8 ? above : at.bottom + 8}px`;
}

export function hideTip() {
  byId("tip").hidden = true;
}

/** What `mark` says when pointed at; also on focus. */
export function explained(mark, text) {
  for (const event of ["pointerenter", "focus"]) mark.addEventListener(event, () => showTip(text, mark));
  for (const event of ["pointerleave", "blur"]) mark.addEventListener(event, hideTip);
  return mark;
}

/** The mark of a model; a click or Enter shows its policy. */
export function modelMark(model, x, y, { kind, radius, words }) {
  const open = () => showPolicy(model);
  const mark = svg("path", {
    class: `mark family-${model.family}${kind}`,
    d: outline(model.family, radius),
    transform: `translate(${x} ${y})`,
    role: "button",
    tabindex: -1,
    "aria-label": words,
    onclick: open,
    onkeydown: (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      open();
    },
  });
  return explained(mark, words);
}

/** One stop of the tab key for all marks of a plot; the arrow keys go from one to the next. */
export function roving(marks) {
  if (marks.length) marks[0].setAttribute("tabindex", 0);
  marks.forEach((mark, k) => {
    mark.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      const next = marks[(k + step + marks.length) % marks.length];
      mark.setAttribute("tabindex", -1);
      next.setAttribute("tabindex", 0);
      next.focus();
    });
  });
}

/** The policy as text, and all that is known about it. */
function showPolicy(model) {
  hideTip();
  const facts = [
    ["size", size(model)],
    ["before", measured(model.before)],
    ["on fresh episodes", `${measured(model.after)}; its teacher ${model.teacher.toFixed(2)}`],
    ["training", `${model.seconds.toFixed(1)} s`],
    ...model.settings,
    ...(model.verification ? [[model.verification.question, `${model.verification.verdict}, ${seconds(model)}`]] : []),
  ];
  byId("policy-title").textContent = model.name;
  byId("policy-body").replaceChildren(
    html("dl", {}, ...facts.flatMap(([name, value]) => [html("dt", {}, name), html("dd", {}, value)])),
    html("pre", { tabindex: 0 }, model.text ?? "Left out to keep this page small: the model is on no front."),
  );
  byId("policy").showModal();
}
