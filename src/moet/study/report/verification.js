// How long proofs take, by the size of the model.

import { html } from "../../web/dom.js";
import { figure, frame, logAxis } from "./chart.js";
import { modelMark, roving, seconds, size } from "./models.js";

export function drawVerification(place, models) {
  const asked = models.filter((model) => model.verification);
  if (!asked.length) return;
  const time = (model) => Math.max(model.verification.seconds, 1e-6); // a clock may show nothing
  const plot = frame("Seconds of verification by size",
    logAxis("numbers in the model", asked.map((model) => model.numbers)), logAxis("seconds", asked.map(time)));
  const marks = asked.map((model) => {
    const { question, verdict } = model.verification;
    const words = `${model.name}\n${size(model)}\n${question}: ${verdict}, ${seconds(model)}`;
    return modelMark(model, plot.x(model.numbers), plot.y(time(model)), { kind: verdict === "Proved" ? " solid" : "", radius: 6, words });
  });
  plot.element.append(...marks);
  roving(marks);
  place.append(html("div", { class: "panels" }, figure("Verification", "filled: proved; both axes are logarithmic", plot)));
}
