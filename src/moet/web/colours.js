// Colours that people with any colour vision can tell apart: seven of Okabe and Ito, and four that are far from them
// for everybody. Regions are labelled besides, so that colour never carries the meaning alone.

import { isDark } from "./dom.js";

const SAFE = [
  "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#5b2fc0", "#7a3b10", "#c8ecd8", "#5f6670",
];

export function channels(hex) {
  return [1, 3, 5].map((start) => parseInt(hex.slice(start, start + 2), 16));
}

export function mixed(a, b, share) {
  return a.map((channel, i) => Math.round(channel * share + b[i] * (1 - share)));
}

/** Colour number `k` of as many as one likes: the safe ones, then the same ones lighter and darker in turn. */
export function colour(k) {
  const base = channels(SAFE[k % SAFE.length]);
  const turn = Math.floor(k / SAFE.length);
  if (turn === 0) return base;
  return mixed(base, turn % 2 ? [255, 255, 255] : [0, 0, 0], Math.max(0.35, 0.65 - 0.1 * Math.floor((turn - 1) / 2)));
}

/** The colours of the theme in use. */
export class Palette {
  constructor() {
    this.refresh();
  }

  refresh() {
    this.dark = isDark();
    this.paper = this.dark ? [22, 26, 33] : [255, 255, 255];
    this.ink = this.dark ? [255, 255, 255] : [16, 20, 28];
    this.strength = this.dark ? 0.72 : 0.62;
  }

  solid(k) {
    return `rgb(${colour(k).join(" ")})`;
  }

  /** Channels of a region of colour `k`; `certainty` from 0 to 1 makes it fade to paper. */
  region(k, certainty = 1) {
    return k < 0 ? mixed(this.ink, this.paper, 0.15) : mixed(colour(k), this.paper, this.strength * certainty);
  }
}

/** A pixel of an ImageData seen as 32-bit numbers, which is how it is written fastest. */
export function pixel([red, green, blue]) {
  return (255 << 24) | (blue << 16) | (green << 8) | red;
}
