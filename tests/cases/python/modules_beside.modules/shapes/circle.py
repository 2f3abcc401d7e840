from areas import area


def of(radius):
    return 3 * area(radius, radius)
