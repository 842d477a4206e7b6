// The rule that was applied, in words: why this expert, and which conditions lead to its leaf.

import { breakable, byId, classChip, html } from "../../web/dom.js";
import { counted, percent, shown, shownApart } from "../../web/numbers.js";
import { lawLines } from "./laws.js";

const MOST_TERMS = 8;

/** What lets `expert` beat `rival`, as in `2.1·position − 0.3·speed > −1`; only the largest terms of a large gate. */
function contest(page, model, expert, rival, x) {
  const weight = (j, k) => model.weights[j * model.nFeatures + k];
  const terms = page.features
    .map(({ name, choice }, k) => {
      const term = choice ? `[${choice[0]} is ${choice[1]}]` : name;
      return { name: term, weight: weight(expert, k) - weight(rival, k), x: x[k] };
    })
    .filter((term) => term.weight !== 0);
  const needed = model.bias[rival] - model.bias[expert];
  if (!terms.length) return null;
  const size = (term) => Math.abs(term.weight * term.x);
  const kept = new Set([...terms].sort((a, b) => size(b) - size(a)).slice(0, MOST_TERMS));
  const rest = terms.filter((term) => !kept.has(term));
  const parts = terms
    .filter((term) => kept.has(term))
    .map(({ weight: w, name }, i) => `${w < 0 ? "−" : i ? "+" : ""}${i ? " " : ""}${shown(Math.abs(w))}·${name}`);
  if (rest.length) {
    const sum = rest.reduce((total, term) => total + term.weight * term.x, 0);
    parts.push(`${sum < 0 ? "−" : "+"} ${shown(Math.abs(sum))} (${counted(rest.length, "smaller term")})`);
  }
  return `${parts.join(" ")} ${expert < rival ? "≥" : ">"} ${shown(needed)}`;
}

/** The tests of a path joined per feature: `[{feature, low, high}]` for low < x <= high, in order of first use. */
function conditions(model, path) {
  const found = new Map();
  for (let i = 0; i + 1 < path.length; i += 1) {
    const node = path[i];
    const feature = model.feature[node];
    const interval = found.get(feature) ?? { feature, low: -Infinity, high: Infinity };
    if (path[i + 1] === model.left[node]) interval.high = Math.min(interval.high, model.threshold[node]);
    else interval.low = Math.max(interval.low, model.threshold[node]);
    found.set(feature, interval);
  }
  return [...found.values()];
}

function conditionText(page, { feature, low, high }) {
  const { name, choice } = page.features[feature];
  if (choice && low < 1 && high >= 0) return `${choice[0]} is ${low >= 0 ? "" : "not "}${choice[1]}`;
  const value = page.x[feature];
  const suffix = page.unit(feature) && ` ${page.unit(feature)}`;
  const lowText = shownApart(low, Number.isFinite(high) ? high : value)[0];
  const highText = shownApart(high, Number.isFinite(low) ? low : value)[0];
  if (low === -Infinity) return `${name} ≤ ${highText}${suffix}`;
  if (high === Infinity) return `${name} > ${lowText}${suffix}`;
  return `${lowText} < ${name} ≤ ${highText}${suffix}`;
}

/** What the input has, and how far the nearer limit is. */
function conditionNote(page, { feature, low, high }) {
  const value = page.x[feature];
  const limit = value - low < high - value ? low : high;
  return `is ${shownApart(value, limit)[0]}, ${shown(Math.abs(value - limit), 3)} from the limit`;
}

/** Whether all experts have the same say in a vote, so that none of them leads. */
export function isEven(model, fact) {
  return !model.isHard && fact.shares.every((share) => share === fact.shares[0]);
}

export function updateWords(page, model, fact) {
  const lines = [];
  const even = model.nExperts > 1 && isEven(model, fact);
  if (even) {
    lines.push(html("p", {}, `All ${model.nExperts} experts have the same say. The first of them is shown.`));
  } else if (model.nExperts > 1) {
    const rivals = Array.from(fact.logits.keys()).filter((j) => j !== fact.expert);
    const rival = rivals.sort((a, b) => fact.logits[b] - fact.logits[a] || a - b)[0];
    const inequality = contest(page, model, fact.expert, rival, page.x);
    const lead = shown(fact.logits[fact.expert] - fact.logits[rival], 3);
    const role = model.isHard ? "answers" : `has the largest say, ${percent(fact.shares[fact.expert])}`;
    const rest = ` ${role}; it is ahead of expert ${rival} by ${lead}${inequality ? " because" : "."}`;
    lines.push(html("p", {}, html("strong", {}, `Expert ${fact.expert}`), rest));
    if (inequality) lines.push(html("p", { class: "formula" }, ...breakable(inequality)));
  }
  const found = conditions(model, fact.path);
  const leaf = fact.path[fact.path.length - 1];
  const answer = page.classes[model.nodeClass[leaf]];
  const who = model.nExperts > 1 ? "Its tree" : "The tree";
  if (page.outputs) lines.push(html("p", {}, found.length ? `${who} says` : `${who} is a single leaf:`));
  if (page.outputs) lines.push(...lawLines(page, model, fact));
  if (found.length) {
    const says = page.outputs ? ["because"] : [`${who} says `, classChip(page, model.nodeClass[leaf]), " because"];
    lines.push(html("p", {}, ...says));
    const items = found.map((condition) => {
      const plain = page.features[condition.feature].choice;
      const note = plain ? "" : html("span", { class: "note" }, conditionNote(page, condition));
      return html("li", {}, ...breakable(conditionText(page, condition)), note);
    });
    lines.push(html("ul", { class: "conditions" }, ...items));
  } else if (!page.outputs) {
    lines.push(html("p", {}, `${who} is a single leaf: always ${answer}.`));
  }
  if (!model.isHard && page.outputs) {
    lines.push(html("p", {}, "All experts together, by their shares: ", page.chip(fact.answer), "."));
  } else if (!model.isHard) {
    const share = `, ${percent(fact.probabilities[fact.answer])}`;
    lines.push(html("p", {}, "All experts together vote ", classChip(page, fact.answer, share), "."));
  }
  byId("words").replaceChildren(...lines);
}
