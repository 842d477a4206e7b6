// The contest of the experts: scores, how far each is behind, and its share of the softmax.

import { bar, byId, html } from "../../web/dom.js";
import { counted, percent, shown } from "../../web/numbers.js";

const MOST_EXPERTS = 8;

export function updateGate(page, model, fact) {
  byId("gate-card").hidden = model.nExperts === 1;
  if (model.nExperts === 1) return;
  const order = Array.from(fact.logits.keys());
  const few = model.nExperts <= MOST_EXPERTS;
  if (!few) order.sort((a, b) => fact.logits[b] - fact.logits[a] || a - b);
  const top = fact.logits[fact.expert];
  const visible = order.slice(0, MOST_EXPERTS);
  const spread = top - Math.min(...visible.map((j) => fact.logits[j])) || 1;
  const rows = visible.map((j) => {
    const winner = j === fact.expert;
    // the last one shown keeps a stub of a bar, for it is not nothing
    const share = model.isHard ? 0.06 + 0.94 * (1 - (top - fact.logits[j]) / spread) : fact.shares[j];
    return html(
      "tr",
      { class: winner ? "winner" : null },
      html("th", { scope: "row" }, `expert ${j}`),
      html("td", { class: "wide" }, bar(share)),
      html("td", { class: "number" }, shown(fact.logits[j], 4)),
      html("td", { class: "number" }, winner ? "leads" : `−${shown(top - fact.logits[j], 3)}`),
      html("td", { class: "number" }, percent(fact.shares[j])),
    );
  });
  const columns = ["", "", "score", "behind", "softmax"].map((name) => html("th", { scope: "col" }, name));
  const head = html("tr", {}, ...columns);
  byId("gate").replaceChildren(html("table", {}, html("thead", {}, head), html("tbody", {}, ...rows)));
  const rest = model.nExperts - visible.length;
  const meaning = model.isHard
    ? "The expert with the largest score answers alone, the first of them if tied. Bars: score, from the last shown on."
    : "Every expert votes with its softmax share (bars).";
  byId("gate-note").textContent = rest ? `${meaning} ${counted(rest, "more expert")} further behind.` : meaning;
}
