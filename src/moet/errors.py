"""Every error this package raises on purpose, and every warning.

All of them derive from :class:`MoetError`, so ``except MoetError`` catches exactly the failures that have a message for
the user; anything else is a bug.
"""

__all__ = [
    "CertificateError",
    "CheckpointError",
    "ExportError",
    "FarBelowWarning",
    "InputError",
    "ModelError",
    "ModelFileError",
    "MoetError",
    "MoetWarning",
    "RareClassWarning",
    "StudyError",
    "TaskError",
    "TeacherError",
]


class MoetError(Exception):
    """Base class of all errors raised by this package."""


class MoetWarning(UserWarning):
    """Something that is allowed and most probably not meant; the command line prints it on stderr."""


class FarBelowWarning(MoetWarning):
    """A student ends far below its teacher, in reward or in fidelity."""


class RareClassWarning(MoetWarning):
    """A class has many rows, and the model answers with it nowhere among them."""


class ModelError(MoetError, ValueError):
    """A tree or mixture that contradicts itself (wrong lengths, cyclic children, non-finite numbers, ...)."""


class InputError(MoetError, ValueError):
    """Data that a model cannot be asked about or fitted on."""


class ModelFileError(MoetError, ValueError):
    """A model file that cannot be read: missing, truncated, foreign, or not what it claims to be."""


class ExportError(MoetError, ValueError):
    """A model that cannot be written in the language asked for without changing its answers, or a name it forbids."""


class TaskError(MoetError, ValueError):
    """An environment that is not installed, cannot be used as a task, or does not behave like one."""


class TeacherError(MoetError, ValueError):
    """An agent that cannot be read, does not fit its task, or answers with something that is no action or score."""


class CheckpointError(MoetError, ValueError):
    """A run that cannot be saved, or cannot go on from what was saved."""


class StudyError(MoetError, ValueError):
    """A sweep that cannot be begun, joined, continued or read: its storage is away, or it is another sweep's."""


class CertificateError(MoetError, ValueError):
    """A certificate that does not prove what it claims about this model and this system."""
