"""What needs no files of `shutil`."""

import os


def get_terminal_size(fallback=(80, 24)):
    def number(name, otherwise):
        try:
            return int(os.environ[name]) or otherwise
        except (KeyError, ValueError):
            return otherwise

    return os.terminal_size((number("COLUMNS", fallback[0]), number("LINES", fallback[1])))


def which(cmd, mode=1, path=None):
    return None


def rmtree(path, ignore_errors=False, **kwargs):
    if not ignore_errors:
        os.remove(path)


def copy(src, dst, **kwargs):
    os.stat(src)


copyfile = copy2 = copytree = move = copy
