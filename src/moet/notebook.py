"""What notebooks show: small tables in plain HTML that load nothing."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from moet.distill.evaluation import Evaluation
    from moet.distill.outcome import Distillation
    from moet.model.file import Model
    from moet.model.mixture import Mixture
    from moet.verify.result import Verdict

MOST_LEAVES = 40
"""Larger models are not written out."""


def table(title: str, figures: Mapping[str, object]) -> str:
    """Named values, one per row; everything is escaped."""
    rows = "".join(
        f"<tr><th style='text-align:left'>{escape(str(name))}</th><td style='text-align:left'>{escape(str(value))}"
        "</td></tr>"
        for name, value in figures.items()
    )
    return f"<table><caption>{escape(title)}</caption>{rows}</table>"


def mixture_html(mixture: Mixture) -> str:
    """Size of a model, and its rules if they are few."""
    from moet.explain.rule_lists import rules
    from moet.model.text import summary

    if mixture.size.leaves <= MOST_LEAVES:
        return f"<pre>{escape(rules(mixture))}</pre>"
    figures = {"features": ", ".join(mixture.feature_names), "classes": ", ".join(map(str, mixture.classes.tolist()))}
    return table(summary(mixture), figures)


def model_html(model: Model) -> str:
    """A model of either kind; of one that answers with numbers, its size and names."""
    from moet.model.mixture import Mixture

    if isinstance(model, Mixture):
        return mixture_html(model)
    return table(repr(model), {"features": ", ".join(model.feature_names), "outputs": ", ".join(model.outputs)})


def evaluation_html(found: Evaluation) -> str:
    """Reward and fidelity."""
    low, high = found.reward_interval
    figures: dict[str, object] = {
        "reward": f"{found.reward:.2f} (95 %: {low:.2f} to {high:.2f})",
        "episodes": len(found.returns),
    }
    if found.fidelity is not None:
        figures |= {"fidelity": f"{found.fidelity:.4f}", "teacher's reward": f"{found.teacher_reward:.2f}"}
    if found.size is not None:
        figures["leaves"] = found.size.leaves
    return table("evaluation", figures)


def distillation_html(run: Distillation) -> str:
    """How the policy that was kept did, and what it is."""
    from moet.model.file import model_or_none

    score = run.score
    figures = {
        "reward": f"{score.reward:.2f} ± {score.reward_error:.2f}",
        "fidelity": f"{score.fidelity:.4f}",
        "kept": f"student {run.selected} of {len(run.history)}",
        "states": len(run.data),
    }
    model = model_or_none(run.policy)
    return table("distillation", figures) + ("" if model is None else model_html(model))


def verdict_html(verdict: Verdict) -> str:
    """The verdict's kind, what is claimed, and what speaks for it."""
    figures: dict[str, object] = {}
    if verdict.claim is not None:
        figures |= {"claim": verdict.claim.partition("\n")[0], "checked": "yes" if verdict.checked else "no"}
    for name in ("reason", "point", "answers", "distance"):
        if (value := getattr(verdict, name, None)) is not None and str(value) != "()":
            figures[name] = value
    trace = getattr(verdict, "trace", None)
    if trace is not None:
        figures["run"] = f"{len(trace.actions)} steps"
    if verdict.caveats:
        figures["note"] = " ".join(verdict.caveats)
    figures |= {name.replace("_", " "): f"{value:.4g}" for name, value in verdict.effort.items()}
    return table(type(verdict).__name__, figures)
