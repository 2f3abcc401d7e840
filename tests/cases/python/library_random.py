import random
import statistics

r = random.Random(42)
print(r.random(), r.getrandbits(70), r.randint(-5, 5), r.randrange(0, 100, 7))
print(r.uniform(-1, 1), r.triangular(0, 10, 3), r.gauss(0, 1), r.gauss(5, 2), r.normalvariate(0, 1))
print(r.betavariate(2, 3), r.gammavariate(0.5, 1.0), r.gammavariate(2.5, 2.0), r.expovariate(1.5))
print(r.lognormvariate(0, 0.25), r.vonmisesvariate(0, 4), r.paretovariate(3), r.weibullvariate(1, 1.5))
items = list(range(12))
r.shuffle(items)
print(items, r.sample(items, 5), r.sample(range(10**9), 3), r.sample("abcdef", k=6))
print(r.choices("xyz", k=6), r.choices([1, 2, 3], weights=[5, 1, 1], k=6), r.choices(range(4), cum_weights=[1, 2, 3, 10], k=4))
print(r.choice(["a", "b", "c"]), r.randbytes(5), r.sample(["red", "blue"], counts=[4, 2], k=3))
state = r.getstate()
a = [r.random() for _ in range(3)]
r.setstate(state)
print(a == [r.random() for _ in range(3)], len(state[1]), state[0])
for seed in (0, -7, 3.5, "text", b"bytes", 10**30, True):
    print(seed, random.Random(seed).random())
random.seed(2024)
print(random.random(), random.randint(1, 6), random.sample(range(100), 4), random.getrandbits(5))
random.seed("again", version=1)
print(random.random())
for call in (lambda: r.sample([1], 2), lambda: r.choice([]), lambda: r.randrange(0), lambda: r.choices([1], weights=[0])):
    try:
        call()
    except Exception as e:
        print(type(e).__name__, e)


class Loaded(random.Random):
    def random(self):
        return 0.25


print(Loaded().uniform(0, 8), Loaded().choice(range(8)))
data = [2.75, 1.75, 1.25, 0.25, 0.5, 1.25, 3.5]
print(statistics.mean(data), statistics.fmean(data), statistics.median(data), statistics.mode(data), statistics.stdev(data))
print(statistics.pvariance(data), statistics.variance(data), statistics.quantiles(data, n=4), statistics.multimode("aabbc"))
print(statistics.harmonic_mean([40, 60]), statistics.geometric_mean([54, 24, 36]), statistics.median_low([1, 2, 3, 4]))
n = statistics.NormalDist(100, 15)
print(n, n.pdf(110), n.cdf(110), n.inv_cdf(0.9), n.zscore(130), n + 5, n.overlap(statistics.NormalDist(110, 15)))
print(statistics.linear_regression([1, 2, 3], [2, 4.1, 5.9]), statistics.correlation([1, 2, 3], [3, 2, 1]))
