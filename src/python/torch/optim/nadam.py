"""Adam with Nesterov momentum."""

from torch.optim.optimizer import PerParameter, _check_options, _counter, _decayed, _in_graph, _move_moments, _to_scalar, _zeros

__all__ = ["NAdam"]


class NAdam(PerParameter):
    """Adam with Nesterov momentum."""

    def __init__(
        self,
        params,
        lr=2e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        momentum_decay=4e-3,
        decoupled_weight_decay=False,
        *,
        foreach=None,
        maximize=False,
        capturable=False,
        differentiable=False,
    ):
        _check_options(lr, eps=eps, betas=betas, weight_decay=weight_decay, momentum_decay=momentum_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _start(self, param, group):
        return {
            "step": _counter(),
            "mu_product": _counter(1.0),
            "exp_avg": _zeros(param),
            "exp_avg_sq": _zeros(param),
        }

    def _update(self, param, grad, state, group):
        lr, momentum_decay = _to_scalar(group["lr"]), group["momentum_decay"]
        beta1, beta2 = group["betas"]
        average, square, product = state["exp_avg"], state["exp_avg_sq"], state["mu_product"]
        state["step"] += 1
        in_graph = _in_graph(group)
        step = state["step"] if in_graph else state["step"].item()
        correction2 = 1 - beta2**step
        grad = _decayed(param, grad, lr, group)
        mu = beta1 * (1.0 - 0.5 * 0.96 ** (step * momentum_decay))
        mu_next = beta1 * (1.0 - 0.5 * 0.96 ** ((step + 1) * momentum_decay))
        product *= mu
        _move_moments(average, square, grad, (beta1, beta2))
        denominator = square.div(correction2).sqrt()
        if in_graph:
            denominator = denominator.add(group["eps"])
            product_next = product * mu_next
            grad = grad * (-lr * (1.0 - mu) / (1.0 - product))
            average = average * (-lr * mu_next / (1.0 - product_next))
            param.addcdiv_(grad, denominator)
            param.addcdiv_(average, denominator)
            return
        denominator.add_(group["eps"])
        product = product.item()
        param.addcdiv_(grad, denominator, value=-lr * (1.0 - mu) / (1.0 - product))
        param.addcdiv_(average, denominator, value=-lr * mu_next / (1.0 - product * mu_next))
