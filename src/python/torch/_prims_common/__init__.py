"""What PyTorch's `prims` have in common: the state of a CUDA device's generator."""

import torch


class CUDARngStateHelper:
    """Seed and offset of the CUDA generator: there is none."""

    @staticmethod
    def get_torch_state_as_tuple():
        """Seed and offset as tensors."""
        if not torch.cuda.is_available():
            raise RuntimeError("CUDA not available")
        raise NotImplementedError("the generator of the pretended CUDA device has no seed and offset: it is the CPU's")
