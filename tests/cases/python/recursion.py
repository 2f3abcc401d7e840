def down(n):
    return down(n + 1)


try:
    down(0)
except RecursionError as error:
    print("caught:", error)


class Node:
    def __getattr__(self, name):
        return getattr(self, name + "x")


try:
    Node().a
except RecursionError as error:
    print("caught too")
down(0)
