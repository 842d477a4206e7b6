"""Whether all readers of models that answer with numbers give the same bits: numba, C, ONNX, Python, a browser.

    python benchmarks/readers.py [--rows 1000000] [--models 4] [--without browser,onnx]

Random mixtures of affine and constant laws, clipped and not, are asked at rows of all sizes, on thresholds and near
ties of the gate. C is compiled by every compiler there is, as it comes (-O0), for a processor with a fused multiply-add
(-march=haswell -O2, where GNU C fuses unasked) and with -ffp-contract=fast. Printed are the rows asked and how many of
them differ in any bit from `RegressionMixture.predict`, whose kernels numba compiles.
"""

from __future__ import annotations

import argparse
import base64
import ctypes
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from harness import show
from numpy.typing import NDArray

from moet import RegressionMixture, RegressionTree, explain, export

Floats = NDArray[np.float64]
Reader = Callable[[Floats], Floats]

BUILDS = {
    "-O0": ["-O0"],
    "haswell": ["-std=gnu11", "-O2", "-march=haswell"],
    "fast contraction": ["-O3", "-march=haswell", "-ffp-contract=fast"],
}
CHUNK = 50_000
"""Rows that travel to the browser at once."""

LOOP = """
#include "law.h"
void run(const double *x, long n, double *u);
void run(const double *x, long n, double *u)
{
    for (long i = 0; i < n; i++) law_predict(x + i * LAW_FEATURES, u + i * LAW_OUTPUTS);
}
"""

ASK = """
const bytes = Uint8Array.from(atob(arguments[0]), (c) => c.charCodeAt(0));
const rows = new Float64Array(bytes.buffer), width = arguments[1], model = moet.models[0];
const found = new Float64Array((rows.length / width) * model.nClasses);
for (let i = 0; i < rows.length / width; i += 1) {
  found.set(model.hard(rows.subarray(i * width, (i + 1) * width)), i * model.nClasses);
}
let text = "";
for (const byte of new Uint8Array(found.buffer)) text += String.fromCharCode(byte);
return btoa(text);
"""


def random_model(seed: int) -> RegressionMixture:
    """Trees of depth 0 to 3 with affine or constant leaves, zeros of either sign among their numbers."""
    rng = np.random.default_rng(seed)
    n_features, n_outputs, n_experts = int(rng.integers(2, 7)), int(rng.integers(1, 4)), int(rng.integers(1, 6))

    def numbers(*shape: int) -> Floats:
        return np.where(rng.random(shape) < 0.1, rng.choice([0.0, -0.0], size=shape), rng.normal(size=shape))

    trees = []
    for _ in range(n_experts):
        n_inner = 2 ** int(rng.integers(0, 4)) - 1
        n_nodes, inner = 2 * n_inner + 1, np.arange(n_inner)
        feature, left, right = (np.full(n_nodes, -1) for _ in range(3))
        feature[:n_inner], left[:n_inner], right[:n_inner] = (
            rng.integers(n_features, size=n_inner),
            2 * inner + 1,
            2 * inner + 2,
        )
        slope = None if rng.random() < 0.25 else numbers(n_nodes, n_outputs, n_features)
        trees.append(RegressionTree(feature, rng.normal(size=n_nodes), left, right, numbers(n_nodes, n_outputs), slope))
    low, high = (-1.5, 1.25) if seed % 2 else (-np.inf, np.inf)
    gate = rng.normal(size=(n_experts, n_features + 1))
    names = [f"u{o}" for o in range(n_outputs)]
    return RegressionMixture(gate[:, 1:], gate[:, 0], trees, names, np.full(n_outputs, low), np.full(n_outputs, high))


def rows_for(model: RegressionMixture, n: int, seed: int) -> Floats:
    """Rows of all sizes, many on thresholds, beside them, or where two experts tie up to rounding."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, model.n_features)) * 10.0 ** rng.integers(-8, 9, (n, 1))
    thresholds = np.concatenate([[0.0], *(tree.threshold[tree.feature >= 0] for tree in model.trees)])
    exact = rng.choice(thresholds, X.shape)
    kind = rng.integers(6, size=X.shape)
    X = np.select([kind == 0, kind == 1], [exact, np.nextafter(exact, np.inf)], X)
    if model.n_experts > 1:
        a, b = rng.choice(model.n_experts, 2, replace=False)
        row = model.gate_weights[a] - model.gate_weights[b]
        k, ties = int(np.abs(row).argmax()), slice(0, n // 4)
        X[ties, k] -= (X[ties] @ row + model.gate_bias[a] - model.gate_bias[b]) / row[k]
    return np.ascontiguousarray(X)


def in_c(model: RegressionMixture, compiler: str, options: list[str], folder: Path) -> Reader:
    """The header, compiled."""
    folder.mkdir(parents=True)
    (folder / "law.h").write_text(export.c(model, name="law"))
    (folder / "law.c").write_text(LOOP)
    command = [compiler, *options, "-shared", "-fPIC", "-o", str(folder / "law.so"), str(folder / "law.c")]
    subprocess.run(command, check=True, timeout=120)
    library = ctypes.CDLL(str(folder / "law.so"))

    def read(X: Floats) -> Floats:
        found = np.empty((len(X), model.n_outputs))
        library.run(X.ctypes.data_as(ctypes.c_void_p), ctypes.c_long(len(X)), found.ctypes.data_as(ctypes.c_void_p))
        return found

    return read


def in_python(model: RegressionMixture) -> Reader:
    """The exported function, row by row."""
    scope: dict[str, Any] = {}
    exec(export.python(model), scope)
    return lambda X: np.array([scope["predict"](x) for x in X.tolist()])


def in_onnx(model: RegressionMixture) -> Reader:
    """The exported graph in ONNX Runtime."""
    import onnxruntime

    session = onnxruntime.InferenceSession(export.onnx(model).SerializeToString(), providers=["CPUExecutionProvider"])
    return lambda X: session.run(["outputs"], {"x": X})[0]


def in_browser(model: RegressionMixture, driver: Any, folder: Path) -> Reader:
    """The explorer page in Chromium."""
    folder.mkdir(parents=True)
    (folder / "page.html").write_text(explain.explorer(model), encoding="utf-8")

    def chunks(X: Floats) -> Iterator[Floats]:
        driver.get((folder / "page.html").as_uri())
        for start in range(0, len(X), CHUNK):
            part = X[start : start + CHUNK]
            text = driver.execute_script(ASK, base64.b64encode(part.tobytes()).decode(), X.shape[1])
            yield np.frombuffer(base64.b64decode(text)).reshape(len(part), -1)

    return lambda X: np.concatenate(list(chunks(X)))


def chromium(stack: ExitStack) -> Any:
    """A browser without a window."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(flag)
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    stack.callback(driver.quit)
    driver.set_script_timeout(120)
    return driver


def readers(model: RegressionMixture, folder: Path, without: set[str], driver: Any) -> dict[str, Reader]:
    """All readers that are installed, by name."""
    found: dict[str, Reader] = {}
    if "c" not in without:
        for compiler in filter(shutil.which, ("gcc", "clang")):
            for build, options in BUILDS.items():
                found[f"C, {compiler} {build}"] = in_c(model, compiler, options, folder / f"{compiler}{len(found)}")
    if "python" not in without:
        found["Python source"] = in_python(model)
    if "onnx" not in without:
        found["ONNX Runtime"] = in_onnx(model)
    if driver is not None:
        found["Chromium"] = in_browser(model, driver, folder / "page")
    return found


def differing(model: RegressionMixture, read: Reader, X: Floats) -> int:
    """Rows whose outputs differ in any bit."""
    expected, found = model.predict(X), np.ascontiguousarray(read(X))
    return int(np.any(expected.view(np.int64) != found.view(np.int64), axis=1).sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows in all")
    parser.add_argument("--models", type=int, default=4)
    parser.add_argument("--without", default="", help="readers to leave out: c, python, onnx, browser")
    options = parser.parse_args()
    without = set(filter(None, options.without.split(",")))
    counts: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        driver = None if "browser" in without else chromium(stack)
        for seed in range(options.models):
            model = random_model(seed)
            X = rows_for(model, options.rows // options.models, seed)
            for name, read in readers(model, Path(folder) / str(seed), without, driver).items():
                start = time.process_time()
                total = counts.setdefault(name, [0, 0, 0.0])
                total[0] += len(X)
                total[1] += differing(model, read, X)
                total[2] += time.process_time() - start
    rows = [(name, f"{asked:,}", f"{wrong:,}", seconds) for name, (asked, wrong, seconds) in counts.items()]
    show("bits of all readers", ["reader", "rows", "differing", "CPU s"], rows)


if __name__ == "__main__":
    main()
