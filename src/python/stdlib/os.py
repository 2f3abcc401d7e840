"""The part of `os` that needs no operating system: the file system is empty and read-only, the environment is the script's own."""

import sys
from _collections_abc import _check_methods
from abc import ABC, abstractmethod
from types import GenericAlias

import stat as st

# In a browser `errno` names no errors.
ENOENT, EROFS = 2, 30

error = OSError
name = "posix"
linesep = "\n"
supports_bytes_environ = False
supports_dir_fd = set()
supports_fd = set()
supports_follow_symlinks = set()
F_OK, X_OK, W_OK, R_OK = 0, 1, 2, 4
O_RDONLY, O_WRONLY, O_RDWR, O_CREAT, O_EXCL, O_TRUNC, O_APPEND = 0, 1, 2, 64, 128, 512, 1024
SEEK_SET, SEEK_CUR, SEEK_END = 0, 1, 2
EX_OK = 0


class PathLike(ABC):
    """Anything that has a path."""

    __slots__ = ()

    @abstractmethod
    def __fspath__(self):
        raise NotImplementedError

    @classmethod
    def __subclasshook__(cls, subclass):
        if cls is PathLike:
            return _check_methods(subclass, "__fspath__")
        return NotImplemented

    __class_getitem__ = classmethod(GenericAlias)


def fspath(path):
    if isinstance(path, (str, bytes)):
        return path
    method = getattr(type(path), "__fspath__", None)
    if method is None:
        raise TypeError(f"expected str, bytes or os.PathLike object, not {type(path).__name__}")
    result = method(path)
    if isinstance(result, (str, bytes)):
        return result
    raise TypeError(f"expected {type(path).__name__}.__fspath__() to return str or bytes, not {type(result).__name__}")


def fsencode(filename):
    filename = fspath(filename)
    return filename.encode("utf-8", "surrogateescape") if isinstance(filename, str) else filename


def fsdecode(filename):
    filename = fspath(filename)
    return filename.decode("utf-8", "surrogateescape") if isinstance(filename, bytes) else filename


class stat_result(tuple):
    """What a file would have."""


import posixpath as path

sys.modules["os.path"] = path
from posixpath import altsep, curdir, defpath, devnull, extsep, pardir, pathsep, sep


class _Environ(dict):
    """The script's environment variables: texts, and only texts."""

    def __setitem__(self, key, value):
        for text in (key, value):
            if not isinstance(text, str):
                raise TypeError(f"str expected, not {type(text).__name__}")
        super().__setitem__(key, value)

    def setdefault(self, key, value):
        if key not in self:
            self[key] = value
        return self[key]

    def update(self, *args, **kwargs):
        for key, value in dict(*args, **kwargs).items():
            self[key] = value

    def copy(self):
        return dict(self)

    def __repr__(self):
        return f"environ({dict.__repr__(self)})"


_ENVIRON = {"HOME": "/", "PWD": "/", "LANG": "C.UTF-8"}
environ = _Environ(_ENVIRON)


def getenv(key, default=None):
    return environ.get(key, default)


def putenv(key, value):
    environ[key] = value


def unsetenv(key):
    environ.pop(key, None)


def urandom(size, /):
    from _random import urandom

    return urandom(size)


def getcwd():
    return "/"


def getcwdb():
    return b"/"


def getpid():
    return 1


def getppid():
    return 0


def getuid():
    return 0


getgid = geteuid = getegid = getuid


def cpu_count():
    return 1


process_cpu_count = cpu_count


def sched_getaffinity(pid):
    return {0}


def getlogin():
    return "visitor"


def uname():
    return ("Playground", "playground", "", "", "wasm32")


def get_terminal_size(fd=None):
    return terminal_size((80, 24))


class terminal_size(tuple):
    """Columns and lines."""

    columns = property(lambda self: self[0])
    lines = property(lambda self: self[1])


def strerror(code):
    return {ENOENT: "No such file or directory", EROFS: "Read-only file system"}.get(code, f"Unknown error {code}")


def _exit(status):
    raise SystemExit(status)


def _missing(path):
    return FileNotFoundError(ENOENT, strerror(ENOENT), fspath(path))


def _read_only(path):
    return OSError(EROFS, strerror(EROFS), fspath(path))


def _is_root(path):
    return path in (".", "/", b".", b"/")


def stat(path, *, dir_fd=None, follow_symlinks=True):
    if isinstance(path, int):
        raise OSError(9, "Bad file descriptor")
    if _is_root(fspath(path)):
        return _Directory((st.S_IFDIR | 0o555, 1, 0, 1, 0, 0, 0, 0, 0, 0))
    raise _missing(path)


class _Directory(stat_result):
    """The only thing there is: the root."""

    st_mode = property(lambda self: self[0])
    st_ino = property(lambda self: self[1])
    st_dev = property(lambda self: self[2])
    st_size = property(lambda self: self[6])
    st_mtime = property(lambda self: self[8])


def lstat(path, *, dir_fd=None):
    return stat(path)


def listdir(path="."):
    if _is_root(fspath(path)):
        return []
    raise _missing(path)


class _Scan(list):
    """An iterator of directory entries, of which there are none."""

    def __enter__(self):
        return self

    def __exit__(self, *args):
        pass

    def close(self):
        pass


def scandir(path="."):
    return _Scan(listdir(path))


def walk(top, topdown=True, onerror=None, followlinks=False):
    if _is_root(fspath(top)):
        yield top, [], []
    elif onerror is not None:
        onerror(_missing(top))


def access(path, mode, **kwargs):
    return _is_root(fspath(path)) and not mode & W_OK


def makedirs(name, mode=0o777, exist_ok=False):
    if _is_root(fspath(name)):
        if exist_ok:
            return
        raise FileExistsError(17, "File exists", fspath(name))
    raise _read_only(name)


def mkdir(path, mode=0o777, *, dir_fd=None):
    makedirs(path)


def open(path, flags, mode=0o777, *, dir_fd=None):
    raise _read_only(path) if flags & (O_WRONLY | O_RDWR | O_CREAT) else _missing(path)


def remove(path, *, dir_fd=None):
    raise _missing(path)


unlink = rmdir = removedirs = readlink = chdir = remove


def rename(src, dst, **kwargs):
    raise _missing(src)


replace = renames = rename


def system(command):
    raise OSError("the playground runs no commands")
