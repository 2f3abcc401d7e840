"""x.T, x.mT, x.H and x.mH of what is no matrix: warnings, each once. torch.compile of what cannot be called."""
import warnings

import torch

for name in ("T", "mT", "H", "mH"):
    for shape in ((), (2,), (2, 3), (2, 3, 4), (3,), ()):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                print(name, shape, tuple(getattr(torch.ones(shape), name).shape))
            except RuntimeError as e:
                print(name, shape, e)
        print([(w.category.__name__, str(w.message).partition(" (Triggered")[0]) for w in caught])
for f in (5, "a", [1]):
    try:
        torch.compile(f)
    except AssertionError as e:
        print(e)
