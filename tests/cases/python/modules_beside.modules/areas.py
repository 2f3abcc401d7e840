"""What areas are."""

UNIT = "cm"
assert __name__ == "areas"


def area(a, b):
    # The product.
    return a * b
