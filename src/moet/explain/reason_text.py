"""The reasons for one answer, told to a person."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from moet.explain.columns import Columns
from moet.explain.law_reasons import Law, WhyLaw
from moet.explain.reasons import Check, Opinion, Reasons, Why
from moet.explain.text import INDENT, number, probability
from moet.model.schema import Column, Schema
from moet.model.text import count, printable, said

DIGITS = 4
MOST_PULLS = 12
"""Of more features, those that pull least are counted, not listed."""

SMALLEST_WEIGHT = 0.005
"""Experts with less weight in a vote are counted, not listed."""


def describe(why: Why) -> str:
    """Reasons as several lines, without a line break at the end."""
    chosen = _even_vote(why) if _is_even(why) else [*_gate(why), *_votes(why), *_path(why, why.opinions[0])]
    return "\n".join([_headline(why), *chosen, *_closest(why)])


def _is_even(why: Why) -> bool:
    """Whether many experts have the same weight, so that neither gate nor any one of them says much."""
    weights = {opinion.weight for opinion in why.opinions}
    return why.prediction == "soft" and len(weights) == 1 and weights.pop() < SMALLEST_WEIGHT


def _even_vote(why: Why) -> Iterator[str]:
    """For which answer how many experts of equal weight are, and by how much."""
    yield ""
    yield "gate: all experts have the same weight"
    yield ""
    yield "votes:"
    rows = []
    for c, label in enumerate(why.classes):
        own = [one for one in why.opinions if one.probabilities.index(max(one.probabilities)) == c]
        mean = math.fsum(one.probabilities[c] for one in why.opinions) / len(why.opinions)
        rows.append([printable(str(label)), str(len(own)), probability(mean)])
    yield from _table(["", "experts for it", "mean vote"], rows)


def describe_law(why: WhyLaw) -> str:
    """Reasons for numbers as several lines, without a line break at the end."""
    outputs = ", ".join(f"{law.output} = {number(law.clipped, DIGITS)}" for law in why.laws)
    headline = outputs if why.contest is None else f"{outputs}, answered by expert {why.expert} alone"
    path = _tests(why, why.expert, why.path) if why.path else ()
    return "\n".join([headline, *_gate(why), *path, *(line for law in why.laws for line in _law(why, law))])


def _law(why: WhyLaw, law: Law) -> Iterator[str]:
    """Where a sum begins, what each feature adds, largest first if there are many, and what the bounds cut off."""
    entries = _terms(why, law) if why.schema is None else _terms_by_column(why, law, why.schema)
    order = sorted(range(len(entries)), key=lambda k: -abs(entries[k][0]))
    rows = [["(constant)", "", "", _signed(law.value)]]
    rows += [[*entries[k][1], _signed(entries[k][0])] for k in sorted(order[:MOST_PULLS])]
    if others := order[MOST_PULLS:]:
        rows.append([f"({len(others)} more)", "", "", _signed(math.fsum(entries[k][0] for k in others))])
    yield ""
    yield f"law of {law.output}:"
    yield from _table(["", "value", "slope", "adds"], rows)
    clipping = "" if law.clipped == law.unclipped else f", clipped to {number(law.clipped, DIGITS)}"
    yield f"{INDENT}sum: {number(law.unclipped, DIGITS)}{clipping}"


def _terms(why: WhyLaw, law: Law) -> list[tuple[float, list[str]]]:
    """What features with a slope add; their names, values and slopes."""
    return [
        (law.terms[k], [why.features[k], number(why.x[k], DIGITS), number(slope, DIGITS)])
        for k, slope in enumerate(law.slopes)
        if slope
    ]


def _terms_by_column(why: WhyLaw, law: Law, schema: Schema) -> list[tuple[float, list[str]]]:
    """The same by column of the user's table: a column of categories adds what the row's own one adds."""
    row, entries = schema.row(why.x), []
    for column, features in schema.places:
        if any(law.slopes[k] for k in features if law.slopes):
            slope = "" if column.labels else number(law.slopes[features[0]], DIGITS)
            adds = math.fsum(law.terms[k] for k in features)
            entries.append((adds, [printable(column.name), _cell(row[column.name]), slope]))
    return entries


def _headline(why: Why) -> str:
    answer = printable(str(why.answer))
    if why.prediction == "soft" and why.contest is not None:
        others = sorted(zip(why.probabilities, why.classes, strict=True), key=lambda pair: -pair[0])
        listed = ", ".join(f"{printable(str(c))} {probability(p)}" for p, c in others if p > 0)
        return f"{answer}, by a vote of {len(why.opinions)} experts: {listed}"
    return answer if why.contest is None else f"{answer}, answered by expert {why.contest.winner} alone"


def _gate(why: Reasons) -> Iterator[str]:
    contest = why.contest
    if contest is None:
        return
    lead = f"by {number(contest.margin, DIGITS)}" if contest.margin else "by being the first: their scores are equal"
    pulls = contest.pulls
    if why.schema is not None:
        yield ""
        yield f"gate: expert {contest.winner} beats expert {contest.rival} {lead}"
        yield from _gate_by_column(why, why.schema)
        return
    order = sorted(range(len(pulls)), key=lambda k: -abs(pulls[k]))
    listed, others = sorted(order[:MOST_PULLS]), order[MOST_PULLS:]
    rows = [[why.features[k], number(why.x[k], DIGITS), _signed(pulls[k]), _tie(contest.ties_at[k])] for k in listed]
    if others:
        rows.append([f"({len(others)} more)", "", _signed(math.fsum(pulls[k] for k in others)), ""])
    rows.append(["(constant)", "", _signed(contest.bias), ""])
    yield ""
    yield f"gate: expert {contest.winner} beats expert {contest.rival} {lead}"
    yield from _table(["", "value", f"pulls for {contest.winner}", "ties at"], rows)


def _gate_by_column(why: Reasons, schema: Schema) -> Iterator[str]:
    """What the columns of the user's table pull, a column of categories as one."""
    assert why.contest is not None
    contest, row = why.contest, schema.row(why.x)
    rows = []
    for column, features in schema.places:
        pull = math.fsum(contest.pulls[k] for k in features)
        tie = "" if column.labels else _possible_tie(contest.ties_at[features[0]], column)
        rows.append((pull, [printable(column.name), _cell(row[column.name]), _signed(pull), tie]))
    order = sorted(rows, key=lambda entry: -abs(entry[0]))
    listed = [line for _, line in order[:MOST_PULLS]]
    if others := order[MOST_PULLS:]:
        listed.append([f"({len(others)} more)", "", _signed(math.fsum(pull for pull, _ in others)), ""])
    listed.append(["(constant)", "", _signed(contest.bias), ""])
    yield from _table(["", "value", f"pulls for {contest.winner}", "ties at"], listed)


def _possible_tie(value: float | None, column: Column) -> str:
    """Where the experts tie, if that is within the range of the column: Age = -19 is nobody's."""
    if value is not None and (
        column.low is not None and column.high is not None and not column.low <= value <= column.high
    ):
        return ""
    return _tie(value)


def _cell(value: Any) -> str:
    return number(value, DIGITS) if isinstance(value, int | float) else said(str(value))


def _tie(value: float | None) -> str:
    return "-" if value is None else number(value, DIGITS)


def _votes(why: Why) -> Iterator[str]:
    if why.prediction == "hard" or why.contest is None:
        return
    labels = [printable(str(label)) for label in why.classes]
    heard = [pair for pair in zip(why.opinions, why.shares(), strict=True) if pair[0].weight >= SMALLEST_WEIGHT]
    yield ""
    yield "votes:"
    yield from _table(
        ["", "weight", *labels, f"share of {printable(str(why.answer))}"],
        [
            [f"expert {opinion.expert}", *map(probability, (opinion.weight, *opinion.probabilities, share))]
            for opinion, share in heard
        ],
    )
    if unheard := why.opinions[len(heard) :]:
        weight = number(math.fsum(opinion.weight for opinion in unheard), 2)
        yield f"{INDENT}{count(len(unheard), 'more expert')} with {weight} together"


def _path(why: Why, opinion: Opinion) -> Iterator[str]:
    best = max(range(len(why.classes)), key=lambda c: opinion.probabilities[c])
    yield from _tests(why, opinion.expert, opinion.path)
    yield f"{INDENT}leaf: {printable(str(why.classes[best]))} ({probability(opinion.probabilities[best])})"


def _tests(why: Reasons, expert: int, path: Sequence[Check]) -> Iterator[str]:
    yield ""
    yield "path:" if why.contest is None else f"path in expert {expert}:"
    if path and why.schema is not None:
        columns, row = Columns(why.schema), why.schema.row(why.x)
        yield from (f"{INDENT}{line}" for line in _said(why, columns, row, path))
    elif path:
        yield from _table(["", "value", "", "flips after a change of"], [_check(why, check) for check in path])


def _said(why: Reasons, columns: Columns, row: dict[str, Any], path: Sequence[Check]) -> Iterator[str]:
    """Tests in the columns of the user's table, each with the row's own value."""
    assert why.schema is not None
    names = [column.name for column, features in why.schema.places for _ in features]
    for check in path:
        words = columns.tests(check.feature, check.threshold)
        sign = "<=" if check.passed else ">"
        text = (
            words[not check.passed]
            if words
            else f"{why.features[check.feature]} {sign} {number(check.threshold, DIGITS)}"
        )
        value = row[names[check.feature]]
        yield text if words and text.endswith(f" is {said(str(value))}") else f"{text} (it is {_cell(value)})"


def _check(why: Reasons, check: Check) -> list[str]:
    sign = "<=" if check.passed else ">"
    change = check.flips_at - check.value
    return [
        why.features[check.feature],
        number(check.value, DIGITS),
        f"{sign} {number(check.threshold, DIGITS)}",
        _signed(change),
    ]


def _closest(why: Why) -> Iterator[str]:
    from moet.verify.result import Unknown

    found = why.closest
    yield ""
    if isinstance(found, Unknown):
        yield f"nearest other answer: unknown ({found.reason})"
    elif found.point is None:
        yield "nearest other answer: there is none"
    else:
        unit = " (changes as shares of their ranges)" if why.norm == "share" else ""
        distance = number(found.point_distance, DIGITS)
        yield f"nearest other answer: {printable(str(found.answer))}, {distance} away{unit}"
        if why.schema is not None:
            yield from _moved_columns(why, why.schema, found.point.tolist())
            return
        changes = zip(why.features, why.x, found.point.tolist(), strict=True)
        noise = 1e-9 * found.point_distance  # of moving the point to a float64 input with that answer
        yield from _table(
            ["", "from", "to", "change"],
            [
                [name, number(before, DIGITS), number(after, DIGITS), _signed(after - before)]
                for name, before, after in changes
                if abs(after - before) > noise
            ],
        )


def _moved_columns(why: Why, schema: Schema, point: Sequence[float]) -> Iterator[str]:
    """Columns that change, from what to what, and by which share of their range."""
    before, after = schema.row(why.x), schema.row(point)
    rows = []
    for column, features in schema.places:
        name = column.name
        if before[name] != after[name]:
            change = (
                "100 %" if column.kind == "category" else _of_range(point[features[0]] - why.x[features[0]], column)
            )
            rows.append([printable(name), _cell(before[name]), _cell(after[name]), change])
    yield from _table(["", "from", "to", "of its range"], rows)


def _of_range(change: float, column: Column) -> str:
    low, high = column.reach
    return f"{'+' if change > 0 else ''}{100 * change / (high - low):.3g} %" if high > low else _signed(change)


def _signed(value: float) -> str:
    return "0" if value == 0 else ("+" if value > 0 else "") + number(value, DIGITS)


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Columns aligned on the right, but for the first."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    for row in (header, *rows):
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        yield (INDENT + "  ".join(cells)).rstrip()
