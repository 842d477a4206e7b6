"""``moet demo``: a first model, beside the single tree it competes with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from moet.cli.output import AsJson, print_json, print_report, say, size_in_words

FOLDS = 5


def demo(
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder to write the model to.")] = Path("demo"),
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of everything random.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Fit a small mixture and show it beside one tree."""
    output.mkdir(parents=True, exist_ok=True)
    from sklearn.datasets import load_wine
    from sklearn.model_selection import StratifiedKFold, cross_val_score
    from sklearn.tree import DecisionTreeClassifier

    from moet import MoETClassifier, save
    from moet.explain import rules

    table = load_wine(as_frame=True)
    X, y = table.data, table.target_names[table.target]
    say(f"fitting the wine table of scikit-learn: {X.shape[0]} rows, {X.shape[1]} features")
    classifier = MoETClassifier(n_experts=2, max_depth=1, prediction="hard", random_state=seed, verbose=1).fit(X, y)
    mixture = classifier.mixture_
    path = output / "wine.moet.json"
    save(mixture, path)

    say(f"testing on held-out rows, {FOLDS} folds")
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    tree = DecisionTreeClassifier(max_leaf_nodes=mixture.size.leaves, random_state=seed)
    accuracy, tree_accuracy = (
        float(cross_val_score(rival, X, y, cv=folds).mean()) for rival in (classifier.set_params(verbose=0), tree)
    )
    if as_json:
        print_json(
            {
                "model": str(path),
                "held_out_accuracy": accuracy,
                "tree_held_out_accuracy": tree_accuracy,
                "size": mixture.size._asdict(),
                "rules": rules(mixture),
            }
        )
        return
    typer.echo(rules(mixture) + "\n")
    print_report(
        {
            "held-out accuracy": f"{accuracy:.3f}",
            "one tree, as many leaves": f"{tree_accuracy:.3f}",
            "size": size_in_words(mixture),
            "saved to": str(path),
        }
    )
