"""Networks of PyTorch as teachers: alive, as parameters by name, and in files of which nothing is executed."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moet.errors import TeacherError
from moet.teachers.activations import DEFAULTS, TORCH
from moet.teachers.arrays import MAX_BYTES
from moet.teachers.chain import Dense, Nonlinear, NotChainError, Scale, Step, as_row, teacher_of_chain
from moet.teachers.checks import as_continuous, as_observations, as_scores
from moet.teachers.network import Meaning, as_worth, scaled
from moet.teachers.sb3_normalize import Normalization, read_normalization
from moet.teachers.teacher import CheckedTeacher, Floats, Teacher, first_best
from moet.teachers.torch_script import Script, is_script

State = Mapping[str, NDArray[Any]]

_IDLE = re.compile(r"(^|[._])(critics?|values?|vf|qf|target|log_?std)(\d|[._]|$)")
"""Parts of names of parameters that take no part in acting."""

_SPREAD = r"log_?std"
"""Part of the names of parameters that say how far a policy with continuous actions strays."""

_SAVE = "torch.save(module.state_dict(), 'weights.pt')"


def read_torch(
    source: Any,
    *,
    activation: str | None = None,
    part: str | None = None,
    continuous: bool | None = None,
    meaning: Meaning = "logits",
    normalize: Any = None,
) -> Teacher:
    """Take a network of PyTorch; see :meth:`Teacher.from_torch`."""
    if isinstance(source, str | os.PathLike):
        try:
            steps = _steps_of_file(source, activation, part)
            return _teacher(steps, continuous, meaning, normalize)
        except TeacherError as error:
            raise TeacherError(f"cannot read {os.fspath(source)}: {error}") from error.__cause__
    if isinstance(source, Mapping):
        return _teacher(_steps_of_state(_arrays(source), activation, part), continuous, meaning, normalize)
    if not callable(source) or not hasattr(source, "state_dict"):
        raise TeacherError(f"expected a torch.nn.Module, its state dict or the path of a file, got {source!r}")
    try:
        return _teacher(_steps_of_module(source), continuous, meaning, normalize)
    except NotChainError:
        return LiveModule(source, bool(continuous), meaning, normalize)


class LiveModule(CheckedTeacher):
    """A module that is more than a chain of layers, asked as it is."""

    def __init__(self, module: Any, continuous: bool, meaning: Meaning, normalize: Any) -> None:
        first = next((p for name, p in module.named_parameters() if name.endswith("weight") and p.ndim == 2), None)
        if first is None:
            raise TeacherError(
                f"a {type(module).__name__} has no fully connected layer; wrap it: Teacher.from_callable"
            )
        self.n_features = int(first.shape[1])
        self._module = module
        self._meaning = meaning
        self._like = first
        self._normalization = read_normalization(normalize, self.n_features)
        width = self._ask(np.zeros((1, self.n_features))).shape[-1:]
        self.continuous, self.has_scores = continuous, not continuous
        if continuous:
            self.low, self.high = np.full(width, -np.inf), np.full(width, np.inf)
        else:
            self.n_actions = int(np.prod(width))

    def scores(self, observations: Floats) -> Floats:
        """What the module gives: Q values, or logits as clipped log-probabilities."""
        if self.continuous:
            raise TeacherError("a teacher with continuous actions has no scores")
        return as_worth(self._outputs(observations), self._meaning)

    def act(self, observations: Floats) -> NDArray[Any]:
        """Action of largest output, or the outputs themselves."""
        if self.low is None:
            return first_best(self._outputs(observations))
        rows = as_observations(observations, self.n_features)
        return as_continuous(self._ask(rows), len(rows), len(self.low))

    def act_and_score(self, observations: Floats) -> tuple[NDArray[Any], Floats]:
        """Both, of the same outputs."""
        if self.continuous:
            return super().act_and_score(observations)
        outputs = self._outputs(observations)
        return first_best(outputs), as_worth(outputs, self._meaning)

    def _outputs(self, observations: Floats) -> Floats:
        rows = as_observations(observations, self.n_features)
        return as_scores(self._ask(rows), len(rows), self.n_actions)

    def _ask(self, rows: Floats) -> NDArray[Any]:
        import torch

        inputs = torch.as_tensor(scaled(rows, *self._normalization), dtype=self._like.dtype, device=self._like.device)
        training = self._module.training
        self._module.eval()
        try:
            with torch.no_grad():
                return self._module(inputs).cpu().double().numpy()
        except Exception as error:  # of the user's own code
            raise TeacherError(
                f"the module cannot be asked about rows of {self.n_features} numbers ({type(error).__name__} {error}); "
                "give the part of it that acts, such as agent.actor, or wrap it: Teacher.from_callable"
            ) from error
        finally:
            self._module.train(training)


def _teacher(steps: list[Step], continuous: bool | None, meaning: Meaning, normalize: Any) -> Teacher:
    if continuous is None:  # parameters that bring actions between their bounds leave no doubt
        continuous = isinstance(steps[-1], Scale)
    n_features = next((len(step.kernel) for step in steps if isinstance(step, Dense)), 0)
    normalization: Normalization = read_normalization(normalize, n_features)
    return teacher_of_chain(steps, meaning=meaning, continuous=continuous, normalization=normalization)


def _steps_of_file(path: str | os.PathLike[str], activation: str | None, part: str | None) -> list[Step]:
    try:
        if is_script(path):
            script = Script(path)
            try:
                return script.chain()
            except NotChainError:
                return _steps_of_state(script.parameters(), activation, part)
    except TeacherError:
        raise
    except OSError as error:
        raise TeacherError(error.strerror or str(error)) from None
    except Exception as error:  # whatever a damaged archive makes its readers raise
        raise TeacherError(f"it is no file of TorchScript, or damaged: {error}") from None
    return _steps_of_state(_arrays(_tensors(_loaded(path), part)), activation, part)


def _loaded(path: str | os.PathLike[str]) -> Any:
    """Whatever a file holds, as far as it is numbers; anything else is refused by PyTorch and not executed."""
    try:
        import torch
    except ImportError:
        raise TeacherError("reading it needs PyTorch: pip install 'moet[teachers]'") from None
    try:
        if (size := os.path.getsize(path)) > MAX_BYTES:
            raise TeacherError(f"it has {size} bytes, more than {MAX_BYTES}")
        return torch.load(path, map_location="cpu", weights_only=True)
    except TeacherError:
        raise
    except OSError as error:
        raise TeacherError(error.strerror or str(error)) from None
    except Exception as error:  # a refusal to execute something, or whatever damaged numbers lead to
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise TeacherError(
            f"it holds more than numbers, which only to execute would show, or is damaged: {reason}. "
            f"Where it can be trusted, save its numbers, {_SAVE}, or torch.onnx.export it"
        ) from None


def _tensors(found: Any, part: str | None) -> Mapping[str, Any]:
    """The state dict in what a file holds: itself, one of a list (CleanRL's TD3), or one entry of a checkpoint."""
    if isinstance(found, list | tuple):
        found = {str(k): entry for k, entry in enumerate(found)} if part is not None else next(iter(found), None)
    if not isinstance(found, Mapping):
        raise TeacherError(f"it holds no parameters by name; write them with {_SAVE}")
    nested = {str(name): entry for name, entry in found.items() if isinstance(entry, Mapping) and _is_state(entry)}
    if part in nested:
        return nested[str(part)]
    if not nested or _is_state(found):
        return found
    acting = [name for name in nested if not _IDLE.search(name.lower()) and "optim" not in name.lower()]
    if len(acting) != 1:
        raise TeacherError(f"it holds several networks; name the one that acts: part={' or '.join(map(repr, nested))}")
    return nested[acting[0]]


def _is_state(entries: Mapping[Any, Any]) -> bool:
    return any(str(name).endswith("weight") and hasattr(value, "ndim") for name, value in entries.items())


def _arrays(state: Mapping[Any, Any]) -> dict[str, NDArray[Any]]:
    try:
        # a tensor may claim more numbers than the file holds, by strides of zero
        claimed = sum(math.prod(value.shape) * 8 for value in state.values())
        if claimed > MAX_BYTES:
            raise TeacherError(f"its parameters unpack to {claimed} bytes, more than {MAX_BYTES}")
        return {
            str(name): np.asarray(value.detach().cpu().double() if hasattr(value, "detach") else value, np.float64)
            for name, value in state.items()
        }
    except (AttributeError, TypeError, ValueError, RuntimeError) as error:
        raise TeacherError(f"parameters must be tensors by name: {error}") from None


def _steps_of_state(state: State, activation: str | None, part: str | None) -> list[Step]:
    """Layers in the order of their names, with the activation that the user named between them."""
    chosen = _acting(state, part)
    weights = [name.removesuffix("weight") for name in chosen if name.endswith("weight")]
    known = {f"{name}{end}" for name in weights for end in ("weight", "bias")} | {"action_scale", "action_bias"}
    unknown = [name for name in chosen if name not in known or (name.endswith("weight") and chosen[name].ndim != 2)]
    if unknown or not weights:
        raise TeacherError(
            f"it has parameters beyond those of fully connected layers: {', '.join((unknown or [*state])[:8])}. "
            "Give the module itself, or torch.onnx.export it and take Teacher.from_onnx"
        )
    if len(weights) > 1 and activation is None:
        raise TeacherError(
            "it does not say what stands between its layers; name it: activation='tanh' (as CleanRL's PPO has), 'relu' "
            "(its DQN, DDPG, TD3 and SAC), 'elu' and so on (moet: --activation)"
        )
    steps: list[Step] = []
    for name in weights:
        steps += [Nonlinear(activation)] if steps else []  # type: ignore[arg-type]  # checked with the network
        weight = chosen[f"{name}weight"]
        steps.append(Dense(weight.T, chosen.get(f"{name}bias", np.zeros(len(weight)))))
    if "action_scale" in chosen:
        shift = as_row(chosen.get("action_bias", np.zeros(1)))
        steps += [Nonlinear("tanh"), Scale(as_row(chosen["action_scale"]), shift)]
    elif any(re.search(_SPREAD, name) for name in state):
        steps.append(Scale(np.ones(1), np.zeros(1)))  # a policy with a spread: its outputs are the action
    return steps


def _acting(state: State, part: str | None) -> dict[str, NDArray[Any]]:
    """The parameters that choose actions: those of ``part``, or all but critics, targets and spreads."""
    if part is not None and (own := {name for name in state if name.startswith(part)}):
        return {name: state[name] for name in state if name in own and not re.search(_SPREAD, name)}
    acting = {name: array for name, array in state.items() if not _IDLE.search(name)}
    branches = {name.partition(".")[0] for name in acting if "." in name}
    layers = [array for name, array in acting.items() if name.endswith("weight") and array.ndim == 2]
    if any(one.shape[0] != next_one.shape[1] for one, next_one in pairwise(layers)):
        raise TeacherError(
            "its layers do not follow one another; name those that act by how their names begin: "
            f"part={' or '.join(repr(name) for name in sorted(branches))}"
        )
    return acting


def _steps_of_module(module: Any) -> list[Step]:
    """What a module computes, if it is a layer, an activation, or a sequence of such."""
    import torch

    # a class derived from one of these may compute anything, and so may a hook
    if (
        not type(module).__module__.startswith("torch.nn.modules.")
        or module._forward_hooks
        or module._forward_pre_hooks
    ):
        raise NotChainError(f"it has a {type(module).__name__} of its own")
    match module:
        case torch.nn.Sequential():
            return [step for child in module for step in _steps_of_module(child)]
        case torch.nn.Linear():
            weight = module.weight.detach().cpu().double().numpy()
            bias = np.zeros(len(weight)) if module.bias is None else module.bias.detach().cpu().double().numpy()
            return [Dense(weight.T, bias)]
        case torch.nn.Softmax() | torch.nn.LogSoftmax() if module.dim in (-1, 1):
            return [Nonlinear("softmax")]
        case torch.nn.Identity() | torch.nn.Dropout() | torch.nn.Flatten():
            return []
    kind = type(module).__name__
    usual = all(getattr(module, name, value) == value for name, value in DEFAULTS.items())
    if kind in TORCH and type(module) is getattr(torch.nn, kind) and usual:
        return [Nonlinear(TORCH[kind])]
    raise NotChainError(f"it has a {module}")
