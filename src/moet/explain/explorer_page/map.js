// A decision map: the answers of a model over two features, the others held at the sliders.

import { mixed, pixel } from "../../web/colours.js";
import { html } from "../../web/dom.js";
import { MapMarks, MARGIN } from "./marks.js";

export const STEPS = [8, 4, 2, 1]; // side of the squares that one answer stands for
const SHADES = 32; // of a vote's certainty

export class DecisionMap {
  constructor(page, model, title) {
    this.page = page;
    this.model = model;
    this.canvas = html("canvas");
    this.marks = new MapMarks(this);
    this.frame = html("div", { class: "plot" }, this.canvas, this.marks.overlay);
    this.figure = html("figure", { class: "map" }, html("figcaption", {}, title), this.frame);
  }

  resize(width, height) {
    this.width = Math.max(40, Math.floor(width - MARGIN.left - MARGIN.right));
    this.height = Math.max(40, Math.floor(height - MARGIN.top - MARGIN.bottom));
    this.canvas.width = this.width;
    this.canvas.height = this.height;
    this.frame.style.height = `${height}px`;
    this.canvas.style.left = `${MARGIN.left}px`;
    this.canvas.style.top = `${MARGIN.top}px`;
    this.marks.overlay.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.answers = new (this.model.hasNumbers ? Float64Array : Int16Array)(this.width * this.height);
    this.experts = new Int16Array(this.width * this.height);
    this.shades = new Uint8Array(this.width * this.height);
  }

  across(i) {
    const { low, high } = this.page.features[this.page.axes[0]];
    return low + ((i + 0.5) / this.width) * (high - low);
  }

  up(row) {
    const { low, high } = this.page.features[this.page.axes[1]];
    return high - ((row + 0.5) / this.height) * (high - low);
  }

  /** Position in the frame of a value of the horizontal (0) or vertical (1) feature. */
  place(axis, value) {
    const { low, high } = this.page.features[this.page.axes[axis]];
    const share = Math.min(1, Math.max(0, (value - low) / (high - low)));
    return axis === 0 ? MARGIN.left + share * this.width : MARGIN.top + (1 - share) * this.height;
  }

  /** Ask the model in one row of squares; squares that a coarser pass has asked keep their answer. */
  askRow(row, step, x) {
    const { model, width } = this;
    const [horizontal, vertical] = this.page.axes;
    x[vertical] = this.up(row);
    const known = row % (2 * step) === 0 && step < STEPS[0] ? 2 * step : 0;
    const start = row * width;
    for (let i = 0; i < width; i += step) {
      if (known && i % known === 0) continue;
      x[horizontal] = this.across(i);
      const answer = model.answer(x);
      const shade = model.isHard || model.hasNumbers || answer < 0 ? SHADES - 1 : Math.round(model.votes[answer] * (SHADES - 1));
      for (let at = start + i; at < start + Math.min(i + step, width); at += 1) {
        this.answers[at] = answer;
        this.experts[at] = model.expert;
        this.shades[at] = shade;
      }
    }
    for (let below = row + 1; below < Math.min(row + step, this.height); below += 1) {
      const to = below * width;
      for (const part of [this.answers, this.experts, this.shades]) part.copyWithin(to, start, start + width);
    }
  }

  /** Colours of all regions, borders between experts (strong around the active one), hatching where `other` differs. */
  paint(other) {
    const { page, model, width, height, answers, experts, shades } = this;
    const { palette, colourBy } = page;
    const byExpert = colourBy === "expert";
    const kinds = byExpert ? model.nExperts : page.classes.length;
    const shade = (kind, level) => pixel(palette.region(kind, byExpert ? 1 : 0.25 + (0.75 * level) / (SHADES - 1)));
    const colours = new Int32Array((kinds + 1) * SHADES); // the first are for "no answer"
    for (let i = 0; i < colours.length; i += 1) colours[i] = shade(Math.floor(i / SHADES) - 1, i % SHADES);
    const numbers = page.scale();
    const nothing = pixel(palette.region(-1));
    // on a scale from dark to light no single colour can be seen everywhere: there borders are white beside black
    const [bright, dim] = numbers ? [pixel([255, 255, 255]), pixel([0, 0, 0])] : [pixel(palette.ink), pixel(palette.ink)];
    const thin = pixel(mixed(palette.ink, palette.paper, 0.45));
    const image = this.canvas.getContext("2d").createImageData(width, height);
    const pixels = new Int32Array(image.data.buffer);
    const active = page.facts[page.models.indexOf(model)].expert;
    const borders = model.isHard || byExpert; // in a vote no expert's border shows
    let differing = 0;
    for (let row = 0, at = 0; row < height; row += 1) {
      for (let i = 0; i < width; i += 1, at += 1) {
        const kind = byExpert ? experts[at] : answers[at];
        const number = numbers && !byExpert;
        if (number) pixels[at] = Number.isNaN(kind) ? nothing : pixel(numbers.channels(kind));
        else pixels[at] = colours[(kind + 1) * SHADES + shades[at]];
        if (other && (numbers ? numbers.apart(other.answers[at], answers[at]) : other.answers[at] !== answers[at])) {
          differing += 1;
          if ((i + row) % 9 < 3) pixels[at] = bright;
        }
        if (!borders) continue;
        const here = experts[at];
        const right = i + 1 < width ? experts[at + 1] : here;
        const below = row + 1 < height ? experts[at + width] : here;
        if (here === right && here === below) continue;
        const strong = here === active || right === active || below === active;
        pixels[at] = strong ? bright : thin;
        if (strong && i > 0) pixels[at - 1] = dim;
        if (strong && row > 0) pixels[at - width] = dim;
      }
    }
    this.canvas.getContext("2d").putImageData(image, 0, 0);
    this.differing = differing / pixels.length;
    if (page.showRows) this.paintRows();
  }

  /** The rows of the data as dots in the colour of what the model answers, or which expert does, to the whole row. */
  paintRows() {
    const { page } = this;
    const context = this.canvas.getContext("2d");
    const [horizontal, vertical] = page.axes;
    if (this.rowOutput !== page.output) this.rowKinds = null;
    this.rowOutput = page.output;
    this.rowKinds ??= page.rows.values.map((row) => ({ answer: this.model.answer(row), expert: this.model.expert }));
    context.lineWidth = 1;
    context.strokeStyle = `rgb(${page.palette.paper.join(" ")})`;
    page.rows.values.forEach((row, i) => {
      const kind = this.rowKinds[i][page.colourBy];
      context.fillStyle = page.fill(kind);
      context.beginPath();
      const left = this.place(0, row[horizontal]) - MARGIN.left;
      context.arc(left, this.place(1, row[vertical]) - MARGIN.top, 2.6, 0, 2 * Math.PI);
      context.fill();
      context.stroke();
    });
  }
}
