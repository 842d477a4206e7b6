"""A policy with all that is proved of it in one file, which anybody can check with Python alone."""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moet.errors import InputError
from moet.explain.proof_page import proof_page
from moet.export.c_source import c
from moet.files import written_whole
from moet.model.file import Model, as_model, digest, encoded
from moet.model.mixture import Mixture
from moet.verify.checker.bundle import FORMAT, MANIFEST, SHIELDS, VERSION, Confirmed, check_bundle
from moet.verify.checker.certificate import Certificate
from moet.verify.systems.system import System

Floats = NDArray[np.float64]

_VECTORS = 200
"""Test vectors of every model."""

_WIDE = 8.0
"""Largest test vectors where nothing is said of how large states may be."""

_WHEN = (2020, 1, 1, 0, 0, 0)
"""Time of all files in a bundle, so that the same content makes the same bytes."""


def bundle(
    policy: Any,
    system: System,
    certificate: Certificate,
    path: str | os.PathLike[str],
    *,
    guard: Any = None,
) -> Confirmed:
    """Write a policy, its system, its proofs, C code, test vectors and a page into one zip file, and check that.

    Parameters
    ----------
    policy : Mixture, RegressionMixture, fitted classifier or regressor, policy or path
    system : System
    certificate : Certificate
        About the policy and the system; or, if there is a guard, about the guard (then it is that of a shield, for
        actions, controls or a goal).
    path : path
        Of the bundle, such as ``policy.moet.zip``.
    guard : Mixture, policy or path, optional
        The proved policy that guards the other one.

    Returns
    -------
    Confirmed
        What the bundle proves, in words; it was checked after it was written.
    """
    models = {"policy.moet.json": as_model(policy)}
    if guard is not None:
        models["guard.moet.json"] = as_model(guard)
    about = list(models)[-1]
    if certificate.claim.get("model") != digest(models[about]):
        raise InputError(f"the certificate is about another model than {about}: its digest is {digest(models[about])}")
    if guard is not None and certificate.kind not in SHIELDS:
        raise InputError(
            f"a guard needs the certificate of a shield, and this is one of kind {certificate.kind!r}, which says "
            f"nothing of the policy: make one with moet shield PROOF GUARD SYSTEM -o shield.cert"
        )
    files = {name: encoded(model) for name, model in models.items()}
    files["system.json"] = _json(system.document())
    files["proof.cert"] = certificate.content()
    files |= {f"{name.split('.')[0]}.h": c(model, name=name.split(".")[0]).encode() for name, model in models.items()}
    files |= _shield(certificate, models[about], system)
    files["vectors.json"] = _json([_vectors(name, model, system) for name, model in models.items()])
    files["index.html"] = proof_page(models, system, certificate, files).encode()
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "system": "system.json",
        "models": list(models),
        "certificates": [{"file": "proof.cert", "model": about}],
        "vectors": "vectors.json",
        "files": {name: hashlib.sha256(content).hexdigest() for name, content in files.items()},
    }
    with written_whole(path) as unfinished:
        _write(unfinished, {MANIFEST: _json(manifest), **files})
        return check_bundle(unfinished)


def _shield(certificate: Certificate, model: Model, system: System) -> dict[str, bytes]:
    """The header of the shield that the certificate is about, with its self-test, if it is about one."""
    from moet.shield.c_header import c as shield_in_c
    from moet.shield.control_header import control_c
    from moet.shield.controls import ControlShield
    from moet.shield.goals import GoalShield
    from moet.shield.shield import Shield

    match certificate.kind:
        case "shield":
            text = shield_in_c(Shield(certificate, model, system), self_test=True)
        case "goal_shield":
            text = shield_in_c(GoalShield(certificate, model, system), self_test=True)
        case "control_shield":
            text = control_c(ControlShield(certificate, model, system), self_test=True)
        case _:
            return {}
    return {"shield.h": text.encode()}


def _write(path: str | os.PathLike[str], files: Mapping[str, bytes]) -> None:
    with zipfile.ZipFile(path, "x", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, _WHEN), content, zipfile.ZIP_DEFLATED)


def _json(value: Any) -> bytes:
    return json.dumps(value, indent=1, allow_nan=False).encode("ascii")


def _vectors(name: str, model: Model, system: System) -> dict[str, Any]:
    """Inputs, and what the deployed model answers."""
    inputs = _inputs(system) if len(model.feature_names) == system.n_states else _anywhere(len(model.feature_names))
    if isinstance(model, Mixture):
        return {"model": name, "inputs": inputs.tolist(), "answers": model.predict_hard(inputs).tolist()}
    answers = np.reshape(model.predict(inputs), (len(inputs), -1))
    return {"model": name, "inputs": inputs.tolist(), "answers": answers.tolist()}


def _inputs(system: System) -> Floats:
    """States: half of them around the first states, half over the domain."""
    random = np.random.default_rng(0)
    low, high = np.array([[float(a), float(b)] for a, b in system.initial]).T
    wide = np.array([_WIDE if side is None else float(max(map(abs, side))) for side in system.domain])
    near = random.uniform(low, high, (_VECTORS // 2, len(low)))
    return np.concatenate([near, random.uniform(-wide, wide, (_VECTORS // 2, len(low)))])


def _anywhere(n_features: int) -> Floats:
    """Inputs of a policy that sees something else than the states."""
    return np.random.default_rng(0).uniform(-_WIDE, _WIDE, (_VECTORS, n_features))
