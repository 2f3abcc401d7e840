def heads(*size, grad=True):
    return r(*size, grad=grad)


q, k, v = heads(2, 2, 3, 4), heads(2, 2, 5, 4), heads(2, 2, 5, 4)
sdpa = "aten.scaled_dot_product_attention.default"
case("attention", sdpa, q, k, v)
case("attention causal", sdpa, heads(1, 2, 4, 3), heads(1, 2, 4, 3), heads(1, 2, 4, 3), None, 0.0, True)
case("attention boolean mask", sdpa, q, k, v, torch.ones(3, 5, dtype=torch.bool).tril())
case("attention empty row", sdpa, q, k, v, torch.tensor([[True] * 5, [False] * 5, [True, False, True, False, True]]))
case("attention additive mask", sdpa, q, k, v, r(2, 1, 3, 5, grad=False))
case("attention mask with grad", sdpa, q, k, v, r(3, 5))
case("attention three dimensions", sdpa, heads(2, 3, 4), heads(2, 5, 4), heads(2, 5, 4))
case("attention two dimensions", sdpa, heads(3, 4), heads(5, 4), heads(5, 4))
case("attention other width", sdpa, q, k, heads(2, 2, 5, 3))
case("attention scale", sdpa, q, k, v, scale=0.3)
case("attention grouped", sdpa, heads(1, 4, 3, 2), heads(1, 2, 5, 2), heads(1, 2, 5, 2), enable_gqa=True)
case("attention transposed", sdpa, *[heads(2, 3, 2, 4, grad=False).transpose(1, 2).requires_grad_() for _ in range(3)])
case("attention causal, plain", sdpa, heads(2, 4, 3), heads(2, 4, 3), heads(2, 4, 2), None, 0.0, True)
case("attention bfloat16", sdpa, *[r(1, 2, 3, 4, grad=False, dtype=torch.bfloat16) for _ in range(3)])


def weights(gates, inputs, hidden, layers=1, directions=1, biases=True):
    out = []
    for layer in range(layers):
        for _ in range(directions):
            width = inputs if layer == 0 else hidden * directions
            out += [d(gates * hidden, width), d(gates * hidden, hidden)]
            out += [d(gates * hidden), d(gates * hidden)] if biases else []
    return out


for name, gates in [("rnn_tanh", 1), ("rnn_relu", 1), ("gru", 3)]:
    case(name, f"aten.{name}.input", d(3, 2, 3), d(1, 2, 2), weights(gates, 3, 2), True, 1, 0.0, True, False, False, eager=True)
    case(f"{name}_cell", f"aten.{name}_cell.default", d(2, 3), d(2, 2), *weights(gates, 3, 2), eager=True)
case("gru batch first, two layers, both ways, no biases", "aten.gru.input", d(2, 3, 3), d(4, 2, 2), weights(3, 3, 2, 2, 2, False), False, 2, 0.0,
     True, True, True, eager=True)
case("lstm", "aten.lstm.input", d(3, 2, 3), [d(1, 2, 2), d(1, 2, 2)], weights(4, 3, 2), True, 1, 0.0, True, False, False, eager=True)
case("lstm two layers, both ways", "aten.lstm.input", d(3, 2, 2), [d(4, 2, 2), d(4, 2, 2)], weights(4, 2, 2, 2, 2), True, 2, 0.0, True, True, False,
     eager=True)
case("lstm projected", "aten.lstm.input", d(2, 2, 3), [d(1, 2, 2), d(1, 2, 3)], [d(12, 3), d(12, 2), d(12), d(12), d(2, 3)], True, 1, 0.0, True, False,
     False, eager=True)
case("lstm_cell", "aten.lstm_cell.default", d(2, 3), [d(2, 2), d(2, 2)], *weights(4, 3, 2), eager=True)
case("attention three dimensions, mask", sdpa, heads(2, 3, 4), heads(2, 5, 4), heads(2, 5, 4), r(3, 5, grad=False))
case("attention three dimensions, boolean mask", sdpa, heads(2, 3, 4), heads(2, 5, 4), heads(2, 5, 4), torch.ones(2, 3, 5).bool())
case("attention three dimensions, mask with grad", sdpa, heads(2, 3, 4), heads(2, 5, 4), heads(2, 5, 4), r(2, 3, 5))
case("attention shared head", sdpa, heads(2, 3, 4), heads(1, 5, 4), heads(1, 5, 4))
