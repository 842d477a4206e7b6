"""What the data of a task say, in sentences that are true whatever they are."""

from __future__ import annotations

from collections.abc import Sequence

from moet.study.outcome import Outcome
from moet.study.pareto import FAMILIES
from moet.study.report.contents import TaskReport

SAME = 5e-5
"""Coverages closer than this look the same with four decimals."""


def findings(report: TaskReport) -> list[str]:
    """Sentences about one task, the most important first.

    Examples
    --------
    >>> from moet.study import outcomes
    >>> from moet.study.report import findings, task_reports
    >>> found = outcomes("runs/cartpole-quick")  # doctest: +SKIP
    >>> findings(task_reports(found)[0])  # doctest: +SKIP
    """
    sentences = [_front(report), *_coverage(report), _best(report), _change(report), *_saturation(report)]
    return [*sentences, *_verified(report)]


def verdict(reports: Sequence[TaskReport]) -> str:
    """One sentence over all tasks that have both trees and mixtures.

    Examples
    --------
    >>> from moet.study import outcomes
    >>> from moet.study.report import task_reports, verdict
    >>> found = outcomes("runs/cartpole-quick")  # doctest: +SKIP
    >>> verdict(task_reports(found))  # doctest: +SKIP
    """
    both = [report for report in reports if {"VIPER", "mixtures"} <= report.fronts.coverage.keys()]
    if not both:
        return "No task has both VIPER trees and mixtures, so nothing can be compared."
    on_front = sum(any(report.outcomes[k].family != "VIPER" for k in report.fronts.after) for report in both)
    ahead, level = (sum(_standing(report) == standing for report in both) for standing in (1, 0))
    less = len(both) - ahead - level
    return (
        f"On fresh episodes a mixture is on the global front of {on_front} of {_count(len(both), 'task')}. The fronts "
        f"of mixtures cover more than that of trees on {ahead}, as much on {level}, less on {less}."
    )


def _front(report: TaskReport) -> str:
    members = [report.outcomes[k].family for k in report.fronts.after]
    shares = [f"{members.count(family)} {family}" for family in FAMILIES if family in members]
    absent = [family for family in FAMILIES if family not in report.fronts.families]
    note = f" ({_and(absent)} not tried)" if absent else ""
    return f"On fresh episodes the global front holds {_count(len(members), 'model')}: {_and(shares)}{note}."


def _standing(report: TaskReport) -> int:
    """1 if mixtures cover more than trees, −1 if less, 0 if about the same."""
    gain = report.fronts.coverage["mixtures"] - report.fronts.coverage["VIPER"]
    return 0 if abs(gain) < SAME else 1 if gain > 0 else -1


def _coverage(report: TaskReport) -> list[str]:
    coverage = report.fronts.coverage
    if not {"VIPER", "mixtures"} <= coverage.keys():
        return []
    judgement = {1: "the mixtures are ahead", 0: "they are level", -1: "VIPER is ahead"}[_standing(report)]
    return [
        f"Of the rectangle between the worst and the best values MoËT and MoËT_h together cover "
        f"{coverage['mixtures']:.4f}, VIPER {coverage['VIPER']:.4f}: {judgement}."
    ]


def _best(report: TaskReport) -> str:
    """Chosen before, read after: the best of many on fresh episodes would be the luckiest of them as well."""
    richest = max(report.outcomes, key=lambda o: (o.before.reward, o.before.fidelity, -o.parameters))
    truest = max(report.outcomes, key=lambda o: (o.before.fidelity, o.before.reward, -o.parameters))
    low, high = richest.after.interval
    teacher = richest.teacher_reward
    relation = "above" if teacher < low else "below" if teacher > high else "within noise of"
    return (
        f"The model chosen for its reward, {_name(richest)}, comes to {richest.after.reward:.2f} "
        f"({low:.2f} … {high:.2f}), {relation} its teacher's {teacher:.2f}; the one chosen for its fidelity, "
        f"{'the same' if truest is richest else _name(truest)}, to {truest.after.fidelity:.4f}."
    )


def _change(report: TaskReport) -> str:
    before = report.fronts.before
    stayed = sum(k in report.fronts.after for k in before)
    members = [report.outcomes[k] for k in before]
    reward = sum(o.after.reward - o.before.reward for o in members) / len(members)
    fidelity = sum(o.after.fidelity - o.before.fidelity for o in members) / len(members)
    return (
        f"Of {_count(len(before), 'model')} on the global front before re-evaluation {stayed} stayed on it; on average "
        f"their reward changed by {reward:+.2f} and their fidelity by {fidelity:+.4f}."
    )


def _saturation(report: TaskReport) -> list[str]:
    found = report.saturation
    if found is None:
        return []
    if len(found.depths) == 1:
        return [f"VIPER was tried with depth {found.depths[0]} only, so nothing can be said about its saturation."]
    deepest = found.depths[-1]
    parts = [
        f"{name} at depth {depth}" if depth is not None else f"{name} not up to depth {deepest}"
        for name, depth in (("reward", found.reward_depth), ("fidelity", found.fidelity_depth))
    ]
    single = max(level.runs for level in found.reward) == 1
    note = " (one run per depth: noise is not known)" if single else ""
    return [f"VIPER saturates in {parts[0]}, in {parts[1]}{note}."]


def _verified(report: TaskReport) -> list[str]:
    answers = [o.verification for o in report.outcomes if o.verification is not None]
    if not answers:
        return []
    verdicts = [str(answer["verdict"]) for answer in answers]
    seconds = sorted(float(answer["seconds"]) for answer in answers)
    counts = [f"{verdicts.count(verdict)} {verdict.lower()}" for verdict in dict.fromkeys(verdicts)]
    questions = _and(list(dict.fromkeys(str(answer["question"]) for answer in answers)))
    return [
        f"Asked of {_count(len(answers), 'model')} whether {questions}, the prover took {seconds[0]:.3g} to "
        f"{seconds[-1]:.3g} s: {_and(counts)}."
    ]


def _name(outcome: Outcome) -> str:
    training = f"{outcome.training}, " if outcome.training not in ("", "default") else ""
    return f"{outcome.family} {outcome.configuration} ({training}seed {outcome.seed})"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _and(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
