"""Zip files of Stable-Baselines3, read without executing anything in them.

Such a file holds pickles, and unpickling runs whatever their author liked. Only two members are looked at: ``data``, a
JSON document in which the pickles are accompanied by readable text, and ``policy.pth``, whose tensors PyTorch reads
with ``weights_only=True``. Spaces are never rebuilt, so files from the days of ``gym`` are read like any other.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from moet.errors import TeacherError
from moet.teachers.arrays import MAX_BYTES
from moet.teachers.sb3_policy import COMBINED, FLATTEN, NotPlainError, Policy, kind_of
from moet.teachers.sb3_spaces import class_name, described_actions, described_length, whole_number

MAX_TEXT = 16 * 2**20
"""Longer documents are not read: as objects of Python they would take many times as much memory."""

_HARMLESS = {
    "net_arch",  # the parameters show it
    "features_extractor_kwargs",  # the extractor that is accepted takes none
    "normalize_images",  # and sees no images
    "share_features_extractor",
    "optimizer_class",
    "optimizer_kwargs",
    "ortho_init",
    "device",
    "n_critics",
    "with_bias",  # the parameters show it
    "batch_norm",  # and this
    "batch_norm_momentum",  # of training
    "renorm_warmup_steps",
    # of exploration
    "use_sde",
    "log_std_init",
    "full_std",
    "sde_net_arch",
    "use_expln",
}
"""Settings of a policy that do not change what it computes."""

_READ = {
    *("activation_fn", "features_extractor_class", "n_quantiles", "squash_output", "clip_mean"),
    "batch_norm_eps",
}


def read_policy(path: str | os.PathLike[str]) -> Policy:
    """Read what a zip file of Stable-Baselines3 says about its policy, in text and numbers only."""
    data, state = read_members(path)
    settings = _described(data, "policy_kwargs")
    if unknown := sorted(settings.keys() - _HARMLESS - _READ - {":type:", ":serialized:"}):
        raise NotPlainError(f"its policy was made with {', '.join(unknown)}, which may change what it computes")
    activation, extractor = settings.get("activation_fn"), settings.get("features_extractor_class")
    policy_class = _described(data, "policy_class")
    observations = _described(data, "observation_space")
    combined = class_name(observations.get(":type:")).endswith(".Dict")
    return Policy(
        state=state,
        module=str(policy_class.get("__module__")),
        activation=None if activation is None else class_name(activation),
        extractor=class_name(extractor) if extractor is not None else COMBINED if combined else FLATTEN,
        n_features=described_length(observations),
        actions=described_actions(_described(data, "action_space")),
        n_quantiles=whole_number(settings.get("n_quantiles", 200)) or 0,
        # the one policy that squashes by default where it may choose
        squash=bool(settings.get("squash_output", "ARSPolicy." in str(policy_class.get("__init__")))),
        mean_limit=_number(settings, "clip_mean", 2.0),
        norm_eps=_number(settings, "batch_norm_eps", 0.001),
        # algorithms that learn from their own play alone keep an observation as it was before VecNormalize, if there
        # was one; the others keep one in any case, so that their files do not say
        normalised=data.get("_last_original_obs") is not None and kind_of(state) in ("actor_critic", "ars"),
    )


def _number(settings: Mapping[str, Any], name: str, default: float) -> float:
    value = settings.get(name, default)
    if not isinstance(value, int | float):
        raise TeacherError(f"its policy was made with {name}={value!r}, which is no number")
    return float(value)


def read_members(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """JSON document and parameters of the policy in a zip file of Stable-Baselines3."""
    try:
        with open(path, "rb") as file, zipfile.ZipFile(file) as archive:
            document = _member(archive, "data", MAX_TEXT)
            parameters = _member(archive, "policy.pth", MAX_BYTES)
        data = json.loads(document)
    except TeacherError:
        raise
    except OSError as error:
        raise TeacherError(error.strerror or str(error)) from None
    except Exception as error:  # whatever else a damaged or hostile archive makes its readers raise
        raise TeacherError(f"it is no zip file of Stable-Baselines3, or damaged: {error}") from None
    if not isinstance(data, dict):
        raise TeacherError("its member data is no JSON object")
    return data, _parameters(parameters)


def _member(archive: zipfile.ZipFile, name: str, limit: int) -> bytes:
    if name not in archive.namelist():
        raise TeacherError(f"it has no member {name}, as zip files of Stable-Baselines3 have")
    _check_size(archive.getinfo(name).file_size, name, limit)
    return archive.read(name)


def _check_size(size: int, name: str, limit: int) -> None:
    if size > limit:
        raise TeacherError(f"{name} unpacks to {size} bytes, more than {limit}")


def _parameters(content: bytes) -> dict[str, NDArray[Any]]:
    try:
        import torch
    except ImportError:
        raise TeacherError("reading its weights needs PyTorch: pip install 'moet[teachers]'") from None
    try:
        if zipfile.is_zipfile(io.BytesIO(content)):
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                _check_size(sum(member.file_size for member in archive.infolist()), "policy.pth", MAX_BYTES)
        tensors = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
        # a tensor may claim more numbers than the file holds, by strides of zero
        claimed = sum(tensor.nelement() * tensor.element_size() for tensor in tensors.values())
        _check_size(claimed, "policy.pth", MAX_BYTES)
        return {str(name): tensor.to(torch.float64).numpy() for name, tensor in tensors.items()}
    except TeacherError:
        raise
    except Exception as error:  # a refusal to execute something, or whatever damaged numbers lead to
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise TeacherError(f"policy.pth holds anything but tensors, or is damaged: {reason}") from None


def _described(data: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Readable text about an object: its class as ``:type:``, and its attributes or entries by name."""
    text = data.get(name)
    if not isinstance(text, dict):
        raise TeacherError(f"its member data says nothing about {name}")
    return text
