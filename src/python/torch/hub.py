"""`torch.hub`: nothing can be downloaded here."""


def load(*args, **kwargs):
    """Not available."""
    raise NotImplementedError("torch.hub is not available in the playground: nothing can be downloaded")


list = help = download_url_to_file = load_state_dict_from_url = load
