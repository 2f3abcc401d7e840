"""What a call that fails under fake tensors raises in a `try` of the function: an index out of range, and a break where breaks are
errors, pass by its handlers; other errors are RuntimeErrors there, in Dynamo's words where no eager call follows."""
import torch


def tell(name, f, **options):
    torch._dynamo.reset()
    try:
        print(name, torch.compile(f, backend="eager", **options)(torch.ones(3, 4)))
    except Exception as e:
        print(name, type(e).__name__, str(e).split("\n")[0])


def index(x):
    try:
        return x[10]
    except IndexError:
        return x + 1


def bare(x):
    try:
        return x.transpose(0, 5)
    except:
        return x + 1


def finally_(x):
    try:
        x.sum(dim=7)
    finally:
        print("finally")
    return x


def manager(x):
    with torch.no_grad():
        try:
            x = x.select(0, 9)
        except Exception:
            pass
    return x


def product(x):
    try:
        return (x @ x).sum()
    except RuntimeError as e:
        return str(e)


def other_class(x):
    try:
        return (x @ x).sum()
    except ValueError:
        return x * 2


def kind(x):
    try:
        return x.view(5)
    except Exception as e:
        return x.sum(), type(e).__name__


def loss(x):
    try:
        return torch.nn.functional.cross_entropy(x, torch.zeros(7, dtype=torch.long)).sum()
    except ValueError:
        return x.sum() * 3


def keyword(x):
    try:
        return torch.sum(x, foo=3)
    except TypeError:
        return x.sum() * 4


def left_out(x):
    return torch.matmul(x)


def operand(x):
    return x + None


def broken(x):
    try:
        torch._dynamo.graph_break()
    except Exception:
        return x + 1
    return x.sum()


def branch(x):
    try:
        return x.sum() if x.sum() > 0 else x
    except Exception:
        return x * 5


def refused(x):
    try:
        with torch._dynamo.error_on_graph_break(True):
            torch._dynamo.graph_break()
    except Exception:
        return x * 3
    return x.sum()


def gone(x):
    try:
        x.no_such
    except AttributeError:
        return x.sum()


for f in (index, bare, finally_, manager, product, other_class, kind, loss, keyword, left_out, operand, broken, branch, refused, gone):
    tell(f.__name__, f)
    tell(f"{f.__name__} whole", f, fullgraph=True)
print(torch.is_grad_enabled())
