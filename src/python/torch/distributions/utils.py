"""What distributions are written with."""

from torch.distributions.distribution import _Late as lazy_property
from torch.distributions.distribution import broadcast_all, clamp_probs, logits_to_probs, probs_to_logits

__all__ = ["broadcast_all", "clamp_probs", "lazy_property", "logits_to_probs", "probs_to_logits"]
