"""`OrderedSet`: a set that keeps the order in which its elements came."""

from collections.abc import MutableSet

__all__ = ["OrderedSet"]


class OrderedSet(MutableSet):
    """The keys of a dict; methods of `set` beside those of its operators."""

    def __init__(self, iterable=None):
        self._dict = dict.fromkeys(iterable if iterable is not None else ())

    def __contains__(self, element):
        return element in self._dict

    def __iter__(self):
        return iter(self._dict)

    def __reversed__(self):
        return reversed(self._dict)

    def __len__(self):
        return len(self._dict)

    def __repr__(self):
        return f"{type(self).__name__}({list(self)})"

    def __reduce__(self):
        return type(self), (list(self),)

    def add(self, elem):
        self._dict[elem] = None

    def discard(self, elem):
        self._dict.pop(elem, None)

    def clear(self):
        self._dict.clear()

    def pop(self):
        """Takes the last element."""
        if not self:
            raise KeyError("pop from an empty set")
        return self._dict.popitem()[0]

    def copy(self):
        return type(self)(self)

    def update(self, *others):
        for other in others:
            self._dict.update(dict.fromkeys(other))

    def union(self, *others):
        found = self.copy()
        found.update(*others)
        return found

    def difference(self, *others):
        found = self.copy()
        found.difference_update(*others)
        return found

    def difference_update(self, *others):
        for other in others:
            for element in other:
                self.discard(element)

    def intersection(self, *others):
        others = [set(other) for other in others]
        return type(self)(element for element in self if all(element in other for other in others))

    def intersection_update(self, *others):
        self._dict = self.intersection(*others)._dict

    def symmetric_difference(self, other):
        return self ^ OrderedSet(other)

    def symmetric_difference_update(self, other):
        self._dict = self.symmetric_difference(other)._dict

    def issubset(self, other):
        return self <= set(other)

    def issuperset(self, other):
        return all(element in self for element in other)
