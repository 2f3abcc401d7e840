"""The part of `os` that needs no operating system: files are in memory (`_files`), the environment is the script's own."""

import sys
from _collections_abc import _check_methods
from abc import ABC, abstractmethod
from types import GenericAlias

import _files
import stat as st

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
    return _files.MESSAGES.get(code, f"Unknown error {code}")


def _exit(status):
    raise SystemExit(status)


class _Status(stat_result):
    """Of a file or a folder."""

    st_mode = property(lambda self: self[0])
    st_ino = property(lambda self: self[1])
    st_dev = property(lambda self: self[2])
    st_size = property(lambda self: self[6])
    st_atime = property(lambda self: self[7])
    st_mtime = property(lambda self: self[8])
    st_ctime = property(lambda self: self[9])


def stat(path, *, dir_fd=None, follow_symlinks=True):
    if isinstance(path, int):
        raise OSError(9, "Bad file descriptor")
    found = _files.find(fspath(path))
    is_folder = isinstance(found, dict)
    kind = st.S_IFDIR | 0o755 if is_folder else st.S_IFREG | 0o644
    return _Status((kind, id(found), 0, 1, 0, 0, 0 if is_folder else len(found.content()), 0, 0, 0))


def lstat(path, *, dir_fd=None):
    return stat(path)


def listdir(path="."):
    path = fspath(path)
    found = _files.find(path)
    if not isinstance(found, dict):
        raise _files.error(_files.ENOTDIR, path)
    return list(found)


class DirEntry:
    """An entry of a folder."""

    def __init__(self, folder, name):
        self.name, self.path = name, _join(folder, name)

    def is_dir(self, *, follow_symlinks=True):
        return path.isdir(self.path)

    def is_file(self, *, follow_symlinks=True):
        return path.isfile(self.path)

    def is_symlink(self):
        return False

    def stat(self, *, follow_symlinks=True):
        return stat(self.path)

    def __fspath__(self):
        return self.path

    def __repr__(self):
        return f"<DirEntry {self.name!r}>"


def _join(folder, name):
    return path.join(folder, name)


class _Scan(list):
    """The entries of a folder."""

    def __enter__(self):
        return self

    def __exit__(self, *args):
        pass

    def close(self):
        pass


def scandir(path="."):
    folder = fspath(path)
    return _Scan(DirEntry(folder, name) for name in listdir(folder))


def walk(top, topdown=True, onerror=None, followlinks=False):
    top = fspath(top)
    try:
        entries = scandir(top)
    except OSError as error:
        if onerror is not None:
            onerror(error)
        return
    folders, files = [e.name for e in entries if e.is_dir()], [e.name for e in entries if e.is_file()]
    if topdown:
        yield top, folders, files
    for name in folders:
        yield from walk(path.join(top, name), topdown, onerror, followlinks)
    if not topdown:
        yield top, folders, files


def access(path, mode, **kwargs):
    try:
        _files.find(fspath(path))
    except OSError:
        return False
    return True


def mkdir(path, mode=0o777, *, dir_fd=None):
    _files.make_folder(fspath(path))


def makedirs(name, mode=0o777, exist_ok=False):
    name = fspath(name)
    head, tail = path.split(name)
    if not tail:
        head, tail = path.split(head)
    if head and tail and not path.exists(head):
        makedirs(head, mode, True)
    try:
        mkdir(name, mode)
    except OSError:
        if not exist_ok or not path.isdir(name):
            raise


def open(path, flags, mode=0o777, *, dir_fd=None):
    raise OSError("the playground has no file descriptors; the builtin open() works")


def remove(path, *, dir_fd=None):
    _files.remove_file(fspath(path))


unlink = remove


def rmdir(path, *, dir_fd=None):
    _files.remove_folder(fspath(path))


def removedirs(name):
    rmdir(name)


def readlink(path, *, dir_fd=None):
    stat(path)
    raise OSError(22, "Invalid argument", path)


def getcwd():
    return _files.cwd


def getcwdb():
    return _files.cwd.encode()


def chdir(folder):
    folder = fspath(folder)
    if not isinstance(_files.find(folder), dict):
        raise _files.error(_files.ENOTDIR, folder)
    _files.cwd = path.normpath(path.join(_files.cwd, folder))


def rename(src, dst, **kwargs):
    if path.isfile(fspath(dst)):
        remove(dst)
    _files.move(fspath(src), fspath(dst))


replace = renames = rename


def system(command):
    raise OSError("the playground runs no commands")
