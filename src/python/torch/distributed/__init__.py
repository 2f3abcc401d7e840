"""`torch.distributed`: there is one process, and no group of processes can be made."""

_UNINITIALIZED = "Default process group has not been initialized, please make sure to call init_process_group."
_ASKS_GROUP = (
    "get_rank get_world_size get_backend barrier all_reduce all_gather all_gather_into_tensor all_gather_object all_to_all "
    "broadcast broadcast_object_list gather gather_object irecv isend monitored_barrier new_group recv reduce "
    "reduce_scatter reduce_scatter_tensor scatter scatter_object_list send destroy_process_group"
).split()


def is_available():
    """True: scripts ask this before they ask whether there is a group."""
    return True


def is_initialized():
    """False."""
    return False


def is_nccl_available():
    """False."""
    return False


is_mpi_available = is_gloo_available = is_torchelastic_launched = is_nccl_available


def init_process_group(backend=None, init_method=None, timeout=None, world_size=-1, rank=-1, *args, **kwargs):
    """Fails as where no launcher has described the group."""
    import os

    for variable in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        given = (variable == "RANK" and rank != -1) or (variable == "WORLD_SIZE" and world_size != -1)
        if not given and variable not in os.environ:
            raise ValueError(
                "Error initializing torch.distributed using env:// rendezvous: "
                f"environment variable {variable} expected, but not set"
            )
    raise RuntimeError("torch.distributed.init_process_group is not available in the playground: there is one process")


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    if name in _ASKS_GROUP:

        def ask(*args, **kwargs):
            raise ValueError(_UNINITIALIZED)

        ask.__name__ = name
        return ask
    raise AttributeError(f"module 'torch.distributed' has no attribute '{name}' (there is one process in the playground)")
