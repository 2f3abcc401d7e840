"""Counters of the front end."""

from collections import Counter, defaultdict

counters = defaultdict(Counter)
