// The nearest flips as a list, each with a button that goes there.

import { breakable, byId, html } from "../../web/dom.js";
import { counted, percent, shownApart, signed } from "../../web/numbers.js";
import { choiceAt, chosen } from "./choice.js";
import { MAX_CELLS, nearestFlips, SOFT_SAMPLES } from "./flips.js";

const FIRST_SHOWN = 6;

export class FlipPanel {
  constructor(page) {
    this.page = page;
    this.all = false;
  }

  update(model, x) {
    const { page } = this;
    byId("flips-card").hidden = Boolean(page.outputs) && !model.isHard; // a mean has no laws to leave
    this.found = byId("flips-card").hidden ? [] : nearestFlips(model, page, x);
    const changing = this.found.filter((flip) => flip.to !== null).sort((a, b) => a.size - b.size);
    const never = this.found.filter((flip) => flip.to === null);
    const visible = this.all ? changing : changing.slice(0, FIRST_SHOWN);
    const row = (flip) => (flip.choice ? this.choiceRow(model, x, flip) : this.numberRow(model, x, flip));
    byId("flips").replaceChildren(
      html("ul", {}, ...visible.map(row)),
      ...(changing.length > FIRST_SHOWN ? [this.more(model, x, changing.length)] : []),
      ...(never.length ? [html("p", { class: "note" }, this.unmoved(never))] : []),
    );
    byId("flips-note").textContent = this.meaning(model);
  }

  numberRow(model, x, flip) {
    const { page } = this;
    const feature = page.features[flip.feature];
    const [from, to] = shownApart(x[flip.feature], flip.to);
    const beyond = flip.to < feature.low || flip.to > feature.high ? ", beyond the slider" : "";
    const unsought = flip.gaveUp ? `; a nearer one beyond ${MAX_CELLS} cells was not sought` : "";
    const change = `${from} → ${flip.above ? "just above " : ""}${to} ${page.unit(flip.feature)}`;
    const size = `${signed(flip.change)}, ${percent(flip.size)} of its range${beyond}`;
    const note = `${size}; ${this.cause(model, flip)}${unsought}`;
    return this.item(model, x, feature.name, flip.answer, change, note, { [flip.feature]: flip.to });
  }

  choiceRow(model, x, flip) {
    const { choice } = flip;
    const from = choice.values[choiceAt(choice, x)] ?? "(none of these)";
    const others = flip.more ? `; so do ${counted(flip.more, "other value")}` : "";
    const note = `${this.cause(model, flip)}${others}`;
    const change = `${from} → ${choice.values[flip.to]}`;
    return this.item(model, x, choice.column, flip.answer, change, note, chosen(choice, flip.to));
  }

  cause(model, flip) {
    if (flip.takesOver && model.isHard) return `expert ${flip.expert} takes over`;
    return model.isHard ? "a test in the tree" : "the vote";
  }

  item(model, x, name, kind, change, note, changes) {
    const { page } = this;
    const answer = page.outputs ? model.answer(Object.assign(Float64Array.from(x), changes)) : kind;
    const told = `Change ${name}: ${change}, where the answer is ${page.answerText(answer)}`;
    const onclick = () => page.move(changes);
    return html(
      "li",
      {},
      html("strong", {}, ...breakable(name)),
      page.chip(answer),
      html("button", { type: "button", title: "Move the input there", "aria-label": told, onclick }, "Go"),
      html("div", { class: "number" }, change),
      html("div", { class: "note" }, note),
    );
  }

  more(model, x, count) {
    const toggle = () => {
      this.all = !this.all;
      this.update(model, x);
    };
    const text = this.all ? "Show the nearest only" : `Show all ${count}`;
    return html("button", { type: "button", class: "quiet", onclick: toggle }, text);
  }

  unmoved(never) {
    const names = never.map((flip) => flip.choice?.column ?? this.page.features[flip.feature].name);
    const list = names.length > 6 ? `${names.slice(0, 5).join(", ")} and ${names.length - 5} others` : names.join(", ");
    const gaveUp = never.some((flip) => flip.gaveUp);
    const none = this.page.features.some((feature) => feature.least !== null) ? "No possible flip" : "No flip";
    return `${gaveUp ? `No flip found within ${MAX_CELLS} cells, or none at all` : none} by these alone: ${list}.`;
  }

  meaning(model) {
    if (model.hasNumbers) {
      return (
        "One feature at a time, the others held: the nearest value at which another law answers, with the output " +
        "there. moet closest finds the nearest input with an output that you name, and proves that none is nearer."
      );
    }
    const how = model.isHard
      ? "the nearest value with another answer, found by going through the tree's thresholds and the gate's " +
        "crossings and checked by running the model"
      : `the nearest of ${SOFT_SAMPLES} evenly spaced values to either end of the slider with another answer, ` +
        "closed in on by running the model; a nearer one may lie between two of them";
    const together = "Several features moved together may flip sooner; moet closest finds and proves that.";
    return `One feature at a time, the others held: ${how}. ${together}`;
  }
}
