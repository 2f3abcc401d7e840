# `errno` has Linux's numbers wherever the interpreter runs; argparse, by way of gettext, reads them.
import argparse
import errno
import os

print(sorted(errno.errorcode.items()))
print(errno.EWOULDBLOCK, errno.EDEADLK, errno.EOPNOTSUPP, errno.errorcode[errno.EDEADLK])
try:
    open("/nowhere/at/all")
except FileNotFoundError as error:
    print(error.errno == errno.ENOENT, errno.errorcode[error.errno])

parser = argparse.ArgumentParser(prog="train", description="Trains.")
parser.add_argument("--lr", type=float, default=1e-3, help="step size (default: %(default)s)")
parser.add_argument("--steps", type=int, default=10)
parser.add_argument("--amp", action="store_true")
parser.add_argument("data", nargs="*")
print(parser.parse_args([]))
print(parser.parse_args(["--lr", "0.5", "--amp", "a", "b"]))
parser.print_help()
try:
    parser.parse_args(["--steps", "many"])
except SystemExit as end:
    print("exit", end.code)
