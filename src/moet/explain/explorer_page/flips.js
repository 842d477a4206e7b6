// The nearest value of one feature, the others held, at which the answer is another. Along such a line a hard model is
// a sequence of cells: a leaf ends at a threshold, an expert where another one's score overtakes. The search goes from
// cell to cell and asks the model itself in each, so what it reports is true of the model that runs here.

import { neighbour, nextUp } from "../../web/numbers.js";
import { chosen } from "./choice.js";

export const MAX_CELLS = 4000;
export const SOFT_SAMPLES = 200;

/** The first number (or whole number) at which `differs`, between `near` where it does not and `far` where it does. */
function boundary(near, far, differs, whole = false) {
  for (;;) {
    const middle = whole ? Math.round((near + far) / 2) : near + (far - near) / 2;
    if (middle === near || middle === far) return far;
    if (differs(middle)) far = middle;
    else near = middle;
  }
}

/** The first value beyond the leaf that `x` is in, along `feature` in the direction of `sign`; infinite if none. */
function endOfLeaf(model, expert, x, feature, sign) {
  let end = sign * Infinity;
  for (const node of model.path(expert, x)) {
    if (model.feature[node] !== feature) continue;
    const limit = model.threshold[node];
    // a threshold itself still belongs to the left side
    if (sign > 0 && x[feature] <= limit) end = Math.min(end, nextUp(limit));
    if (sign < 0 && x[feature] > limit) end = Math.max(end, limit);
  }
  return end;
}

/** Where another expert's score overtakes, in real arithmetic; infinite if none does. Uses the last logits. */
function endOfExpert(model, expert, x, feature, sign) {
  const slope = (j) => model.weights[j * model.nFeatures + feature];
  let nearest = Infinity;
  for (let j = 0; j < model.nExperts; j += 1) {
    const gain = sign * (slope(j) - slope(expert));
    if (gain > 0) nearest = Math.min(nearest, (model.logits[expert] - model.logits[j]) / gain);
  }
  return x[feature] + sign * nearest;
}

/** The first value where `expert` no longer wins, sought from `crossing` on; `end` if it wins up to there. */
function nextExpert(model, expert, x, feature, sign, crossing, end) {
  const from = x[feature];
  const changed = (value) => {
    x[feature] = value;
    return model.ask(x) !== expert;
  };
  // rounding may let the expert win a little beyond the crossing, or lose a little before
  let beyond = neighbour(crossing, sign);
  for (let step = Math.abs(beyond - crossing); (end - beyond) * sign > 0; step *= 2, beyond = crossing + sign * step) {
    if ((beyond - from) * sign > 0 && changed(beyond)) return boundary(from, beyond, changed);
  }
  const last = neighbour(end, -sign); // a tie on a threshold: the other expert wins there, before the leaf ends
  return Number.isFinite(end) && (last - from) * sign > 0 && changed(last) ? boundary(from, last, changed) : end;
}

/** `value`, or the next whole number in the direction of `sign`. */
function snapped(value, sign, whole) {
  return whole ? (sign > 0 ? Math.ceil(value) : Math.floor(value)) : value;
}

function hardFlip(model, point, feature, sign, { whole }) {
  const x = Float64Array.from(point);
  const before = model.kind(x);
  for (let cells = 0; cells < MAX_CELLS; cells += 1) {
    const expert = model.ask(x);
    const leafEnd = endOfLeaf(model, expert, x, feature, sign);
    const crossing = endOfExpert(model, expert, x, feature, sign);
    if (!Number.isFinite(leafEnd) && !Number.isFinite(crossing)) return { to: null };
    const gateFirst = (leafEnd - crossing) * sign > 0;
    const next = gateFirst ? nextExpert(model, expert, x, feature, sign, crossing, leafEnd) : leafEnd;
    if (!Number.isFinite(next)) return { to: null };
    x[feature] = snapped(next, sign, whole);
    const after = model.kind(x);
    if (after === before) continue;
    const takesOver = model.expert !== expert;
    return { to: x[feature], answer: after, expert: model.expert, takesOver, above: sign > 0 && !takesOver && !whole };
  }
  return { to: null, gaveUp: true };
}

/** A vote has no cells: look at evenly spaced values up to the end of the range, then close in. */
function softFlip(model, point, feature, sign, range) {
  const x = Float64Array.from(point);
  const before = model.soft(x);
  const from = x[feature];
  const end = sign > 0 ? range.high : range.low;
  const answerAt = (value) => {
    x[feature] = value;
    return model.soft(x);
  };
  for (let i = 1, last = from; i <= SOFT_SAMPLES && (end - from) * sign > 0; i += 1) {
    const value = snapped(from + ((end - from) * i) / SOFT_SAMPLES, sign, range.whole);
    if (answerAt(value) !== before) {
      const to = boundary(last, value, (middle) => answerAt(middle) !== before, range.whole);
      const answer = answerAt(to);
      return { to, answer, expert: model.expert, takesOver: false };
    }
    last = value;
  }
  return { to: null };
}

/** The values of a text column with another answer: the first of them, and how many more there are. */
function choiceFlip(model, point, choice) {
  const before = model.kind(point);
  const expert = model.expert;
  const flips = choice.values.flatMap((_, i) => {
    const answer = model.kind(Object.assign(Float64Array.from(point), chosen(choice, i)));
    return answer === before ? [] : [{ to: i, answer, expert: model.expert, takesOver: model.expert !== expert }];
  });
  if (!flips.length) return { choice, to: null, size: Infinity };
  return { choice, ...flips[0], more: flips.length - 1, size: 1 };
}

/** The flip, unless it lies beyond the values that rows of the user's table can have: nobody is −19 years old. */
function possible(flip, { least, most }) {
  if (flip.to === null || least === null || (flip.to >= least && flip.to <= most)) return flip;
  return { to: null };
}

/** The nearer of the flips of a feature up and down; its size is a share of the feature's range. */
function numberFlip(model, features, x, feature) {
  const range = features[feature];
  const flips = [1, -1].map((sign) => {
    const flip = possible((model.isHard ? hardFlip : softFlip)(model, x, feature, sign, range), range);
    const change = flip.to === null ? Infinity : flip.to - x[feature];
    return { feature, ...flip, change, size: Math.abs(change) / (range.high - range.low) };
  });
  const gaveUp = flips.some((flip) => flip.gaveUp);
  return { ...(flips[0].size <= flips[1].size ? flips[0] : flips[1]), gaveUp };
}

/** The nearest flip by each number and by each text column alone. */
export function nearestFlips(model, page, x) {
  const numbers = page.features.flatMap((feature, k) => {
    if (feature.choice) return [];
    return model.uses[k] ? [numberFlip(model, page.features, x, k)] : [{ feature: k, to: null, size: Infinity }];
  });
  return [...numbers, ...page.choices.map((choice) => choiceFlip(model, x, choice))];
}
