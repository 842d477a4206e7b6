// One number: a slider, and a field to type it exactly.

import { breakable, html } from "../../web/dom.js";
import { fieldText, shown } from "../../web/numbers.js";
import { newStrip } from "./strip.js";

export class Slider {
  constructor(page, k) {
    const feature = page.features[k];
    this.page = page;
    this.features = [k];
    this.name = feature.name;
    this.strip = newStrip();
    const step = feature.whole ? 1 : "any";
    const range = { type: "range", id: `slider-${k}`, min: feature.low, max: feature.high, step };
    this.slider = html("input", { ...range, oninput: () => this.slide(), onkeydown: (event) => this.press(event) });
    const number = { type: "number", step: "any", "aria-label": `${feature.name}, exact value` };
    this.number = html("input", { ...number, oninput: () => this.type(), onblur: () => this.update() });
    this.number.addEventListener("focus", () => {
      this.number.value = String(page.x[k]);
      this.number.select();
    });
    const unit = html("span", { class: "unit" }, page.unit(k));
    const name = html("label", { for: `slider-${k}`, class: "feature-name" }, ...breakable(feature.name), " ", unit);
    const head = html("div", { class: "slider-head" }, name, this.number);
    this.element = html("div", { class: "slider" }, head, this.slider);
  }

  slide() {
    const [k] = this.features;
    this.page.move({ [k]: this.page.rounded(k, Number(this.slider.value)) });
  }

  press(event) {
    const direction = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
    if (!direction) return;
    event.preventDefault(); // steps as round as those of the map
    this.page.nudge(this.features[0], direction * (event.shiftKey ? 10 : 1));
  }

  type() {
    const value = this.number.valueAsNumber; // NaN if it is no number
    this.number.setAttribute("aria-invalid", String(!Number.isFinite(value)));
    if (Number.isFinite(value)) this.page.move({ [this.features[0]]: value });
  }

  update() {
    const [k] = this.features;
    const value = this.page.x[k];
    this.slider.value = value;
    this.slider.setAttribute("aria-valuetext", `${shown(value, 6)} ${this.page.unit(k)}`.trim());
    if (document.activeElement === this.number) return; // the user is typing
    this.number.value = fieldText(value); // all digits are shown when it has the focus
    this.number.title = String(value);
    this.number.removeAttribute("aria-invalid");
  }

  /** What to change for each pixel of the strip. */
  places(samples) {
    const [k] = this.features;
    const { low, high, whole } = this.page.features[k];
    return Array.from({ length: samples }, (_, i) => {
      const value = low + ((i + 0.5) / samples) * (high - low);
      return { [k]: whole ? Math.round(value) : value };
    });
  }
}
