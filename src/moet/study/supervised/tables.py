"""The benchmark as Markdown: a table per data set and a sentence of what it says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from moet.study.supervised.comparison import Row, chosen_models
from moet.study.supervised.datasets import SOURCES
from moet.study.supervised.models import Kind, Model
from moet.study.supervised.protocol import METRICS
from moet.study.supervised.statistics import Mean, mean_with_interval, paired_p_value

OURS = ("moet", "moet_h")
TITLES = {"f1": "F1", "accuracy": "accuracy"}

FEWEST_SPLITS = 3
"""A lead on fewer common splits says nothing."""

ENOUGH_SPLITS = 10
"""A mean over fewer splits is not printed in bold, unless MoËT has no more."""

Scores = dict[str, dict[int, float]]
"""By model, then by seed."""


def scores(rows: Sequence[Row], dataset: str, metric: str) -> Scores:
    """Test results of the models tuned for a metric."""
    found: Scores = {}
    for row in rows:
        if row["dataset"] == dataset:
            found.setdefault(row["model"], {})[row["seed"]] = row["tuned_for"][metric][metric]
    return found


def markdown(rows: Sequence[Row]) -> str:
    """All tables."""
    names = [name for name in SOURCES if any(row["dataset"] == name for row in rows)]
    return "\n\n".join(_section(rows, name) for name in names) + "\n"


class Comparison(NamedTuple):
    """MoËT against its nearest rival, on the splits that both were tested on."""

    rival: str
    lead: float
    p_value: float
    n_splits: int


def comparison(found: Scores, *, kind: Kind) -> Comparison | None:
    """Compare MoËT with the best other model of a kind: the one over which it leads least."""
    models, ours = chosen_models(), found["moet"]
    results = []
    for name, theirs in found.items():
        common = sorted(ours.keys() & theirs.keys())
        if name not in OURS and models[name].kind == kind and len(common) >= FEWEST_SPLITS:
            pair = [[values[seed] for seed in common] for values in (ours, theirs)]
            lead = (sum(pair[0]) - sum(pair[1])) / len(common)
            results.append(Comparison(name, lead, paired_p_value(*pair), len(common)))
    return min(results, key=lambda result: result.lead, default=None)


def _section(rows: Sequence[Row], dataset: str) -> str:
    by_metric = {metric: scores(rows, dataset, metric) for metric in METRICS}
    models = {name: model for name, model in chosen_models().items() if name in by_metric["f1"]}
    means = {m: {name: mean_with_interval(list(by_metric[m][name].values())) for name in models} for m in METRICS}
    order = sorted(models, key=lambda name: (models[name].kind == "reference", -means["f1"][name].value))
    lines = [
        f"### {SOURCES[dataset].title}",
        "",
        "| model | F1 | accuracy | leaves | splits |",
        "|---|---|---|---|---|",
    ]
    least = min(ENOUGH_SPLITS, len(by_metric["f1"].get("moet", ())))
    rankable = [name for name in order if models[name].kind == "verifiable" and len(by_metric["f1"][name]) >= least]
    best = {m: max((means[m][name].value for name in rankable), default=None) for m in METRICS}
    for name in order:
        cells = [_cell(means[m][name], bold=name in rankable and means[m][name].value == best[m]) for m in METRICS]
        n_splits = len(by_metric["f1"][name])
        lines.append(f"| {_title(models[name])} | {' | '.join(cells)} | {_leaves(rows, dataset, name)} | {n_splits} |")
    lines += ["", *(_verdict(by_metric[metric], metric, models) for metric in METRICS if "moet" in models)]
    return "\n".join(lines)


def _title(model: Model) -> str:
    return f"{model.name} (reference)" if model.kind == "reference" else model.name


def _cell(mean: Mean, *, bold: bool) -> str:
    text = f"{mean.value:.3f}" if math.isnan(mean.half_width) else f"{mean.value:.3f} ± {mean.half_width:.3f}"
    return f"**{text}**" if bold else text


def _leaves(rows: Sequence[Row], dataset: str, model: str) -> str:
    sizes = [
        row["tuned_for"]["accuracy"]["size"]["leaves"]
        for row in rows
        if row["dataset"] == dataset and row["model"] == model and row["tuned_for"]["accuracy"]["size"]
    ]
    return f"{sorted(sizes)[len(sizes) // 2]}" if sizes else ""


def _verdict(found: Scores, metric: str, models: dict[str, Model]) -> str:
    parts = []
    kinds: dict[Kind, str] = {"verifiable": "the best other verifiable model", "reference": "the best reference"}
    for kind, what in kinds.items():
        if result := comparison(found, kind=kind):
            chance = "" if math.isnan(result.p_value) else f", p = {result.p_value:.2g}"
            name = models[result.rival].name
            parts.append(f"{result.lead:+.3f} against {name}, {what} ({result.n_splits} common splits{chance})")
    return f"- MoËT by {TITLES[metric]}: " + ("; ".join(parts) or "too few splits to compare") + "."
