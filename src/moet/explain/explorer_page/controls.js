// The inputs: a slider per number, a list per text column, and under each a strip of the answers along it.

import { colour, pixel } from "../../web/colours.js";
import { byId, html } from "../../web/dom.js";
import { ChoiceList } from "./choice.js";
import { Slider } from "./slider.js";

export class Controls {
  constructor(page) {
    this.page = page;
    const numbers = page.features.flatMap((feature, k) => (feature.choice ? [] : [new Slider(page, k)]));
    const lists = page.choices.map((choice) => new ChoiceList(page, choice));
    // in the order of the features
    this.rows = [...numbers, ...lists].sort((a, b) => a.features[0] - b.features[0]);
    for (const row of this.rows) {
      const used = row.features.some((k) => page.models.some((model) => model.uses[k]));
      row.strip.hidden = !used;
      row.element.append(row.strip);
      if (!used) row.element.append(html("span", { class: "note" }, "not used by the model"));
    }
    byId("sliders").replaceChildren(...this.rows.map((row) => row.element));
    byId("filter-row").hidden = this.rows.length <= 12;
    byId("filter").addEventListener("input", (event) => this.filter(event.target.value));
  }

  filter(text) {
    const wanted = text.trim().toLowerCase();
    for (const row of this.rows) row.element.hidden = !row.name.toLowerCase().includes(wanted);
  }

  update() {
    for (const row of this.rows) row.update();
  }

  /** Answers along every input, the others held. Fewer of them for models that take long to ask. */
  strips() {
    const { page } = this;
    const model = page.models[page.shownModel];
    const cost = model.nExperts * model.nFeatures * this.rows.length;
    const samples = Math.round(Math.min(200, Math.max(24, 4e6 / cost)));
    const x = Float64Array.from(page.x);
    for (const row of this.rows) {
      if (row.strip.hidden || row.element.hidden) continue;
      const places = row.places(samples);
      row.strip.width = places.length;
      const context = row.strip.getContext("2d");
      const image = context.createImageData(places.length, 1);
      const pixels = new Int32Array(image.data.buffer);
      places.forEach((changes, i) => {
        Object.assign(x, changes);
        const answer = model.answer(x);
        if (page.outputs) pixels[i] = pixel(Number.isNaN(answer) ? page.palette.paper : page.scale().channels(answer));
        else pixels[i] = pixel(answer < 0 ? page.palette.paper : colour(answer));
      });
      for (const k of row.features) x[k] = page.x[k];
      context.putImageData(image, 0, 0);
    }
  }
}

