"""Limited-memory BFGS."""

import torch
from torch.optim.optimizer import Optimizer, _to_scalar

__all__ = ["LBFGS"]


def _cubic_interpolate(x1, f1, g1, x2, f2, g2, bounds=None):
    """The minimum of the cubic through two points with given slopes."""
    low, high = bounds if bounds is not None else (x1, x2) if x1 <= x2 else (x2, x1)
    d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2)
    square = d1**2 - g1 * g2
    if square < 0:
        return (low + high) / 2.0
    d2 = square.sqrt()
    if x1 <= x2:
        place = x2 - (x2 - x1) * ((g2 + d2 - d1) / (g2 - g1 + 2 * d2))
    else:
        place = x1 - (x1 - x2) * ((g1 + d2 - d1) / (g1 - g2 + 2 * d2))
    return min(max(place, low), high)


def _copy(tensor):
    return tensor.clone(memory_format=torch.contiguous_format)


class _Point:
    """A place on the line: step, loss, gradient and slope there."""

    def __init__(self, t, f, g, gtd):
        self.t, self.f, self.g, self.gtd = t, f, g, gtd


def _strong_wolfe(evaluate, x, t, d, f, g, gtd, c1=1e-4, c2=0.9, tolerance_change=1e-9, max_ls=25):
    """A step along `d` under the strong Wolfe conditions: bracket it, then zoom in."""
    widest = d.abs().max()
    g = _copy(g)

    def look(t):
        loss, gradient = evaluate(x, t, d)
        return _Point(t, loss, gradient, gradient.dot(d))

    def too_high(point):
        return point.f > f + c1 * point.t * gtd

    def flat(point):
        return abs(point.gtd) <= -c2 * gtd

    new, previous = look(t), _Point(0, f, g, gtd)
    evaluations, count, done = 1, 0, False
    bracket = None
    while count < max_ls:
        if too_high(new) or (count > 1 and new.f >= previous.f):
            bracket = [previous, _Point(new.t, new.f, _copy(new.g), new.gtd)]
            break
        if flat(new):
            bracket, done = [new], True
            break
        if new.gtd >= 0:
            bracket = [previous, _Point(new.t, new.f, _copy(new.g), new.gtd)]
            break
        least, most = new.t + 0.01 * (new.t - previous.t), new.t * 10
        t = _cubic_interpolate(
            previous.t, previous.f, previous.gtd, new.t, new.f, new.gtd, bounds=(least, most)
        )
        previous = _Point(new.t, new.f, _copy(new.g), new.gtd)
        new = look(t)
        evaluations += 1
        count += 1
    if count == max_ls:
        bracket = [_Point(0, f, g, gtd), new]

    stuck = False
    low, high = (0, 1) if bracket[0].f <= bracket[-1].f else (1, 0)
    while not done and count < max_ls:
        first, last = bracket
        if abs(last.t - first.t) * widest < tolerance_change:
            break
        t = _cubic_interpolate(first.t, first.f, first.gtd, last.t, last.f, last.gtd)
        left, right = min(first.t, last.t), max(first.t, last.t)
        margin = 0.1 * (right - left)
        if min(right - t, t - left) < margin:
            # Too near an end: once is accepted, twice not.
            if stuck or t >= right or t <= left:
                t = right - margin if abs(t - right) < abs(t - left) else left + margin
                stuck = False
            else:
                stuck = True
        else:
            stuck = False
        new = look(t)
        evaluations += 1
        count += 1
        kept = _Point(new.t, new.f, _copy(new.g), new.gtd)
        if too_high(new) or new.f >= bracket[low].f:
            bracket[high] = kept
            low, high = (0, 1) if bracket[0].f <= bracket[1].f else (1, 0)
        else:
            if flat(new):
                done = True
            elif new.gtd * (bracket[high].t - bracket[low].t) >= 0:
                bracket[high] = bracket[low]
            bracket[low] = kept
    best = bracket[low]
    return best.f, best.g, best.t, evaluations


class LBFGS(Optimizer):
    """A quasi-Newton method that remembers a few steps; `step` needs a closure."""

    def __init__(
        self,
        params,
        lr=1,
        max_iter=20,
        max_eval=None,
        tolerance_grad=1e-7,
        tolerance_change=1e-9,
        history_size=100,
        line_search_fn=None,
        *,
        maximize=False,
    ):
        if isinstance(lr, torch.Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if not 0.0 <= lr:
            raise ValueError(f"Invalid learning rate: {lr}")
        defaults = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
            "maximize": maximize,
        }
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params = self.param_groups[0]["params"]

    def _gather_flat_grad(self):
        pieces = []
        for param in self._params:
            piece = param.new_zeros(param.numel()) if param.grad is None else param.grad.reshape(-1)
            pieces.append(torch.view_as_real(piece).view(-1) if torch.is_complex(piece) else piece)
        flat = torch.cat(pieces, 0)
        return flat.neg_() if self.param_groups[0]["maximize"] else flat

    def _add_grad(self, step_size, update):
        offset = 0
        for param in self._params:
            if torch.is_complex(param):
                param = torch.view_as_real(param)
            count = param.numel()
            param.add_(update[offset : offset + count].view_as(param), alpha=step_size)
            offset += count

    def _loss(self, closure):
        loss = float(closure())
        return -loss if self.param_groups[0]["maximize"] else loss

    def _directional_evaluate(self, closure, x, t, d):
        self._add_grad(t, d)
        loss = self._loss(closure)
        flat = self._gather_flat_grad()
        for param, value in zip(self._params, x):
            param.copy_(value)
        return loss, flat

    @staticmethod
    def _direction(state, flat_grad, history_size):
        """The next direction, by the two-loop recursion over the steps remembered."""
        if state["n_iter"] == 1:
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
            return flat_grad.neg()
        dirs, steps, ro = state["old_dirs"], state["old_stps"], state["ro"]
        y = flat_grad.sub(state["prev_flat_grad"])
        s = state["d"].mul(state["t"])
        ys = y.dot(s)
        if ys > 1e-10:
            if len(dirs) == history_size:
                for memory in (dirs, steps, ro):
                    memory.pop(0)
            dirs.append(y)
            steps.append(s)
            ro.append(1.0 / ys)
            state["H_diag"] = ys / y.dot(y)
        al = state.setdefault("al", [None] * history_size)
        q = flat_grad.neg()
        for place in range(len(dirs) - 1, -1, -1):
            al[place] = steps[place].dot(q) * ro[place]
            q.add_(dirs[place], alpha=-al[place])
        r = torch.mul(q, state["H_diag"])
        for place in range(len(dirs)):
            r.add_(steps[place], alpha=al[place] - dirs[place].dot(r) * ro[place])
        return r

    @torch.no_grad()
    def step(self, closure):
        """Up to `max_iter` iterations; `closure` computes loss and gradients."""
        closure = torch.enable_grad()(closure)
        if len(self._params) == 0:
            return closure()
        group = self.param_groups[0]
        lr, max_iter, max_eval = _to_scalar(group["lr"]), group["max_iter"], group["max_eval"]
        tolerance_grad, tolerance_change = group["tolerance_grad"], group["tolerance_change"]
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)

        orig_loss = closure()
        loss = -float(orig_loss) if group["maximize"] else float(orig_loss)
        evaluations = 1
        state["func_evals"] += 1
        flat_grad = self._gather_flat_grad()
        converged = flat_grad.abs().max() <= tolerance_grad
        if converged:
            return orig_loss

        iterations = 0
        while iterations < max_iter:
            iterations += 1
            state["n_iter"] += 1
            d = state["d"] = self._direction(state, flat_grad, group["history_size"])
            if state.get("prev_flat_grad") is None:
                state["prev_flat_grad"] = _copy(flat_grad)
            else:
                state["prev_flat_grad"].copy_(flat_grad)
            previous_loss = state["prev_loss"] = loss
            t = min(1.0, 1.0 / flat_grad.abs().sum()) * lr if state["n_iter"] == 1 else lr
            state["t"] = t
            slope = flat_grad.dot(d)
            if slope > -tolerance_change:
                break
            more = 0
            if group["line_search_fn"] is not None:
                if group["line_search_fn"] != "strong_wolfe":
                    raise RuntimeError("only 'strong_wolfe' is supported")

                def evaluate(x, t, d):
                    return self._directional_evaluate(closure, x, t, d)

                start = [_copy(param) for param in self._params]
                loss, flat_grad, t, more = _strong_wolfe(
                    evaluate, start, t, d, loss, flat_grad, slope, max_ls=max_eval - evaluations
                )
                state["t"] = t
                self._add_grad(t, d)
                converged = flat_grad.abs().max() <= tolerance_grad
            else:
                self._add_grad(t, d)
                if iterations != max_iter:
                    loss = self._loss(closure)
                    flat_grad = self._gather_flat_grad()
                    converged = flat_grad.abs().max() <= tolerance_grad
                    more = 1
            evaluations += more
            state["func_evals"] += more
            if iterations == max_iter or evaluations >= max_eval or converged:
                break
            if d.mul(t).abs().max() <= tolerance_change or abs(loss - previous_loss) < tolerance_change:
                break
        return orig_loss
