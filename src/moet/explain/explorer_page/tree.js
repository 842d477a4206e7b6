// The active expert's tree, lying on its side: the root at the left, every node in a row of its own, "yes" above and
// "no" below. Small trees are drawn whole. Of a large one the taken path is drawn and what branches off is folded up;
// a click unfolds it. So the drawing stays small however large the tree is.

import { byId, svg } from "../../web/dom.js";
import { counted, percent, shownApart } from "../../web/numbers.js";
import { formula } from "./laws.js";
import { LEAF } from "./model.js";

const WHOLE_TREE_NODES = 31;
const MOST_LEVELS = 40;
const ROW = 25;
const LEVEL = [28, 34]; // width of a level, at least and at most
const LABEL = 260; // room for the text of the deepest nodes
const CHARACTER = 7.5; // its width, roughly: to measure the text would make the browser lay out the page every time
const MOST_HEIGHT = 860; // beyond that the drawing scrolls

export class TreePanel {
  constructor(page) {
    this.page = page;
    this.unfolded = new Set();
    this.leafCounts = new Map();
    this.room = byId("tree").clientWidth;
    new ResizeObserver(([entry]) => (this.room = entry.contentRect.width)).observe(byId("tree"));
    byId("tree").style.maxHeight = `${MOST_HEIGHT}px`;
  }

  update(model, fact) {
    const root = model.roots[fact.expert];
    const end = model.roots[fact.expert + 1] ?? model.feature.length;
    if (this.model !== model || this.root !== root) this.unfolded.clear();
    Object.assign(this, { model, root, end, fact });
    const whole = end - root <= WHOLE_TREE_NODES;
    const onPath = new Set(fact.path);
    // a path longer than the drawing is shown from its last levels
    const skipped = Math.max(0, fact.path.length - 1 - MOST_LEVELS);
    const rows = [];
    const visit = (node, depth, parent) => {
      const isLeaf = model.feature[node] === LEAF;
      const open = !isLeaf && (whole || onPath.has(node) || this.unfolded.has(node));
      const entry = { node, depth, parent, isLeaf, open, lit: onPath.has(node) };
      if (open) visit(model.left[node], depth + 1, entry);
      entry.row = rows.length;
      rows.push(entry);
      if (open) visit(model.right[node], depth + 1, entry);
    };
    visit(fact.path[skipped], 0, null);
    this.draw(rows);
    const size = `${counted((end - root + 1) / 2, "leaf", "leaves")}`;
    const folded = rows.some((entry) => !entry.isLeaf && !entry.open);
    byId("tree-title").textContent = model.nExperts > 1 ? `Tree of expert ${fact.expert}` : "The tree";
    byId("tree-note").textContent =
      `${size}; ${counted(fact.path.length - 1, "test")} on the taken path.` +
      (skipped ? ` The first ${skipped} tests are left out.` : "") +
      (folded ? " Branches off the path are folded up: click one, or press Enter on it, to unfold it." : "");
  }

  draw(rows) {
    const lines = [];
    const nodes = [];
    const depth = Math.max(1, ...rows.map((entry) => entry.depth));
    const level = Math.min(LEVEL[1], Math.max(LEVEL[0], (this.room - LABEL) / depth));
    const at = (entry) => [10 + entry.depth * level, 16 + entry.row * ROW];
    // the taken path last, on top of the others
    for (const entry of [...rows].sort((a, b) => a.lit - b.lit)) {
      const [x, y] = at(entry);
      if (entry.parent) {
        const [px, py] = at(entry.parent);
        const lit = entry.lit && entry.parent.lit;
        const bend = y < py ? 6 : -6;
        const elbow = `M${px} ${py}V${y + bend}Q${px} ${y} ${px + 6} ${y}H${x - 7}`;
        lines.push(svg("path", { class: lit ? "branch lit" : "branch", d: elbow }));
        lines.push(svg("text", { class: lit ? "side lit" : "side", x: px + 8, y: y - 4 }, y < py ? "yes" : "no"));
      }
    }
    for (const entry of rows) nodes.push(this.node(entry, ...at(entry)));
    const told = { role: "group", "aria-label": "Decision tree; the taken path is marked" };
    const ends = nodes.map((node, i) => at(rows[i])[0] + CHARACTER * node.querySelector("text").textContent.length);
    const width = Math.max(...ends) + 70; // the bar of a folded branch comes before its text
    const height = 16 + rows.length * ROW;
    const drawing = svg("svg", { ...told, width, height }, ...lines, ...nodes);
    const focused = document.activeElement?.dataset?.node;
    byId("tree").replaceChildren(drawing);
    if (focused) byId("tree").querySelector(`[data-node="${focused}"]`)?.focus();
    const leaf = rows.find((entry) => entry.lit && entry.isLeaf);
    if (leaf && height > MOST_HEIGHT) this.scrollTo(at(leaf)[1]);
  }

  /** Keep the leaf that answers in sight without moving the page. */
  scrollTo(y) {
    const box = byId("tree");
    if (y < box.scrollTop + ROW || y > box.scrollTop + box.clientHeight - ROW) box.scrollTop = y - box.clientHeight / 2;
  }

  node(entry, x, y) {
    const { page, model } = this;
    const lit = entry.lit ? " lit" : "";
    if (entry.isLeaf && page.outputs) {
      const fill = page.palette.solid(model.roots.indexOf(this.root));
      const dot = svg("circle", { class: `leaf${lit}`, cx: x, cy: y, r: 7, fill });
      const law = formula(page, model, entry.node, page.output);
      const short = law.length > 64 ? `${law.slice(0, 63)}…` : law;
      const text = svg("text", { class: `answer-label${lit}`, x: x + 13, y: y + 4 }, short);
      return svg("g", {}, dot, text, svg("title", {}, law));
    }
    if (entry.isLeaf) {
      const answer = model.nodeClass[entry.node];
      const probability = model.value[entry.node * model.nClasses + answer];
      const dot = svg("circle", { class: `leaf${lit}`, cx: x, cy: y, r: 7, fill: page.palette.solid(answer) });
      const text = svg("text", { class: `answer-label${lit}`, x: x + 13, y: y + 4 }, page.classes[answer]);
      text.append(svg("tspan", { class: "faint", dx: 6 }, percent(probability)));
      return svg("g", {}, dot, text);
    }
    if (entry.open) {
      const feature = page.features[model.feature[entry.node]];
      const [value, limit] = shownApart(page.x[model.feature[entry.node]], model.threshold[entry.node]);
      const plain = feature.choice; // a category, yes where the input is of another one
      const test = plain ? `${plain[0]} is not ${plain[1]}` : `${feature.name} ≤ ${limit}`;
      const text = svg("text", { class: `test${lit}`, x: x + 11, y: y + 4 }, test);
      if (entry.lit && !plain) text.append(svg("tspan", { class: "faint", dx: 6 }, `is ${value}`));
      const mark = svg("circle", { class: `inner${lit}`, cx: x, cy: y, r: 4.5 });
      const foldable = this.unfolded.has(entry.node) && !entry.lit;
      return svg("g", foldable ? this.button(entry.node, `Fold up: ${feature.name}`) : {}, mark, text);
    }
    return this.folded(entry.node, x, y);
  }

  /** A folded branch: how many leaves it has, and their answers as parts of a bar. */
  folded(node, x, y) {
    const { page, model } = this;
    const counts = this.countLeaves(node);
    const total = counts.reduce((sum, count) => sum + count, 0);
    const width = 46;
    const parts = [];
    let left = x + 11;
    counts.forEach((count, c) => {
      const length = (width * count) / total;
      const fill = page.palette.solid(c);
      if (count) parts.push(svg("rect", { x: left, y: y - 5, width: length, height: 10, fill }));
      left += length;
    });
    const mark = svg("path", { class: "fold", d: `M${x - 5} ${y - 6}L${x + 6} ${y}L${x - 5} ${y + 6}Z` });
    const text = svg("text", { class: "faint", x: x + 11 + width + 8, y: y + 4 }, `${total} leaves`);
    const told = counts.map((count, c) => (count ? `${count} ${page.classes[c] ?? "laws"}` : "")).filter(Boolean).join(", ");
    return svg("g", this.button(node, `Unfold ${total} leaves: ${told}`), svg("title", {}, told), mark, ...parts, text);
  }

  button(node, label) {
    const toggle = () => {
      if (!this.unfolded.delete(node)) this.unfolded.add(node);
      this.update(this.model, this.fact);
    };
    const onkeydown = (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      toggle();
    };
    const told = { class: "foldable", role: "button", tabindex: 0, "aria-label": label };
    return { ...told, "data-node": node, onclick: toggle, onkeydown };
  }

  /** Leaves per class below a node, counted for a whole tree at once and kept. */
  countLeaves(node) {
    const { model, root, end } = this;
    let counts = this.leafCounts.get(model)?.get(root);
    if (!counts) {
      counts = new Int32Array((end - root) * model.nClasses);
      for (let i = end - 1; i >= root; i -= 1) {
        const at = (i - root) * model.nClasses;
        if (model.feature[i] === LEAF) counts[at + model.nodeClass[i]] += 1;
        else {
          for (let c = 0; c < model.nClasses; c += 1) {
            const of = (child) => counts[(child - root) * model.nClasses + c];
            counts[at + c] = of(model.left[i]) + of(model.right[i]);
          }
        }
      }
      if (!this.leafCounts.has(model)) this.leafCounts.set(model, new Map());
      this.leafCounts.get(model).set(root, counts);
    }
    const at = (node - root) * model.nClasses;
    return Array.from(counts.subarray(at, at + model.nClasses));
  }
}
