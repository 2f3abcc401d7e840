"""`DataLoader`: batches of a dataset, in this process whatever number of workers is asked for."""

import torch
from torch.utils.data.dataset import IterableDataset
from torch.utils.data.sampler import BatchSampler, RandomSampler, SequentialSampler

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]


def get_worker_info():
    """There are no workers."""
    return None


def default_convert(data):
    """The data, its sequences as lists: there is nothing of another library to convert."""
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*map(default_convert, data))
    if isinstance(data, (list, tuple)):
        return [default_convert(one) for one in data]
    if isinstance(data, dict):
        return _rebuilt(type(data), {key: default_convert(value) for key, value in data.items()})
    return data


def _rebuilt(kind, values):
    """A container of a class, or a plain one where the class cannot be called that way."""
    try:
        return kind(values)
    except TypeError:
        return values


def default_collate(batch):
    """The items of a batch stacked into tensors, inside their containers."""
    first = batch[0]
    kind = type(first)
    if isinstance(first, torch.Tensor):
        return torch.stack(batch, 0)
    if isinstance(first, float):
        return torch.tensor(batch, dtype=torch.float64)
    if isinstance(first, int):
        return torch.tensor(batch)
    if isinstance(first, (str, bytes)):
        return batch
    if hasattr(first, "__torch_array__"):
        is_array = kind.__name__ == "ndarray" and first.shape != ()
        return default_collate([torch.as_tensor(one) for one in batch]) if is_array else torch.as_tensor(batch)
    if hasattr(first, "keys"):
        return _rebuilt(kind, {key: default_collate([item[key] for item in batch]) for key in first})
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return kind(*(default_collate(column) for column in zip(*batch)))
    if isinstance(first, (list, tuple)):
        if any(len(item) != len(first) for item in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        columns = [default_collate(column) for column in zip(*batch)]
        return columns if isinstance(first, tuple) else _rebuilt(kind, columns)
    raise TypeError(
        f"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {kind}"
    )


class _Forever:
    """The sampler of a dataset that is iterated."""

    def __iter__(self):
        while True:
            yield None


class DataLoader:
    """Iterates over batches."""

    def __class_getitem__(cls, item):
        return cls

    def __init__(
        self,
        dataset,
        batch_size=1,
        shuffle=None,
        sampler=None,
        batch_sampler=None,
        num_workers=0,
        collate_fn=None,
        pin_memory=False,
        drop_last=False,
        timeout=0,
        worker_init_fn=None,
        multiprocessing_context=None,
        generator=None,
        *,
        prefetch_factor=None,
        persistent_workers=False,
        pin_memory_device="",
        in_order=True,
    ):
        if num_workers < 0:
            raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
        if timeout < 0:
            raise ValueError("timeout option should be non-negative")
        if num_workers == 0 and prefetch_factor is not None:
            raise ValueError(
                "prefetch_factor option could only be specified in multiprocessing.let num_workers > 0 to enable "
                "multiprocessing, otherwise set prefetch_factor to None."
            )
        if persistent_workers and num_workers == 0:
            raise ValueError("persistent_workers option needs num_workers > 0")
        self.dataset = dataset
        self.num_workers = num_workers
        self.pin_memory = pin_memory
        self.generator = generator
        self._iterable = isinstance(dataset, IterableDataset)
        if self._iterable:
            if shuffle not in (False, None):
                raise ValueError(
                    f"DataLoader with IterableDataset: expected unspecified shuffle option, but got shuffle={shuffle}"
                )
            for name, value in (("sampler", sampler), ("batch_sampler", batch_sampler)):
                if value is not None:
                    raise ValueError(
                        f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={value}"
                    )
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
                )
            batch_size, drop_last = None, False
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
        if sampler is None:
            if self._iterable:
                sampler = _Forever()
            elif shuffle:
                sampler = RandomSampler(dataset, generator=generator)
            else:
                sampler = SequentialSampler(dataset)
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        if collate_fn is None:
            collate_fn = default_convert if batch_sampler is None else default_collate
        self.collate_fn = collate_fn

    def __iter__(self):
        # What workers would be seeded from; drawn also where there are none.
        torch.empty((), dtype=torch.int64).random_(generator=self.generator)
        return self._batches()

    def _batches(self):
        if self.batch_sampler is None:
            items = iter(self.dataset) if self._iterable else (self.dataset[index] for index in self.sampler)
            for item in items:
                yield self.collate_fn(item)
            return
        source = iter(self.dataset) if self._iterable else None
        for indices in self.batch_sampler:
            if source is None:
                items = self._fetch(indices)
            else:
                items = []
                for _, item in zip(indices, source):
                    items.append(item)
                if not items or (self.drop_last and len(items) < len(indices)):
                    return
            yield self.collate_fn(items)
            if source is not None and len(items) < len(indices):
                return

    def _fetch(self, indices):
        if hasattr(self.dataset, "__getitems__") and self.dataset.__getitems__:
            return self.dataset.__getitems__(indices)
        return [self.dataset[index] for index in indices]

    def __len__(self):
        if self._iterable:
            count = len(self.dataset)
            if self.batch_size is None:
                return count
            return count // self.batch_size if self.drop_last else -(-count // self.batch_size)
        return len(self.sampler if self.batch_sampler is None else self.batch_sampler)
