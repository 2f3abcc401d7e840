"""`torch.utils.data`: datasets, samplers and the loader, in one process."""

_PARTS = {
    "dataset": "Dataset IterableDataset TensorDataset StackDataset ConcatDataset ChainDataset Subset random_split",
    "sampler": (
        "Sampler SequentialSampler RandomSampler SubsetRandomSampler WeightedRandomSampler BatchSampler"
    ),
    "dataloader": "DataLoader default_collate default_convert get_worker_info",
    "distributed": "DistributedSampler",
}
_HOME = {name: part for part, names in _PARTS.items() for name in names.split()}

__all__ = sorted(_HOME)


def __getattr__(name):
    part = _HOME.get(name)
    if part is None:
        if name in _PARTS:
            return __import__(f"torch.utils.data.{name}", fromlist=["_"])
        raise AttributeError(f"module 'torch.utils.data' has no attribute '{name}'")
    value = getattr(__import__(f"torch.utils.data.{part}", fromlist=[name]), name)
    globals()[name] = value
    return value
