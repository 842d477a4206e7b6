// Puts the parts together: one input `x`, and everything that is said about it redrawn once per frame.

import { Palette } from "../../web/colours.js";
import { byId, classChip, classLabel, html } from "../../web/dom.js";
import { percent, roundStep, shown } from "../../web/numbers.js";
import { updateAnswer } from "./answer.js";
import { choicesOf } from "./choice.js";
import { Controls } from "./controls.js";
import { FlipPanel } from "./flip-panel.js";
import { updateGate } from "./gate.js";
import { LawModel, Scale } from "./laws.js";
import { Maps } from "./maps.js";
import { Model } from "./model.js";
import { TreePanel } from "./tree.js";
import { updateWords } from "./words.js";

class Page {
  constructor(content) {
    this.features = content.features;
    this.choices = choicesOf(content.features);
    this.classes = content.classes ?? [];
    this.outputs = content.outputs; // null if the answers are labels
    this.output = 0; // the one that is shown
    this.scales = (content.outputs ?? []).map((output) => new Scale(output.span));
    this.models = content.models.map((part) =>
      content.outputs ? new LawModel(part, content.outputs) : new Model(part, content.classes.length),
    );
    this.rows = content.rows;
    this.start = content.rows ? content.start : content.start.map((value, k) => this.rounded(k, value));
    this.x = Float64Array.from(this.start);
    this.axes = content.axes;
    this.shownModel = 0;
    this.colourBy = "answer";
    this.showRows = Boolean(content.rows);
    this.palette = new Palette();
    this.facts = this.models.map((model) => model.explain(this.x));
    this.flips = [];
    this.controls = new Controls(this);
    this.maps = new Maps(this);
    this.tree = new TreePanel(this);
    this.flipPanel = new FlipPanel(this);
    this.describe(content);
    this.listen();
    this.redraw();
  }

  /** Name and unit of a feature. */
  label(feature) {
    const { name, unit } = this.features[feature];
    return unit ? `${name} [${unit}]` : name;
  }

  /** The scale of the output that is shown; undefined if the answers are labels. */
  scale() {
    return this.scales[this.output];
  }

  outputLabel(output = this.output) {
    const { name, unit } = this.outputs[output];
    return unit ? `${name} [${unit}]` : name;
  }

  /** An answer in words: a label, or the output that is shown. */
  answerText(answer, named = true) {
    if (!this.outputs) return classLabel(this, answer);
    if (Number.isNaN(answer)) return "no answer";
    const { name, unit } = this.outputs[this.output];
    return `${named ? `${name} ` : ""}${shown(answer, 5)} ${unit}`.trim();
  }

  /** Colour of a class, an expert or a number. */
  fill(kind) {
    if (this.outputs && this.colourBy === "answer") return this.scale().css(kind);
    return kind < 0 ? "transparent" : this.palette.solid(kind);
  }

  /** An answer with its colour. */
  chip(answer, named = true) {
    if (!this.outputs) return classChip(this, answer);
    const swatch = html("span", { class: "swatch", "aria-hidden": "true" });
    swatch.style.background = this.scale().css(answer);
    const text = this.answerText(answer, named);
    return html("span", { class: "chip" }, swatch, html("span", { class: "chip-label", title: text }, text));
  }

  legend() {
    if (this.outputs) return this.scale().legend(this);
    return this.classes.slice(0, 24).map((_, c) => classChip(this, c));
  }

  chooseOutput(output) {
    this.output = output;
    for (const model of this.models) model.shown = output;
    this.differingRows = undefined;
    byId("legend").replaceChildren(...this.legend());
    this.later();
  }

  /** Unit to be written behind a number; some are themselves a number of units, such as "10 m". */
  unit(feature) {
    const { unit } = this.features[feature];
    return /^\d/.test(unit) ? `× ${unit}` : unit;
  }

  /** How far one press of an arrow key moves a feature: about a hundredth of its range, and a round number. */
  step(feature) {
    const { low, high, whole } = this.features[feature];
    const step = roundStep((high - low) / 100);
    return whole ? Math.max(1, Math.round(step)) : step;
  }

  rounded(feature, value) {
    const step = this.features[feature].whole ? 1 : this.step(feature) / 10;
    const digits = Math.min(100, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
    return Number((Math.round(value / step) * step).toFixed(digits));
  }

  nudge(feature, steps) {
    const { low, high } = this.features[feature];
    const from = this.x[feature];
    const to = this.rounded(feature, from + steps * this.step(feature));
    // a value that was typed may lie beyond the range; it does not jump back into it
    this.move({ [feature]: Math.min(Math.max(to, Math.min(low, from)), Math.max(high, from)) });
  }

  /** Change some features, by position. */
  move(changes) {
    for (const [feature, value] of Object.entries(changes)) this.x[feature] = value;
    this.later();
  }

  later() {
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame(() => {
      this.scheduled = false;
      this.redraw();
    });
  }

  redraw() {
    this.facts = this.models.map((model) => model.explain(this.x));
    const model = this.models[this.shownModel];
    const fact = this.facts[this.shownModel];
    this.controls.update();
    updateAnswer(this);
    updateGate(this, model, fact);
    updateWords(this, model, fact);
    this.tree.update(model, fact);
    this.flipPanel.update(model, this.x);
    this.flips = this.flipPanel.found;
    this.maps.update();
    this.controls.strips();
  }

  sayDifference(share) {
    const where = `${percent(share)} of this map${this.rowDifference()}`;
    const how = this.outputs ? "differ by more than a hundredth of the scale" : "disagree";
    byId("difference").textContent = `Hatched: the models ${how}, on ${where}.`;
  }

  rowDifference() {
    if (!this.rows) return "";
    const [first, second] = this.models;
    const apart = (a, b) => (this.outputs ? this.scale().apart(a, b) : a !== b);
    this.differingRows ??= this.rows.values.filter((row) => apart(first.answer(row), second.answer(row))).length;
    return ` and on ${this.differingRows} of the ${this.rows.values.length} rows`;
  }

  /** What stays the same while the page is open. */
  describe(content) {
    document.title = `${this.models.map((model) => model.name).join(" and ")} · moet`;
    byId("title").textContent = this.models.map((model) => model.name).join(" and ");
    const fact = (part) => {
      const name = this.models.length > 1 ? `${part.name}: ` : "";
      const digest = html("code", { title: part.digest }, `sha256 ${part.digest.slice(0, 16)}…`);
      return html("p", { class: "note" }, `${name}${part.summary} · `, digest);
    };
    byId("facts").replaceChildren(...content.models.map(fact));
    byId("ranges").textContent = content.ranges;
    byId("rows-note").textContent = content.rows?.note ?? "";
    byId("lines-note").hidden = !this.models.some((model) => model.isHard && model.nExperts > 1);
    byId("legend").replaceChildren(...this.legend());
    byId("output-choice").hidden = (this.outputs?.length ?? 1) < 2;
    const output = (_, o) => html("option", { value: o }, this.outputLabel(o));
    byId("output").replaceChildren(...(this.outputs ?? []).map(output));
    if (this.outputs) byId("flips-title").textContent = "Nearest other laws";
    if (this.outputs) byId("map-title").textContent = "Map";
    byId("random").hidden = byId("rows-toggle").hidden = !this.rows;
    const option = (k) => html("option", { value: k }, this.label(k));
    for (const [axis, id] of ["axis-x", "axis-y"].entries()) {
      byId(id).replaceChildren(...this.features.map((_, k) => option(k)));
      byId(id).value = this.axes[axis];
      byId(id).addEventListener("change", (event) => this.chooseAxis(axis, Number(event.target.value)));
    }
    byId("map-card").hidden = this.features.length < 2;
    byId("which").hidden = this.models.length < 2;
    byId("which-model").replaceChildren(...this.models.map((model, i) => html("option", { value: i }, model.name)));
    byId("colour-by").options[1].disabled = this.models.every((model) => model.nExperts === 1);
  }

  chooseAxis(axis, feature) {
    if (this.axes[1 - axis] === feature) this.axes[1 - axis] = this.axes[axis];
    this.axes[axis] = feature;
    byId("axis-x").value = this.axes[0];
    byId("axis-y").value = this.axes[1];
    this.later();
  }

  listen() {
    const theme = byId("theme");
    const adopt = () => {
      this.palette.refresh();
      theme.setAttribute("aria-pressed", String(this.palette.dark));
      byId("legend").replaceChildren(...this.legend());
      this.later();
    };
    theme.addEventListener("click", () => {
      document.documentElement.dataset.theme = this.palette.dark ? "light" : "dark";
      adopt();
    });
    theme.setAttribute("aria-pressed", String(this.palette.dark));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", adopt);
    byId("reset").addEventListener("click", () => this.move({ ...this.start }));
    byId("random").addEventListener("click", () => {
      const { values } = this.rows;
      this.move({ ...values[Math.floor(Math.random() * values.length)] });
    });
    byId("show-rows").addEventListener("change", (event) => {
      this.showRows = event.target.checked;
      this.later();
    });
    byId("colour-by").addEventListener("change", (event) => {
      this.colourBy = event.target.value;
      byId("legend").hidden = this.colourBy === "expert";
      this.later();
    });
    byId("output").addEventListener("change", (event) => this.chooseOutput(Number(event.target.value)));
    byId("which-model").addEventListener("change", (event) => {
      this.shownModel = Number(event.target.value);
      this.later();
    });
  }
}

// `moet` in the browser's console: moet.models[0].hard([…]) answers with the number of a class.
window.moet = new Page(JSON.parse(byId("content").textContent));
