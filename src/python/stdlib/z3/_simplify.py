"""`simplify`: sums multiplied out, numbers on one side of a comparison, `<` and `>` as the opposite of `>=` and `<=`."""

from fractions import Fraction

from z3._terms import *
from z3._terms import _BOOL, _INT, _REAL


def simplify(a, *args, **keywords):
    """The expression in the form that z3 gives it."""
    return _simple(a)


def _simple(e):
    kind = e._kind
    if kind in (Z3_OP_TRUE, Z3_OP_FALSE, Z3_OP_UNINTERPRETED, Z3_OP_ANUM):
        return e
    if isinstance(e, ArithRef):
        return _number(e)
    if kind in (Z3_OP_AND, Z3_OP_OR):
        return _junction(kind, map(_simple, e._args))
    if kind == Z3_OP_NOT:
        return _opposite(_simple(e._args[0]))
    if kind == Z3_OP_IMPLIES:
        return _junction(Z3_OP_OR, (_opposite(_simple(e._args[0])), _simple(e._args[1])))
    if kind == Z3_OP_ITE:
        return _choice(e)
    if e._args[0].sort() is _BOOL:
        return BoolRef(kind, map(_simple, e._args))
    if kind == Z3_OP_DISTINCT and len(e._args) != 2:
        return BoolRef(kind, map(_simple, e._args))
    a, b = e._args
    if kind == Z3_OP_DISTINCT:
        return _opposite(_comparison(Z3_OP_EQ, a, b))
    if kind == Z3_OP_LT:
        return _opposite(_comparison(Z3_OP_LE, b, a))
    if kind == Z3_OP_GT:
        return _opposite(_comparison(Z3_OP_LE, a, b))
    return _comparison(kind, a, b)


def _junction(kind, parts):
    neutral, absorbing = (Z3_OP_TRUE, Z3_OP_FALSE) if kind == Z3_OP_AND else (Z3_OP_FALSE, Z3_OP_TRUE)
    kept = []
    for part in parts:
        inner = part._args if part._kind == kind else (part,)
        kept += [one for one in inner if one._kind != neutral and not any(one.eq(known) for known in kept)]
    if any(part._kind == absorbing for part in kept):
        return BoolVal(absorbing == Z3_OP_TRUE)
    if len(kept) < 2:
        return kept[0] if kept else BoolVal(neutral == Z3_OP_TRUE)
    return BoolRef(kind, kept)


def _opposite(e):
    if e._kind in (Z3_OP_TRUE, Z3_OP_FALSE):
        return BoolVal(e._kind == Z3_OP_FALSE)
    return e._args[0] if e._kind == Z3_OP_NOT else BoolRef(Z3_OP_NOT, (e,))


def _choice(e):
    condition, yes, no = _simple(e._args[0]), _simple(e._args[1]), _simple(e._args[2])
    if condition._kind in (Z3_OP_TRUE, Z3_OP_FALSE):
        return yes if condition._kind == Z3_OP_TRUE else no
    if yes.eq(no):
        return yes
    if condition._kind == Z3_OP_NOT:
        condition, yes, no = condition._args[0], no, yes
    return If(condition, yes, no)


def sum_of(e):
    """The expression as a sum: products of what is no sum, with their factors; the number is the empty product's."""
    kind = e._kind
    if kind == Z3_OP_ANUM:
        return {(): Fraction(e._value)} if e._value else {}
    if kind == Z3_OP_ADD:
        return _added(*((sum_of(arg), 1) for arg in e._args))
    if kind == Z3_OP_SUB:
        return _added((sum_of(e._args[0]), 1), *((sum_of(arg), -1) for arg in e._args[1:]))
    if kind == Z3_OP_UMINUS:
        return _added((sum_of(e._args[0]), -1))
    if kind == Z3_OP_MUL:
        product = {(): Fraction(1)}
        for items in map(sum_of, e._args):
            if len(items) > 1 and any(product):
                items = {(_written(items, e.sort()),): Fraction(1)}
            elif len(product) > 1 and any(items):
                product = {(_written(product, e.sort()),): Fraction(1)}
            product = _multiplied(product, items)
        return product
    if kind == Z3_OP_DIV:
        divisor = sum_of(_simple(e._args[1]))
        if set(divisor) == {()}:
            return _added((sum_of(e._args[0]), 1 / divisor[()]))
    if kind == Z3_OP_POWER:
        power = _simple(e._args[1])
        if power._kind == Z3_OP_ANUM and power._value == int(power._value) and 0 <= power._value <= 16:
            product = {(): Fraction(1)}
            for _ in range(int(power._value)):
                product = _multiplied(product, sum_of(e._args[0]))
            return product
    if kind == Z3_OP_TO_REAL:
        return {tuple(_as_real(factor) for factor in product): number for product, number in sum_of(e._args[0]).items()}
    if kind == Z3_OP_ITE:
        chosen = _choice(e)
        return {(chosen,): Fraction(1)} if chosen._kind == Z3_OP_ITE else sum_of(chosen)
    if kind == Z3_OP_TO_INT:
        # What is an integer in any case stands outside.
        whole, rest = {}, {}
        for product, number in sum_of(e._args[0]).items():
            is_whole = number.denominator == 1 and all(factor._kind == Z3_OP_TO_REAL for factor in product)
            (whole if is_whole else rest)[product] = number
        whole = {tuple(factor._args[0] for factor in product): number for product, number in whole.items()}
        return _added((whole, 1), ({(ToInt(_written(rest, _REAL)),): Fraction(1)} if rest else {}, 1))
    return {(_atom(e),): Fraction(1)}


def _as_real(e):
    return e if e.sort() is _REAL else ToReal(e)


def _atom(e):
    """What is no sum, with its parts in their simple form."""
    kind = e._kind
    if kind in (Z3_OP_UNINTERPRETED, Z3_OP_ANUM):
        return e
    return ArithRef(kind, map(_simple, e._args), sort=e.sort())


def _added(*sums):
    total = {}
    for items, factor in sums:
        for product, number in items.items():
            total[product] = total.get(product, 0) + number * factor
    return {product: number for product, number in total.items() if number}


def _multiplied(a, b):
    total = {}
    for first, m in a.items():
        for second, n in b.items():
            product = tuple(sorted(first + second, key=_order))
            total[product] = total.get(product, 0) + m * n
    return {product: number for product, number in total.items() if number}


def _order(e):
    """Variables first."""
    inner = e._args[0] if e._kind == Z3_OP_TO_REAL else e
    return (inner._kind != Z3_OP_UNINTERPRETED, str(e))


def _constant(number, sort):
    return IntVal(int(number)) if sort is _INT and number == int(number) else RealVal(number)


def _term(product, number, sort):
    if not product:
        return _constant(number, sort)
    factors = [*product] if number == 1 else [_constant(number, sort), *product]
    return factors[0] if len(factors) == 1 else ArithRef(Z3_OP_MUL, factors, sort=sort)


def _written(items, sort):
    """A sum as an expression: its number first."""
    parts = sorted(items.items(), key=lambda item: bool(item[0]))
    terms = [_term(product, number, sort) for product, number in parts]
    if not terms:
        return _constant(0, sort)
    return terms[0] if len(terms) == 1 else ArithRef(Z3_OP_ADD, terms, sort=sort)


def _number(e):
    items = sum_of(e)
    [only, *others] = [*items.items()] or [((), 0)]
    if not others and len(only[0]) == 1 and only[1] == 1:
        return only[0][0]
    return _written(items, e.sort())


def _comparison(kind, a, b):
    sort = a.sort()
    left, right = sum_of(a), sum_of(b)
    turned = {Z3_OP_LE: Z3_OP_GE, Z3_OP_GE: Z3_OP_LE, Z3_OP_EQ: Z3_OP_EQ}
    difference = _added((left, 1), (right, -1))
    products = [product for product in difference if product]
    if not products:
        number = difference.get((), 0)
        return BoolVal({Z3_OP_LE: number <= 0, Z3_OP_GE: number >= 0, Z3_OP_EQ: number == 0}[kind])
    # What both sides have is left out of both.
    for product in [product for product in left if product and product in right]:
        common = right.pop(product)
        left = _added((left, 1), ({product: common}, -1))
    number_left = not any(left) and any(right)
    if number_left or not any(right):
        # A number on one side alone: it stays on the left where nothing else changes.
        items, other = (right, left) if number_left else (left, right)
        number = other.get((), Fraction(0)) - items.get((), 0)
        items = {product: factor for product, factor in items.items() if product}
        relation = turned[kind] if number_left else kind
        if len(items) == 1:
            [(product, factor)] = items.items()
            relation = turned[relation] if factor < 0 else relation
            number, items = number / factor, {product: Fraction(1)}
            number_left = number_left and factor == 1
            if all(part.sort() is _INT for part in product) and number != int(number):
                if relation == Z3_OP_EQ:
                    return BoolVal(False)
                floor = number.numerator // number.denominator
                number = Fraction(floor if relation == Z3_OP_LE else floor + 1)
            if factor == 1 and len(product) == 1 and product[0]._kind == Z3_OP_TO_INT:
                return _of_rounded(relation, product[0]._args[0], number)
        written, constant = _written(items, sort), _constant(number, sort)
        if number_left:
            return BoolRef(turned[relation], (constant, written))
        return BoolRef(relation, (written, constant))
    # Numbers go to the right.
    number = right.pop((), 0) - left.pop((), 0)
    if number:
        right = {(): Fraction(number), **right}
    return BoolRef(kind, (_written(left, sort), _written(right, sort)))


def _of_rounded(relation, real, number):
    """What is rounded down compared with an integer is compared before."""
    if relation == Z3_OP_GE:
        return _comparison(Z3_OP_LE, RealVal(number), real)
    is_less = _opposite(_comparison(Z3_OP_LE, RealVal(number + 1), real))
    return is_less if relation == Z3_OP_LE else _junction(Z3_OP_AND, (is_less, _comparison(Z3_OP_GE, real, RealVal(number))))
