// Models that answer with numbers: the same gate and tests, a law per output in every leaf. The outputs of a hard model
// have the same bits as Python's, for the sums are added in the same order.

import { channels, mixed } from "../../web/colours.js";
import { bar, breakable, html } from "../../web/dom.js";
import { shown } from "../../web/numbers.js";
import { Model } from "./model.js";

export class LawModel extends Model {
  constructor(part, outputs) {
    super(part, outputs.length);
    this.hasNumbers = true;
    this.nodeClass.fill(0); // leaves are told apart by their place, not by a class
    this.low = outputs.map((output) => output.low ?? -Infinity);
    this.high = outputs.map((output) => output.high ?? Infinity);
    this.shown = 0; // the output that maps and strips show
    const size = outputs.length * this.nFeatures;
    this.slope = new Float64Array(this.feature.length * size);
    this.terms = new Int32Array(this.feature.length); // a tree of constants adds nothing
    part.trees.forEach((tree, j) => {
      tree.slope?.forEach((rows, i) => {
        this.terms[this.roots[j] + i] = this.nFeatures;
        this.slope.set(rows.flat(), (this.roots[j] + i) * size);
      });
    });
    this.uses = this.uses.map((used, k) => used || this.hasSlope(k));
  }

  hasSlope(feature) {
    return this.slope.some((value, i) => value !== 0 && i % this.nFeatures === feature);
  }

  /** The sum of an output at a leaf, before it is clipped. */
  sum(leaf, output, x) {
    const law = leaf * this.nClasses + output;
    let sum = this.value[law];
    for (let k = 0; k < this.terms[leaf]; k += 1) sum += this.slope[law * this.nFeatures + k] * x[k];
    return sum;
  }

  /** An output of a leaf; NaN where the sum overflows. */
  output(leaf, output, x) {
    const sum = this.sum(leaf, output, x);
    if (!Number.isFinite(sum)) return NaN;
    if (sum < this.low[output]) return this.low[output];
    return sum > this.high[output] ? this.high[output] : sum;
  }

  /** All outputs of the most probable expert. */
  hard(x) {
    const leaf = this.leaf(this.ask(x), x);
    return Float64Array.from({ length: this.nClasses }, (_, o) => this.output(leaf, o, x));
  }

  /** The mean of the experts' outputs, weighted by the softmax of their scores. */
  soft(x) {
    this.ask(x);
    const shares = this.share();
    return Float64Array.from({ length: this.nClasses }, (_, o) => {
      let mean = 0;
      for (let j = 0; j < this.nExperts; j += 1) mean += shares[j] * this.output(this.leaf(j, x), o, x);
      return mean;
    });
  }

  outputs(x) {
    return this.isHard ? this.hard(x) : this.soft(x);
  }

  /** The output that is shown. */
  answer(x) {
    if (!this.isHard) return this.soft(x)[this.shown];
    return this.output(this.leaf(this.ask(x), x), this.shown, x);
  }

  /** Which law answers. */
  kind(x) {
    return this.leaf(this.ask(x), x);
  }

  explain(x) {
    const outputs = this.outputs(x);
    const path = this.path(this.expert, x);
    const logits = Float64Array.from(this.logits);
    const leaf = path[path.length - 1];
    const sums = Array.from(outputs, (_, o) => this.sum(leaf, o, x));
    const shares = Float64Array.from(this.share());
    return { answer: outputs[this.shown], outputs, sums, expert: this.expert, path, logits, shares };
  }
}

/** Numbers as colours, from dark to light; readable without colour vision. */
export class Scale {
  constructor(span) {
    [this.low, this.high] = span;
    this.stops = ["#00224e", "#434e6c", "#7d7c78", "#bcae6c", "#fee838"].map(channels);
  }

  channels(value) {
    const share = Math.min(1, Math.max(0, (value - this.low) / (this.high - this.low)));
    const place = share * (this.stops.length - 1);
    const i = Math.min(this.stops.length - 2, Math.floor(place));
    return mixed(this.stops[i + 1], this.stops[i], place - i);
  }

  css(value) {
    return Number.isNaN(value) ? "transparent" : `rgb(${this.channels(value).join(" ")})`;
  }

  /** Whether two numbers are further apart than a hundredth of the scale. */
  apart(a, b) {
    return Number.isNaN(a) !== Number.isNaN(b) || Math.abs(a - b) > (this.high - this.low) / 100;
  }

  legend(page) {
    const strip = html("span", { class: "scale", "aria-hidden": "true" });
    const stops = this.stops.map((stop) => `rgb(${stop.join(" ")})`);
    strip.style.background = `linear-gradient(to right, ${stops.join(", ")})`;
    return [`${page.outputLabel()}: ${shown(this.low)}`, strip, shown(this.high)];
  }
}

/** A law as a formula, such as `0.5 + 2·angle − speed`. */
export function formula(page, model, leaf, output) {
  const law = leaf * model.nClasses + output;
  const parts = [shown(model.value[law])];
  for (let k = 0; k < model.terms[leaf]; k += 1) {
    const slope = model.slope[law * model.nFeatures + k];
    if (slope) parts.push(`${slope < 0 ? "−" : "+"} ${shown(Math.abs(slope))}·${page.features[k].name}`);
  }
  return parts.join(" ");
}

/** The outputs, each with a bar between its ends. */
export function outputTable(page, model, fact) {
  const rows = page.outputs.map((output, o) => {
    const [low, high] = output.span;
    const value = fact.outputs[o];
    const clipped = model.isHard && value !== fact.sums[o] && !Number.isNaN(value) ? "clipped" : "";
    return html(
      "tr",
      {},
      html("th", { scope: "row" }, page.outputLabel(o)),
      html("td", { class: "wide" }, bar((value - low) / (high - low), page.scales[o].css(value))),
      html("td", { class: "number", title: String(value) }, shown(value, 5)),
      html("td", { class: "note" }, clipped),
    );
  });
  return html("table", {}, html("tbody", {}, ...rows));
}

/** What the laws of a leaf say about an input, one line per output. */
export function lawLines(page, model, fact) {
  const leaf = fact.path[fact.path.length - 1];
  return page.outputs.flatMap((output, o) => {
    const [sum, value] = [fact.sums[o], fact.outputs[o]];
    const clipped = model.isHard && (sum < model.low[o] || sum > model.high[o]);
    const note = clipped ? `is ${shown(sum, 5)}, clipped to ${shown(value, 5)}` : `is ${shown(sum, 5)}`;
    const text = `${output.name} = ${formula(page, model, leaf, o)}`;
    return [html("p", { class: "formula" }, ...breakable(text)), html("p", { class: "note" }, note)];
  });
}
