"""`torch.utils.model_zoo`: names of `torch.hub` that older scripts import from here."""

from torch.hub import load_state_dict_from_url

load_url = load_state_dict_from_url
