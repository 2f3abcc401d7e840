"""Seeds and bit generators: numpy's `SeedSequence`, PCG64 and MT19937."""

# Constants of seed sequences and of PCG64. Source: O'Neill
import operator

import _numpy

from numpy._array import array, asarray, ndarray
from numpy._dtypes import resolve

_WORD = 0xFFFFFFFF


def _words(number):
    """A number as words of 32 bits, the lowest first."""
    if number < 0:
        raise ValueError("expected non-negative integer")
    words = [number & _WORD]
    while number := number >> 32:
        words.append(number & _WORD)
    return words


def _entropy_words(entropy):
    """Numbers, or lists of them, as words."""
    if isinstance(entropy, (list, tuple, ndarray, range)):
        return [word for part in (entropy.tolist() if isinstance(entropy, ndarray) else entropy) for word in _entropy_words(part)]
    if isinstance(entropy, str):
        raise ValueError("unrecognized seed string")
    if isinstance(entropy, float):
        raise TypeError("SeedSequence expects int or sequence of ints for entropy not " + repr(entropy))
    return _words(operator.index(entropy))


class SeedSequence:
    """Words of high quality made from any numbers."""

    def __init__(self, entropy=None, *, spawn_key=(), pool_size=4, n_children_spawned=0):
        if entropy is None:
            import random

            entropy = random.SystemRandom().getrandbits(128)
        self.entropy, self.spawn_key = entropy, tuple(spawn_key)
        self.pool_size, self.n_children_spawned = pool_size, n_children_spawned
        self._mix()

    def __repr__(self):
        lines = [f"SeedSequence(\n    entropy={self.entropy!r},"]
        if self.spawn_key:
            lines.append(f"    spawn_key={self.spawn_key!r},")
        if self.n_children_spawned:
            lines.append(f"    n_children_spawned={self.n_children_spawned!r},")
        return "\n".join([*lines, ")"])

    def _mix(self):
        constant = 0x43B0D7E5

        def hashed(word):
            nonlocal constant
            word = (word ^ constant) & _WORD
            constant = constant * 0x931E8875 & _WORD
            word = word * constant & _WORD
            return word ^ word >> 16

        def mixed(x, y):
            word = (0xCA01F9DD * x - 0x4973F715 * y) & _WORD
            return word ^ word >> 16

        words, size = _entropy_words(self.entropy), self.pool_size
        spawned = [word for key in self.spawn_key for word in _entropy_words(key)]
        if spawned and len(words) < size:
            words += [0] * (size - len(words))
        words += spawned
        pool = [hashed(words[i] if i < len(words) else 0) for i in range(size)]
        for source in range(size):
            for to in range(size):
                if source != to:
                    pool[to] = mixed(pool[to], hashed(pool[source]))
        for word in words[size:]:
            for to in range(size):
                pool[to] = mixed(pool[to], hashed(word))
        self._pool = pool

    @property
    def pool(self):
        return array(self._pool, resolve("uint32"))

    def words(self, count):
        """So many words of 32 bits."""
        constant, found = 0x8B51F9DD, []
        for i in range(count):
            word = self._pool[i % self.pool_size] ^ constant
            constant = constant * 0x58F38DED & _WORD
            word = word * constant & _WORD
            found.append(word ^ word >> 16)
        return found

    def generate_state(self, n_words, dtype="uint32"):
        dtype = resolve(dtype)
        if dtype.name == "uint32":
            return array(self.words(n_words), dtype)
        words = self.words(2 * n_words)
        return array([low | high << 32 for low, high in zip(words[::2], words[1::2])], dtype)

    def spawn(self, n_children):
        first = self.n_children_spawned
        self.n_children_spawned += n_children
        return [
            SeedSequence(self.entropy, spawn_key=(*self.spawn_key, i), pool_size=self.pool_size) for i in range(first, first + n_children)
        ]


class BitGenerator:
    """Where random bits come from."""

    def __init__(self, seed=None):
        self.seed_seq = seed if isinstance(seed, SeedSequence) else SeedSequence(seed)
        self._source = self._seeded(self.seed_seq)

    def __repr__(self):
        return f"<{type(self).__module__}.{type(self).__name__} object at 0x{id(self):X}>"

    def spawn(self, n_children):
        return [type(self)(seed) for seed in self.seed_seq.spawn(n_children)]

    def random_raw(self, size=None, output=True):
        draw = self._source.next64 if isinstance(self, PCG64) else self._source.next32
        if size is None:
            return draw()
        from numpy._functions import _shaped

        shape, count = _shaped(size), 1
        for n in shape:
            count *= n
        return array([draw() for _ in range(count)], "uint64").reshape(shape)


class PCG64(BitGenerator):
    """PCG XSL RR 128/64."""

    def _seeded(self, sequence):
        words = sequence.words(8)
        a, b, c, d = (low | high << 32 for low, high in zip(words[::2], words[1::2]))
        state, increment = a << 64 | b, ((c << 64 | d) << 1 | 1) & 2**128 - 1
        # The first steps of the generator, from zero and from the seed.
        state = (state + increment) * 0x2360ED051FC65DA44385DF649FCCF645 + increment & 2**128 - 1
        return self._of(state, increment, 0, 0)

    def _of(self, state, increment, has_half, half):
        parts = [number >> 32 * i & _WORD for number in (state, increment) for i in range(4)]
        return _numpy.BitGenerator("PCG64", [*parts, has_half, half])

    @property
    def state(self):
        words = self._source.words()
        numbers = [sum(word << 32 * i for i, word in enumerate(words[at : at + 4])) for at in (0, 4)]
        return {
            "bit_generator": "PCG64", "state": {"state": numbers[0], "inc": numbers[1]}, "has_uint32": words[8], "uinteger": words[9],
        }

    @state.setter
    def state(self, value):
        if value.get("bit_generator") != "PCG64":
            raise ValueError("state must be for a PCG64 RNG")
        inner = value["state"]
        self._source = self._of(inner["state"], inner["inc"], value["has_uint32"], value["uinteger"])

    def advance(self, delta):
        """As if so many draws had been made."""
        state, n = self.state, delta % 2**128
        multiplier, plus = 0x2360ED051FC65DA44385DF649FCCF645, state["state"]["inc"]
        all_multiplier, all_plus = 1, 0
        while n:
            if n & 1:
                all_multiplier, all_plus = all_multiplier * multiplier % 2**128, (all_plus * multiplier + plus) % 2**128
            multiplier, plus = multiplier * multiplier % 2**128, (multiplier + 1) * plus % 2**128
            n >>= 1
        moved = (all_multiplier * state["state"]["state"] + all_plus) % 2**128
        self._source = self._of(moved, state["state"]["inc"], 0, 0)
        return self


def twister_of_word(seed):
    """MT19937 of one word."""
    words = [seed & _WORD]
    for i in range(1, 624):
        words.append(1812433253 * (words[-1] ^ words[-1] >> 30) + i & _WORD)
    return _numpy.BitGenerator("MT19937", [*words, 624, 0, 0, 0])


def twister_of_key(key):
    """MT19937 of several words."""
    state, i = list(twister_of_word(19650218).words()[:624]), 1
    for k in range(max(624, len(key))):
        j = k % len(key)
        state[i] = (state[i] ^ (state[i - 1] ^ state[i - 1] >> 30) * 1664525) + key[j] + j & _WORD
        i += 1
        if i == 624:
            state[0], i = state[623], 1
    for _ in range(623):
        state[i] = (state[i] ^ (state[i - 1] ^ state[i - 1] >> 30) * 1566083941) - i & _WORD
        i += 1
        if i == 624:
            state[0], i = state[623], 1
    state[0] = 0x80000000
    return _numpy.BitGenerator("MT19937", [*state, 624, 0, 0, 0])


class MT19937(BitGenerator):
    """The Mersenne Twister."""

    def _seeded(self, sequence):
        words = sequence.words(624)
        words[0] = 0x80000000
        return _numpy.BitGenerator("MT19937", [*words, 623, 0, 0, 0])

    def _legacy_seeding(self, seed):
        if seed is None:
            self._source = self._seeded(SeedSequence())
            return
        if hasattr(seed, "__index__"):
            number = operator.index(seed)
            if not 0 <= number <= _WORD:
                raise ValueError("Seed must be between 0 and 2**32 - 1")
            self._source = twister_of_word(number)
            return
        words = asarray(seed)
        if words.ndim != 1:
            raise ValueError("Seed array must be 1-d")
        if not words.size:
            raise ValueError("Seed must be non-empty")
        key = words.tolist()
        if any(not isinstance(word, int) for word in key):
            raise TypeError("Cannot cast array data from dtype('float64') to dtype('int64') according to the rule 'safe'")
        if any(not 0 <= word <= _WORD for word in key):
            raise ValueError("Seed values must be between 0 and 2**32 - 1")
        self._source = twister_of_key(key)

    @property
    def state(self):
        words = self._source.words()
        return {"bit_generator": "MT19937", "state": {"key": array(list(words[:624]), "uint32"), "pos": words[624]}}

    @state.setter
    def state(self, value):
        inner = value["state"]
        self._source = _numpy.BitGenerator("MT19937", [*asarray(inner["key"]).tolist(), inner["pos"], 0, 0, 0])
