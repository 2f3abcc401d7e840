"""The same as `tqdm`."""

from tqdm import tqdm, trange  # noqa: F401
