// A strip of answers below a control: what moving it would change.

import { html } from "../../web/dom.js";

export function newStrip() {
  return html("canvas", { class: "strip", height: 1, width: 1, "aria-hidden": "true" });
}
