// The maps of one or two models side by side: when they are drawn, and the pointer and keys on them. A coarse map is
// drawn at once and refined while nothing else happens, so that dragging never waits for it.

import { byId } from "../../web/dom.js";
import { shown } from "../../web/numbers.js";
import { DecisionMap, STEPS } from "./map.js";

const FRAME_BUDGET = 12; // milliseconds of refinement per frame

export class Maps {
  constructor(page) {
    this.page = page;
    this.maps = page.models.map((model) => new DecisionMap(page, model, page.models.length > 1 ? model.name : ""));
    this.held = null;
    const figures = this.maps.map((map) => map.figure);
    byId("maps").replaceChildren(...figures);
    byId("maps").classList.toggle("pair", figures.length > 1);
    for (const map of this.maps) this.listen(map);
    new ResizeObserver(() => this.resize()).observe(byId("maps"));
  }

  resize() {
    const width = this.maps[0].frame.clientWidth;
    if (!width || width === this.width) return;
    this.width = width;
    for (const map of this.maps) map.resize(width, Math.round(Math.min(560, Math.max(300, width * 0.82))));
    this.held = null;
    this.update();
  }

  listen(map) {
    const { page } = this;
    const follow = (event) => {
      const box = map.canvas.getBoundingClientRect();
      const clamp = (value, most) => Math.min(most - 1, Math.max(0, value));
      const i = clamp(event.clientX - box.left, map.width) - 0.5;
      const row = clamp(event.clientY - box.top, map.height) - 0.5;
      const [horizontal, vertical] = page.axes;
      page.move({
        [horizontal]: page.rounded(horizontal, map.across(i)),
        [vertical]: page.rounded(vertical, map.up(row)),
      });
    };
    map.frame.addEventListener("pointerdown", (event) => {
      map.frame.setPointerCapture(event.pointerId);
      map.frame.focus();
      follow(event);
      event.preventDefault();
    });
    map.frame.addEventListener("pointermove", (event) => event.buttons & 1 && follow(event));
    map.frame.tabIndex = 0;
    map.frame.setAttribute("role", "application");
    map.frame.setAttribute("aria-roledescription", "two-dimensional slider");
    map.frame.setAttribute("aria-describedby", "map-help");
    map.frame.addEventListener("keydown", (event) => {
      const direction = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowDown: [1, -1], ArrowUp: [1, 1] }[event.key];
      if (!direction || event.ctrlKey || event.altKey || event.metaKey) return;
      event.preventDefault();
      page.nudge(page.axes[direction[0]], direction[1] * (event.shiftKey ? 10 : 1));
    });
  }

  /** Draw what has changed: only the cross if just the two features of the map moved. */
  update() {
    if (!this.width) return;
    const { page } = this;
    const held = JSON.stringify([page.axes, page.output, Array.from(page.x).filter((_, k) => !page.axes.includes(k))]);
    const active = page.facts.map((fact) => fact.expert);
    const look = JSON.stringify([page.colourBy, page.showRows, page.palette.dark, active]);
    if (held !== this.held) {
      this.held = held;
      this.work = this.refine();
      this.work.next(); // the coarse pass
      if (!this.scheduled) this.schedule();
      for (const map of this.maps) map.marks.annotate();
    } else if (look !== this.look) {
      this.draw();
      for (const map of this.maps) map.marks.annotate();
    }
    this.look = look;
    this.maps.forEach((map, i) => {
      map.marks.point(i === page.shownModel ? page.flips : []);
      const [a, b] = page.axes;
      const where = `${page.label(a)} ${shown(page.x[a])}, ${page.label(b)} ${shown(page.x[b])}`;
      const answer = page.answerText(page.facts[i].answer);
      map.frame.setAttribute("aria-label", `Decision map of ${map.model.name}. ${where}: ${answer}`);
    });
  }

  schedule() {
    this.scheduled = true;
    requestAnimationFrame(() => {
      this.scheduled = false;
      if (!this.work.next().done) this.schedule();
    });
  }

  *refine() {
    const x = Float64Array.from(this.page.x);
    for (const step of STEPS) {
      let since = performance.now();
      for (const map of this.maps) {
        for (let row = 0; row < map.height; row += step) {
          map.askRow(row, step, x);
          if (step < STEPS[0] && performance.now() - since > FRAME_BUDGET) {
            yield;
            since = performance.now();
          }
        }
      }
      this.draw();
      if (step === 1) for (const map of this.maps) map.marks.label();
      yield;
    }
  }

  draw() {
    const [first, second] = this.maps;
    first.paint(second);
    second?.paint(first);
    if (second) this.page.sayDifference(first.differing);
  }
}
