"""What notebooks show: small tables in plain HTML that load nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from typing import TYPE_CHECKING, Any

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


def text_html(text: str) -> str:
    """Lines of text in columns as they are."""
    return f"<pre>{escape(text)}</pre>"


def mixture_html(mixture: Mixture) -> str:
    """Size of a model, and its rules if they are few."""
    from moet.explain.rule_lists import rules
    from moet.model.text import summary

    if mixture.size.leaves <= MOST_LEAVES:
        return text_html(rules(mixture))
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
    figures |= {
        name: getattr(verdict, name)
        for name in ("reason", "distance", "cost")
        if getattr(verdict, name, None) is not None
    }
    figures |= _shown_by(verdict)
    trace = getattr(verdict, "trace", None)
    if trace is not None:
        figures["run"] = f"{len(trace.actions)} steps"
    if verdict.caveats:
        figures["note"] = " ".join(verdict.caveats)
    figures |= {name.replace("_", " "): f"{value:.4g}" for name, value in verdict.effort.items()}
    return table(type(verdict).__name__, figures)


def _shown_by(verdict: Verdict) -> dict[str, object]:
    """The change, the rows or the input that a verdict comes with; of two rows both values where they differ."""
    if changes := getattr(verdict, "changes", None):
        return {name: f"{_cell(old)} → {_cell(new)}" for name, (old, new) in changes.items()}
    found: dict[str, object] = {}
    rows, point, answers = (getattr(verdict, name, None) for name in ("rows", "point", "answers"))
    if rows:
        found = {name: _apart(row[name] for row in rows) for name in rows[0]}
    elif point is not None:
        found = {"point": ", ".join(map(_cell, point))}
    return found | ({"answer": _apart(answers)} if answers else {})


def _apart(values: Iterable[Any]) -> str:
    return " | ".join(dict.fromkeys(map(_cell, values)))


def _cell(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
