// Draws the plots of every task of a report.

import { byId } from "../../web/dom.js";
import { drawFronts } from "./fronts.js";
import { hideTip } from "./models.js";
import { drawSaturation } from "./saturation.js";
import { drawVerification } from "./verification.js";

const { families, tasks } = JSON.parse(byId("content").textContent);
for (const task of tasks) {
  const section = byId(`task-${task.slug}`);
  drawFronts(section.querySelector(".fronts"), task, families);
  if (task.saturation) drawSaturation(section.querySelector(".saturation"), task.saturation);
  drawVerification(section.querySelector(".verification"), task.models);
}
byId("policy-close").addEventListener("click", () => byId("policy").close());
byId("policy").addEventListener("click", (event) => {
  if (event.target === byId("policy")) byId("policy").close(); // the backdrop
});
addEventListener("keydown", (event) => event.key === "Escape" && hideTip());
addEventListener("scroll", hideTip, { passive: true });
