"""`tempfile` over files in memory: names are counted, since a run is alone."""

import os
import shutil
from itertools import count

tempdir = None
_count = count()


def gettempdir():
    os.makedirs("/tmp", exist_ok=True)
    return "/tmp"


def mktemp(suffix="", prefix="tmp", dir=None):
    return os.path.join(dir or gettempdir(), f"{prefix}{next(_count):08}{suffix}")


def mkdtemp(suffix="", prefix="tmp", dir=None):
    path = mktemp(suffix or "", prefix or "tmp", dir)
    os.mkdir(path)
    return path


class TemporaryDirectory:
    """A folder for a block."""

    def __init__(self, suffix=None, prefix=None, dir=None, ignore_cleanup_errors=False, *, delete=True):
        self.name = mkdtemp(suffix, prefix, dir)
        self._delete = delete

    def __repr__(self):
        return f"<TemporaryDirectory {self.name!r}>"

    def __enter__(self):
        return self.name

    def __exit__(self, *args):
        if self._delete:
            self.cleanup()

    def cleanup(self):
        shutil.rmtree(self.name, ignore_errors=True)


class _Temporary:
    """An open file with a name, which goes when it is closed."""

    def __init__(self, file, name, delete):
        self.file, self.name, self._delete = file, name, delete

    def __getattr__(self, name):
        return getattr(self.file, name)

    def __iter__(self):
        return iter(self.file)

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.close()

    def close(self):
        if not self.file.closed:
            self.file.close()
            if self._delete:
                os.unlink(self.name)


def NamedTemporaryFile(mode="w+b", buffering=-1, encoding=None, newline=None, suffix=None, prefix=None, dir=None, delete=True, **kwargs):
    name = mktemp(suffix or "", prefix or "tmp", dir)
    return _Temporary(open(name, mode, encoding=encoding), name, delete)


TemporaryFile = NamedTemporaryFile
