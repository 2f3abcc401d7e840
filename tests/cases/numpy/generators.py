# The generators to the bit: samples' bytes are hashed, and the first of them are shown.
import hashlib

import numpy as np


def bits(samples):
    samples = np.ascontiguousarray(samples)
    digest = int.from_bytes(hashlib.sha256(samples.tobytes()).digest()[:7], "little")
    return samples.dtype.name, samples.shape, digest


def show(name, *all_samples):
    for samples in all_samples:
        print(name, *bits(samples), np.ravel(samples)[:3])


for seed in (0, 42, 2**32 - 1, [1, 2, 3]):
    np.random.seed(seed)
    show("rand", np.random.rand(1000), np.random.random((3, 5)), np.random.random_sample(7))
    show("randn", np.random.randn(10001), np.random.standard_normal((2, 3)), np.random.normal(3, 2, 100))
    show("normal", np.random.normal([0, 10], [1, 2], (3, 2)), np.random.normal(np.zeros((2, 2)), 1.0))
    show("randint", np.random.randint(0, 10, 1000), np.random.randint(-5, 2**40, 100), np.random.randint(7, size=(2, 3)))
    show("small", *(np.random.randint(0, 100, 101, dtype=t) for t in (np.int8, np.uint8, np.int16, np.int32, np.uint32)))
    show("bool", np.random.randint(0, 2, 100, dtype=bool), np.random.randint([1, 2, 3], [10, 20, 30]))
    show("uniform", np.random.uniform(-1, 1, 1000), np.random.uniform([0, 1], [1, 5], (2, 2)), np.random.exponential(2.0, 5))
    show("choice", np.random.choice(10, 100), np.random.choice(100, 30, replace=False), np.random.choice([5, 6, 7], 4))
    show("weights", np.random.choice(4, 100, p=[0.1, 0.2, 0.3, 0.4]), np.random.choice(4, 3, replace=False, p=[0.1, 0.2, 0.3, 0.4]))
    show("permutation", np.random.permutation(1000), np.random.permutation(np.arange(6).reshape(3, 2)), np.random.permutation([1, 2, 3]))
    x, y, z = np.arange(20), np.arange(12).reshape(6, 2), list(range(8))
    for items in (x, y, z):
        np.random.shuffle(items)
    show("shuffle", x, y, np.array(z))
    print(type(np.random.rand()).__name__, type(np.random.randint(3)).__name__, np.random.bytes(5), np.random.get_state()[2:])

state = np.random.get_state()
first = np.random.randn(3)
np.random.set_state(state)
print((np.random.randn(3) == first).all())
mine = np.random.RandomState(7)
show("RandomState", mine.rand(3), mine.randn(4), mine.randint(0, 9, 5), np.random.RandomState(7).rand(3))

for seed in (0, 42, 12345678901234567890, [1, 2, 3], np.random.SeedSequence(9)):
    rng = np.random.default_rng(seed)
    show("random", rng.random(1000), rng.random((3, 5)), rng.random(101, dtype=np.float32))
    show("standard_normal", rng.standard_normal(10000), rng.standard_normal((2, 3)), rng.standard_normal(5001, dtype=np.float32))
    show("normal", rng.normal(3, 2, 100), rng.normal([0, 10], [1, 2], (3, 2)), rng.normal(loc=np.zeros(3)))
    show("exponential", rng.exponential(2.0, 5000), rng.standard_exponential(3))
    show("integers", rng.integers(0, 10, 1000), rng.integers(-5, 2**40, 100), rng.integers(7, size=(2, 3), endpoint=True))
    show("small", *(rng.integers(0, 100, 101, dtype=t) for t in (np.int8, np.uint8, np.int16, np.int32, np.uint32)))
    show("bool", rng.integers(0, 2, 100, dtype=bool), rng.integers([1, 2, 3], [10, 20, 30]), rng.integers(-(2**63), 2**63 - 1, 2))
    show("uniform", rng.uniform(-1, 1, 1000), rng.uniform([0, 1], [1, 5], (2, 2)))
    show("choice", rng.choice(10, 100), rng.choice(100, 30, replace=False), rng.choice([5, 6, 7], 4))
    show("without", rng.choice(20000, 1000, replace=False), rng.choice(20000, 300, replace=False), rng.choice(50, 9, replace=False, shuffle=False))
    show("weights", rng.choice(4, 100, p=[0.1, 0.2, 0.3, 0.4]), rng.choice(4, 3, replace=False, p=[0.1, 0.2, 0.3, 0.4]))
    show("rows", rng.choice(np.arange(6).reshape(3, 2), 2), rng.choice(np.arange(6).reshape(3, 2), 1, axis=1))
    show("permutation", rng.permutation(1000), rng.permutation(np.arange(6).reshape(3, 2)), rng.permutation(np.arange(6).reshape(2, 3), axis=1))
    show("permuted", rng.permuted(np.arange(12).reshape(3, 4), axis=1), rng.permuted(np.arange(5)))
    x, y, z = np.arange(20), np.arange(12).reshape(6, 2), list(range(8))
    for items in (x, y, z):
        rng.shuffle(items)
    rng.shuffle(y, axis=1)
    show("shuffle", x, y, np.array(z))
    print(type(rng.random()).__name__, type(rng.integers(3)).__name__, type(rng.choice(3)).__name__, rng.bytes(5), rng)
    print(rng.bit_generator.state)

# Tails of the ziggurat.
rng = np.random.default_rng(11)
show("tails", rng.standard_normal(100000), rng.standard_exponential(50000), rng.standard_normal(50000, dtype=np.float32))
sequence = np.random.SeedSequence(5)
print(sequence, sequence.generate_state(4), [child.generate_state(2).tolist() for child in sequence.spawn(2)])
print([child.random() for child in np.random.default_rng(3).spawn(2)])
print(np.random.Generator(np.random.MT19937(5)).random(3), np.random.Generator(np.random.PCG64(5)).random(3))
rng = np.random.default_rng(1)
rng.bit_generator.advance(10)
state = rng.bit_generator.state
first = rng.normal(size=3)
rng.bit_generator.state = state
print(first, (rng.normal(size=3) == first).all())
