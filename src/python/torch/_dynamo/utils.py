"""Counters of the front end."""

from collections import Counter, defaultdict

counters = defaultdict(Counter)


def _count(group, key, amount=1):
    counters[group][key] += amount
