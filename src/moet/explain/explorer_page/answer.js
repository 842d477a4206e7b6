// The answer itself, with the probabilities behind it, or the outputs.

import { bar, byId, classChip, html } from "../../web/dom.js";
import { percent, shown } from "../../web/numbers.js";
import { outputTable } from "./laws.js";
import { isEven } from "./words.js";

function updateOutputs(page) {
  const part = (model, i) => {
    const fact = page.facts[i];
    const one = model.isHard ? `answered by expert ${fact.expert}` : "mean of all experts";
    const pair = page.models.length > 1; // side by side there is no room for the name of the output
    return html(
      "div",
      { class: "answer" },
      pair ? html("div", { class: "note" }, model.name) : null,
      html("div", { class: "verdict", id: `verdict-${i}` }, page.chip(fact.answer, !pair)),
      html("div", { class: "note" }, model.nExperts === 1 ? "one tree" : one),
      outputTable(page, model, fact),
    );
  };
  byId("answers").replaceChildren(...page.models.map(part));
  const [first, second] = page.facts;
  byId("agreement").hidden = !second;
  if (second) {
    const most = Math.max(...first.outputs.map((value, o) => Math.abs(value - second.outputs[o])));
    const agree = "The models agree here.";
    byId("agreement").textContent = most === 0 ? agree : `The models differ here by up to ${shown(most)}.`;
    byId("agreement").classList.toggle("disagree", most !== 0);
  }
  byId("answer-note").textContent = "Bars: from the least to the largest value of the colour scale.";
}

export function updateAnswer(page) {
  if (page.outputs) return updateOutputs(page);
  byId("answers").replaceChildren(
    ...page.models.map((model, i) => {
      const fact = page.facts[i];
      const order = Array.from(fact.probabilities.keys()).sort((a, b) => fact.probabilities[b] - fact.probabilities[a]);
      const role = model.isHard ? "answered by" : "vote led by";
      const led = isEven(model, fact) ? `vote of ${model.nExperts} experts` : `${role} expert ${fact.expert}`;
      const by = model.nExperts === 1 ? "decision tree" : led;
      return html(
        "div",
        { class: "answer" },
        page.models.length > 1 ? html("div", { class: "note" }, model.name) : null,
        html("div", { class: "verdict", id: `verdict-${i}` }, classChip(page, fact.answer)),
        html("div", { class: "note" }, by),
        html(
          "table",
          {},
          html(
            "tbody",
            {},
            ...order.slice(0, 6).map((c) =>
              html(
                "tr",
                {},
                html("th", { scope: "row" }, page.classes[c]),
                html("td", { class: "wide" }, bar(fact.probabilities[c], page.palette.solid(c))),
                html("td", { class: "number" }, percent(fact.probabilities[c])),
              ),
            ),
          ),
        ),
      );
    }),
  );
  const [first, second] = page.facts;
  byId("agreement").hidden = !second;
  if (second) {
    const agree = first.answer === second.answer;
    byId("agreement").textContent = agree ? "The models agree here." : "The models disagree here.";
    byId("agreement").classList.toggle("disagree", !agree);
  }
  const meaning = (model) => (model.isHard ? "the classes of the training rows in the leaf" : "the vote");
  const meanings = new Set(page.models.map(meaning));
  byId("answer-note").textContent = `Probabilities: ${[...meanings].join("; ")}.`;
}
