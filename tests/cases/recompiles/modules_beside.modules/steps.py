import settings


def step(x, n):
    for _ in range(n):
        x = x * settings.FACTOR
    return x.sin() if settings.MODE == "sin" else x.cos()
