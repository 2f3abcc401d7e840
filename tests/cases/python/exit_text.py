import atexit
import sys

atexit.register(print, "goodbye")
try:
    sys.exit("stopped early")
finally:
    print("finally")
