// A text column of a table is one feature of 0 or 1 per value, named "column=value". It is chosen from a list, so that
// its features always change together.

import { breakable, html } from "../../web/dom.js";
import { newStrip } from "./strip.js";

/** The text columns among the features: `[{column, features, values}]`. */
export function choicesOf(features) {
  const found = new Map();
  features.forEach(({ choice }, k) => {
    if (!choice) return;
    const [column, value] = choice;
    if (!found.has(column)) found.set(column, { column, features: [], values: [] });
    found.get(column).features.push(k);
    found.get(column).values.push(value);
  });
  return [...found.values()];
}

/** Changes that make member `i` of a text column the chosen one. */
export function chosen(choice, i) {
  return Object.fromEntries(choice.features.map((k, j) => [k, Number(i === j)]));
}

/** Which value of a text column an input has, or -1 if none, or several, or fractions of them. */
export function choiceAt(choice, x) {
  const i = choice.features.findIndex((k) => x[k] === 1);
  return choice.features.every((k, j) => x[k] === Number(i === j)) ? i : -1;
}

export class ChoiceList {
  constructor(page, choice) {
    this.page = page;
    this.choice = choice;
    this.features = choice.features;
    this.name = choice.column;
    this.strip = newStrip();
    const id = `choice-${choice.features[0]}`;
    const options = choice.values.map((value, i) => html("option", { value: i }, value));
    const onchange = () => page.move(chosen(choice, Number(this.list.value)));
    this.list = html("select", { id, onchange }, html("option", { value: -1 }, "(none of these)"), ...options);
    const name = html("label", { for: id, class: "feature-name" }, ...breakable(choice.column));
    this.element = html("div", { class: "slider" }, html("div", { class: "slider-head" }, name, this.list));
  }

  update() {
    this.list.value = choiceAt(this.choice, this.page.x);
  }

  places() {
    return this.choice.values.map((_, i) => chosen(this.choice, i));
  }
}
