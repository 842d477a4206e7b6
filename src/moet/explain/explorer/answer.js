// The answer itself, with the probabilities behind it.

function updateAnswer(page) {
  byId("answers").replaceChildren(
    ...page.models.map((model, i) => {
      const fact = page.facts[i];
      const order = Array.from(fact.probabilities.keys()).sort((a, b) => fact.probabilities[b] - fact.probabilities[a]);
      const role = model.isHard ? "answered by" : "vote led by";
      const by = model.nExperts === 1 ? "decision tree" : `${role} expert ${fact.expert}`;
      return html(
        "div",
        { class: "answer" },
        page.models.length > 1 ? html("div", { class: "note" }, model.name) : null,
        html("div", { class: "verdict", id: `verdict-${i}` }, classChip(page, fact.answer)),
        html("div", { class: "note" }, by),
        html(
          "table",
          {},
          html(
            "tbody",
            {},
            ...order.slice(0, 6).map((c) =>
              html(
                "tr",
                {},
                html("th", { scope: "row" }, page.classes[c]),
                html("td", { class: "wide" }, bar(fact.probabilities[c], page.palette.solid(c))),
                html("td", { class: "number" }, percent(fact.probabilities[c])),
              ),
            ),
          ),
        ),
      );
    }),
  );
  const [first, second] = page.facts;
  byId("agreement").hidden = !second;
  if (second) {
    const agree = first.answer === second.answer;
    byId("agreement").textContent = agree ? "The models agree here." : "The models disagree here.";
    byId("agreement").classList.toggle("disagree", !agree);
  }
  const meaning = (model) => (model.isHard ? "the classes of the training rows in the leaf" : "the vote");
  const meanings = new Set(page.models.map(meaning));
  byId("answer-note").textContent = `Probabilities: ${[...meanings].join("; ")}.`;
}
