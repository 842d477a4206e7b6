"""What categories should be turned into for MoËT: one column each, one number, both, or the mean of the label.

    python benchmarks/supervised_encodings.py [--data DIR] [--splits 10] [german german9 adult]

Prints F1 and accuracy on held-out rows (mean over splits) of the first setting that the benchmark would try. "ranks" is
what the benchmark uses: a column per category, and a number for those that come in an order.
"""

from __future__ import annotations

import argparse

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, TargetEncoder

from moet.study.supervised.datasets import load
from moet.study.supervised.encode import encoder
from moet.study.supervised.models import MODELS
from moet.study.supervised.protocol import score


def all_texts(make):
    """An encoding of all categories by one encoder."""
    return lambda dataset: ColumnTransformer([("text", make(), dataset.texts)], remainder="passthrough")


ENCODERS = {
    "one-hot": all_texts(lambda: OneHotEncoder(handle_unknown="ignore", sparse_output=False)),
    "ordinal": all_texts(lambda: OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)),
    "target mean": all_texts(TargetEncoder),
    "ranks": encoder,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("datasets", nargs="*", default=["german", "german9", "adult"])
    arguments = parser.parse_args()
    for name in arguments.datasets:
        dataset = load(name, arguments.data)
        results = {encoding: [] for encoding in ENCODERS}
        for seed in range(arguments.splits):
            train, test = train_test_split(
                np.arange(len(dataset.y)), test_size=0.15, stratify=dataset.y, random_state=seed
            )
            for encoding, make in ENCODERS.items():
                columns = make(dataset)
                X = np.asarray(columns.fit_transform(dataset.X.iloc[train], dataset.y[train]))
                model = MODELS["moet"]
                estimator = model.build(model.grid_for(len(train))[0], seed, 2).fit(X, dataset.y[train])
                predicted = estimator.predict(np.asarray(columns.transform(dataset.X.iloc[test])))
                results[encoding].append([score(m, dataset.y[test], predicted) for m in ("f1", "accuracy")])
        for encoding, values in results.items():
            f1, accuracy = np.mean(values, axis=0)
            print(
                f"{name:8} {encoding:12} F1 {f1:.4f}  accuracy {accuracy:.4f}  ({arguments.splits} splits)", flush=True
            )


if __name__ == "__main__":
    main()
