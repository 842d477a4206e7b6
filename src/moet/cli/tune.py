"""``moet tune``: a policy in, one that earns more out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from moet.cli.agents import Workers
from moet.cli.choices import Env, Seed
from moet.cli.evaluate import evaluation_document, evaluation_report
from moet.cli.output import AsJson, check_writable, print_json, print_report, say
from moet.cli.sizes import Digits


def tune(
    policy: Annotated[Path, typer.Argument(help="Model file of the policy.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Model file to write, such as better.moet.json.")],
    env: Env = None,
    episodes: Annotated[int, typer.Option(min=1, help="Episodes to learn from, all candidates together.")] = 20_000,
    rollouts: Annotated[int, typer.Option(min=1, help="Episodes of each candidate in the end; half at first.")] = 8,
    tail: Annotated[
        float, typer.Option(min=0.001, max=1, help="Share of the episodes that count as the worst, half of the aim.")
    ] = 0.2,
    selection_episodes: Annotated[
        int,
        typer.Option(min=1, help="Episodes to select by; the best and the start meet on four times as many others."),
    ] = 100,
    digits: Digits = None,
    report_episodes: Annotated[
        int | None, typer.Option(min=1, help="Fresh episodes to evaluate start and result on; by default the task's.")
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="Folder to save each generation in and to go on from; by default beside the output, and removed."
        ),
    ] = None,
    seed: Seed = 0,
    workers: Workers = 1,
    as_json: AsJson = False,
) -> None:
    """Improve gate, thresholds and leaves of a policy by reward itself, and evaluate it on fresh episodes.

    Half of what counts is the mean reward, half the mean of the worst episodes. The result is never worse than the
    start on the last episodes for selection; the evaluation is on others.

    A run that was interrupted goes on where it stopped when the same command is given again.
    """
    check_writable(output)
    from moet import save
    from moet.distill import Policy, evaluate
    from moet.distill import tune as run_tuning
    from moet.distill.checkpoint import remove_checkpoint

    start = Policy.load(policy, env)
    saved = checkpoint or output.with_name(output.name + ".run")
    try:
        better = run_tuning(
            start,
            episodes=episodes,
            rollouts=rollouts,
            tail=tail,
            selection_episodes=selection_episodes,
            digits=digits,
            seed=seed,
            workers=workers,
            checkpoint=saved,
            verbose=1,
        )
    except KeyboardInterrupt:
        say("stopped; the same command goes on from the last finished generation")
        raise
    save(better, output)
    if checkpoint is None:
        remove_checkpoint(saved)
    say("evaluating on fresh episodes")
    before, after = (
        evaluate(player, episodes=report_episodes, seed=seed, workers=workers) for player in (start, better)
    )
    tuned = better.provenance["tuned"]
    if as_json:
        documents = {"before": evaluation_document(before), "evaluation": evaluation_document(after)}
        print_json({"model": str(output), "task": start.task.name, "tuned": tuned} | documents)
        return
    report = evaluation_report(after)
    report["worst episode"] = f"{after.returns.min():.2f} (before tuning: {before.returns.min():.2f})"
    report["before tuning"] = evaluation_report(before)["reward"]
    report["selection"] = f"{tuned['start']['reward']:.2f} before, {tuned['kept']['reward']:.2f} after"
    print_report(report | {"saved to": str(output)})
