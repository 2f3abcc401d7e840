"""`shutil` over files in memory."""

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
    try:
        for entry in os.scandir(path):
            if entry.is_dir():
                rmtree(entry.path, ignore_errors)
            else:
                os.remove(entry.path)
        os.rmdir(path)
    except OSError:
        if not ignore_errors:
            raise


def copyfile(src, dst, **kwargs):
    if os.path.isdir(dst):
        dst = os.path.join(dst, os.path.basename(src))
    with open(src, "rb") as source, open(dst, "wb") as target:
        target.write(source.read())
    return dst


copy = copy2 = copyfile


def copytree(src, dst, dirs_exist_ok=False, **kwargs):
    os.makedirs(dst, exist_ok=dirs_exist_ok)
    for entry in os.scandir(src):
        target = os.path.join(dst, entry.name)
        if entry.is_dir():
            copytree(entry.path, target, dirs_exist_ok)
        else:
            copyfile(entry.path, target)
    return dst


def move(src, dst, **kwargs):
    if os.path.isdir(dst):
        dst = os.path.join(dst, os.path.basename(src))
    os.rename(src, dst)
    return dst
