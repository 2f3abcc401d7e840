"""How functionalized random numbers are counted: seed, base offset, and what was drawn since."""

import torch


class PhiloxState:
    """A seed and an offset, the latter as a base and what was consumed behind it."""

    def __init__(self):
        self.reset()

    def reset(self):
        """Nothing is known."""
        self.seed, self.base_offset = torch.tensor(()), torch.tensor(())
        self.relative_offset, self.offset_advanced_at_least_once = 0, False

    def validate_state(self):
        """Refuses a state that was not set."""
        seeds, offsets = self.seed.numel(), self.base_offset.numel()
        if seeds == 0 or offsets == 0:
            raise AssertionError(
                f"seed and base_offset must not be empty, got seed.numel()={seeds}, base_offset.numel()={offsets}"
            )

    def advance_offset(self, consumed_offset):
        """Numbers were drawn."""
        self.offset_advanced_at_least_once = True
        self.relative_offset = self.relative_offset + consumed_offset

    def set_state(self, seed, base_offset, relative_offset=0):
        """Sets all of it."""
        self.seed, self.base_offset, self.relative_offset = seed, base_offset, relative_offset

    def get_state_as_tuple(self):
        """Seed and offset."""
        self.validate_state()
        return self.seed, self.base_offset + self.relative_offset

    def get_state_as_tensor(self):
        """Seed and offset in one tensor."""
        return torch.stack(self.get_state_as_tuple())

    def set_state_from_tensor(self, state):
        """Seed and offset from one tensor."""
        self.seed, self.base_offset = torch.unbind(state)
        self.relative_offset = 0

    def updated_offset(self):
        """The offset after what was drawn, as a multiple of 4."""
        if not self.offset_advanced_at_least_once:
            return self.base_offset
        return (self.base_offset + self.relative_offset + 3) // 4 * 4


class PhiloxStateTracker:
    """The states of a forward and of its backward, one of which is running."""

    running_state = fwd_state = bwd_state = None

    def __enter__(self):
        PhiloxStateTracker.reset()
        return self

    def __exit__(self, *_):
        PhiloxStateTracker.reset()

    @classmethod
    def reset(cls):
        """Forgets both."""
        cls.running_state, cls.fwd_state, cls.bwd_state = PhiloxState(), PhiloxState(), PhiloxState()

    @classmethod
    def mark_beginning_of_forward(cls):
        """The forward draws from here on."""
        cls.running_state = cls.fwd_state

    @classmethod
    def mark_beginning_of_backward(cls):
        """The backward draws from here on."""
        cls.running_state = cls.bwd_state

    @classmethod
    def record_state(cls, seed, offset, mode):
        """What a graph is given as its seed and offset."""
        if mode == "forward":
            cls.fwd_state.set_state(seed, offset)
            cls.mark_beginning_of_forward()
        elif mode == "backward":
            cls.bwd_state.set_state(seed, offset)
        else:
            raise AssertionError(f"mode must be 'backward', got {mode}")

    @classmethod
    def get_state_as_tensor(cls):
        """The running state in one tensor."""
        return cls.running_state.get_state_as_tensor()

    @classmethod
    def get_state_as_tuple(cls):
        """The running seed and offset."""
        return cls.running_state.get_state_as_tuple()

    @classmethod
    def set_state_from_tensor(cls, x):
        """Sets the running state."""
        cls.running_state.set_state_from_tensor(x)

    @classmethod
    def advance_offset(cls, consumed_offset):
        """Numbers were drawn."""
        cls.running_state.advance_offset(consumed_offset)

    @classmethod
    def get_current_relative_offset(cls):
        """What was drawn so far."""
        return cls.running_state.relative_offset

    @staticmethod
    def multiple_of_4(offset):
        """The next multiple of 4."""
        return (offset + 3) // 4 * 4

    @classmethod
    def get_updated_fwd_offset(cls):
        """The offset after the forward."""
        return cls.fwd_state.updated_offset()

    @classmethod
    def get_updated_bwd_offset(cls):
        """The offset after the backward."""
        return cls.bwd_state.updated_offset()
