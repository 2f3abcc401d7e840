"""Files in memory, for one run: what a script writes it can read again, and nothing is left when it ends.

A path names a folder or a file below the root. A file that is open for writing shows what was written so far."""

import io
import posixpath
from errno import EEXIST, EISDIR, ENOENT, ENOSPC, ENOTDIR, ENOTEMPTY

# In a browser `OSError` finds no class by a number.
CLASSES = {ENOENT: FileNotFoundError, EEXIST: FileExistsError, ENOTDIR: NotADirectoryError, EISDIR: IsADirectoryError}
MESSAGES = {
    ENOENT: "No such file or directory",
    EEXIST: "File exists",
    ENOTDIR: "Not a directory",
    EISDIR: "Is a directory",
    ENOSPC: "No space left on device",
    ENOTEMPTY: "Directory not empty",
}
# How much all files may hold together.
CAPACITY = 64 << 20


class File:
    """What a path names: bytes, or a writer that is still open."""

    def __init__(self):
        self.data = b""
        self.writer = None

    def content(self):
        if self.writer is not None and not self.writer.closed:
            self.data = self.writer._bytes()
        return self.data


# A folder is a dictionary of its entries.
root = {"tmp": {}}
cwd = "/"


def forget():
    global cwd
    root.clear()
    root["tmp"] = {}
    cwd = "/"


def error(code, path):
    return CLASSES.get(code, OSError)(code, MESSAGES[code], path)


def _names(path):
    if isinstance(path, bytes):
        path = path.decode()
    path = posixpath.normpath(posixpath.join(cwd, path))
    return [name for name in path.split("/") if name]


def find(path):
    """The file or folder of a path."""
    here = root
    for name in _names(path):
        if isinstance(here, File):
            raise error(ENOTDIR, path)
        if name not in here:
            raise error(ENOENT, path)
        here = here[name]
    return here


def folder_of(path):
    """The folder that holds a path, and the name in it."""
    names = _names(path)
    if not names:
        raise error(EEXIST, path)
    here = root
    for name in names[:-1]:
        here = here.get(name)
        if here is None:
            raise error(ENOENT, path)
        if isinstance(here, File):
            raise error(ENOTDIR, path)
    return here, names[-1]


def make_folder(path):
    folder, name = folder_of(path)
    if name in folder:
        raise error(EEXIST, path)
    folder[name] = {}


def remove_file(path):
    folder, name = folder_of(path)
    if isinstance(find(path), dict):
        raise error(EISDIR, path)
    del folder[name]


def remove_folder(path):
    here = find(path)
    if isinstance(here, File):
        raise error(ENOTDIR, path)
    if here:
        raise error(ENOTEMPTY, path)
    folder, name = folder_of(path)
    del folder[name]


def move(source, target):
    here = find(source)
    folder, name = folder_of(target)
    if isinstance(folder.get(name), dict):
        raise error(EISDIR if isinstance(here, File) else ENOTEMPTY, target)
    old_folder, old_name = folder_of(source)
    del old_folder[old_name]
    folder[name] = here


def held(folder=root):
    return sum(len(e.data) if isinstance(e, File) else held(e) for e in folder.values())


class _Open:
    """What an open file has beside a buffer: its name, its mode, and the file that gets what was written."""

    def _begin(self, file, path, mode):
        self._file, self.name, self.mode = file, path, mode
        self._reads, self._writes = "r" in mode or "+" in mode, "r" not in mode or "+" in mode
        if self._writes:
            file.writer = self
        if "a" in mode:
            self.seek(0, 2)

    def _check(self, allowed, what):
        if not allowed:
            raise io.UnsupportedOperation(f"not {what}")

    def readable(self):
        return self._reads

    def writable(self):
        return self._writes

    def fileno(self):
        raise io.UnsupportedOperation("fileno")

    def flush(self):
        pass

    def read(self, *args):
        self._check(self._reads, "readable")
        return super().read(*args)

    def readline(self, *args):
        self._check(self._reads, "readable")
        return super().readline(*args)

    def write(self, data):
        self._check(self._writes, "writable")
        if held() + len(data) > CAPACITY:
            raise error(ENOSPC, self.name)
        return super().write(data)

    def close(self):
        if not self.closed and self._writes and self._file.writer is self:
            self._file.data, self._file.writer = self._bytes(), None
        super().close()

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.close()

    def __del__(self):
        pass


class BinaryFile(_Open, io.BytesIO):
    """A file opened with "b"."""

    def _bytes(self):
        return self.getvalue()


class TextFile(_Open, io.StringIO):
    """A file opened as text."""

    encoding, errors = "utf-8", "strict"

    def _bytes(self):
        return self.getvalue().encode(self.encoding, self.errors)


def open(path, mode="r", buffering=-1, encoding=None, errors=None, newline=None, closefd=True, opener=None):
    """The builtin, of a path of this file system."""
    kinds = set(mode) & set("rwxa")
    if len(kinds) != 1 or set(mode) - set("rwxabt+"):
        raise ValueError(f"invalid mode: '{mode}'")
    if "r" in mode:
        file = find(path)
    else:
        folder, name = folder_of(path)
        if "x" in mode and name in folder:
            raise error(EEXIST, path)
        file = folder.setdefault(name, File())
    if isinstance(file, dict):
        raise error(EISDIR, path)
    data = b"" if "w" in mode else file.content()
    if encoding == "locale":
        encoding = None
    if "b" in mode:
        opened = BinaryFile(data)
    else:
        text = data.decode(encoding or "utf-8", errors or "strict")
        opened = TextFile(text if newline is not None else text.replace("\r\n", "\n"), newline="")
    opened._begin(file, path, mode)
    return opened
