"""Training of the teachers that ship with the package. Needs PyTorch; nothing outside of this package imports it."""

try:
    import torch
except ImportError as error:
    from moet.errors import TeacherError

    raise TeacherError("training a teacher needs PyTorch: pip install 'moet[teachers]'") from error

torch.set_num_threads(1)  # the networks are tiny: threads only cost, and one thread gives the same weights every time
