// What is written on a decision map: axes, names of regions, the input and its nearest flips.

import { svg } from "../../web/dom.js";
import { shown, ticks } from "../../web/numbers.js";

export const MARGIN = { left: 66, right: 10, top: 8, bottom: 44 };

export class MapMarks {
  constructor(map) {
    this.map = map;
    this.overlay = svg("svg", { "aria-hidden": "true" });
  }

  /** Where a label below the map stands: in the middle, or at the right edge if it would be cut off there. */
  below(x, text) {
    const edge = MARGIN.left + this.map.width + MARGIN.right;
    const half = 3.5 * text.length; // no digit is wider than 7
    return x + half > edge ? { x: edge, "text-anchor": "end" } : { x, "text-anchor": "middle" };
  }

  /** Axes, labels of regions, and the input as a cross. */
  annotate() {
    const { map } = this;
    const { page, width, height } = map;
    const [horizontal, vertical] = page.axes;
    const bottom = MARGIN.top + height;
    const marks = [];
    for (const value of ticks(page.features[horizontal].low, page.features[horizontal].high, width / 80)) {
      const x = map.place(0, value);
      marks.push(svg("line", { class: "tick", x1: x, x2: x, y1: bottom, y2: bottom + 4 }));
      marks.push(svg("text", { class: "tick-label", ...this.below(x, shown(value, 6)), y: bottom + 16 }, shown(value, 6)));
    }
    for (const value of ticks(page.features[vertical].low, page.features[vertical].high, height / 60)) {
      const y = map.place(1, value);
      marks.push(svg("line", { class: "tick", x1: MARGIN.left - 4, x2: MARGIN.left, y1: y, y2: y }));
      const at = { class: "tick-label", x: MARGIN.left - 7, y: y + 4, "text-anchor": "end" };
      marks.push(svg("text", at, shown(value, 6)));
    }
    const centre = MARGIN.top + height / 2;
    const title = { class: "axis-label", "text-anchor": "middle" };
    marks.push(svg("text", { ...title, x: MARGIN.left + width / 2, y: bottom + 36 }, page.label(horizontal)));
    const turned = { ...title, x: 12, y: centre, transform: `rotate(-90 12 ${centre})` };
    marks.push(svg("text", turned, page.label(vertical)));
    this.labels = svg("g");
    this.cross = svg("g");
    this.overlay.replaceChildren(...marks, this.labels, this.cross);
    this.label();
    this.point([]);
  }

  /** Write the name of each class (or expert) where it has most room. */
  label() {
    const { page, width, height, experts, answers } = this.map;
    const step = 6;
    const columns = Math.floor(width / step);
    const rows = Math.floor(height / step);
    const byExpert = page.colourBy === "expert";
    if (page.outputs && !byExpert) return this.labels.replaceChildren(); // colours are numbers, not names
    const kinds = byExpert ? experts : answers;
    const kindAt = (r, c) => kinds[(r * step + 3) * width + c * step + 3];
    const roomiest = new Map(); // kind -> [side of the largest square inside, row, column]
    const room = new Int16Array((rows + 1) * (columns + 1)); // of the square that ends here
    for (let r = 0; r < rows; r += 1) {
      for (let c = 0; c < columns; c += 1) {
        const kind = kindAt(r, c);
        const alike = (up, left) => kindAt(r - up, c - left) === kind;
        const at = (r + 1) * (columns + 1) + c + 1;
        const grows = r > 0 && c > 0 && alike(1, 0) && alike(0, 1) && alike(1, 1);
        room[at] = grows ? 1 + Math.min(room[at - 1], room[at - columns - 1], room[at - columns - 2]) : 1;
        if (room[at] > (roomiest.get(kind)?.[0] ?? 4)) roomiest.set(kind, [room[at], r, c]);
      }
    }
    const names = [...roomiest].filter(([kind]) => kind >= 0).sort((a, b) => b[1][0] - a[1][0]).slice(0, 12);
    this.labels.replaceChildren(
      ...names.map(([kind, [side, r, c]]) => {
        const x = MARGIN.left + (c - side / 2 + 1) * step;
        const y = MARGIN.top + (r - side / 2 + 1) * step + 4;
        const name = byExpert ? `expert ${kind}` : page.classes[kind];
        const short = name.length > 18 ? `${name.slice(0, 17)}…` : name;
        return svg("text", { class: "region", x, y, "text-anchor": "middle" }, short);
      }),
    );
  }

  /** The input, and the nearest flips along the two axes. */
  point(flips) {
    const { map } = this;
    const { page } = map;
    const [x, y] = page.axes.map((feature, axis) => map.place(axis, page.x[feature]));
    const marks = [
      svg("line", { class: "cross", x1: x, x2: x, y1: MARGIN.top, y2: MARGIN.top + map.height }),
      svg("line", { class: "cross", x1: MARGIN.left, x2: MARGIN.left + map.width, y1: y, y2: y }),
    ];
    for (const flip of flips) {
      if (flip.choice) continue;
      const axis = page.axes.indexOf(flip.feature);
      const { low, high } = page.features[flip.feature];
      if (axis < 0 || flip.to === null || flip.to < low || flip.to > high) continue;
      const at = map.place(axis, flip.to);
      const [cx, cy] = axis === 0 ? [at, y] : [x, at];
      marks.push(svg("path", { class: "flip", d: `M${cx - 6} ${cy}l6 -6l6 6l-6 6z` }));
    }
    marks.push(svg("circle", { class: "input-ring", cx: x, cy: y, r: 8 }));
    marks.push(svg("circle", { class: "input", cx: x, cy: y, r: 5 }));
    this.cross.replaceChildren(...marks);
  }
}
