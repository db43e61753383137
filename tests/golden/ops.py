# SPDX-License-Identifier: Apache-2.0
"""Golden file of the operations: inputs, output and gradients for a random dy, all in f64.

Every float input and every dy is exact in bf16, f16 and f32 too. Names are
`<op>.<case>.<role>`: inputs x, a, b, ...; output y; upstream gradient dy; gradients d<input>.
ops.json lists each case with its inputs, outputs, gradients and attributes.
"""

import math

import torch
import torch.nn.functional as F

from common import generator, round_to_half, write_json, write_tensors

GEN = generator(31)
TENSORS, CASES = {}, []


def randn(*shape, scale=1.0, shift=0.0):
    x = torch.randn(shape, generator=GEN, dtype=torch.float64)
    return round_to_half(x * scale + shift)


def uniform(low, high, *shape):
    x = torch.rand(shape, generator=GEN, dtype=torch.float64)
    return round_to_half(low + (high - low) * x)


def randint(high, *shape):
    return torch.randint(0, high, shape, generator=GEN)


def case(op, name, f, inputs, **attributes):
    """f(**inputs) -> tensor or dict of tensors. Where output `y` is differentiable, gradients of
    all float inputs are stored for a random dy."""
    for v in inputs.values():
        assert not v.is_floating_point() or torch.equal(round_to_half(v), v), (op, name)
    leaves = {
        k: v.clone().requires_grad_(True) if v.is_floating_point() else v for k, v in inputs.items()
    }
    out = f(**leaves)
    out = out if isinstance(out, dict) else {"y": out}
    stored, grads = inputs | out, []
    if "y" in out and out["y"].requires_grad:
        dy = randn(*out["y"].shape)
        out["y"].backward(dy)
        stored["dy"] = dy
        for k, leaf in leaves.items():
            if leaf.requires_grad and leaf.grad is not None:
                stored[f"d{k}"] = leaf.grad
                grads.append(f"d{k}")
    for role, t in stored.items():
        key = f"{op}.{name}.{role}"
        assert key not in TENSORS, key
        TENSORS[key] = t
    entry = {"op": op, "case": name, "inputs": list(inputs), "outputs": list(out), "grads": grads}
    CASES.append(entry | ({"attributes": attributes} if attributes else {}))


def unary():
    wide, positive = randn(3, 7, scale=2.0), uniform(0.05, 9.0, 3, 7)
    functions = {
        "neg": torch.neg,
        "abs": torch.abs,
        "exp": torch.exp,
        "square": torch.square,
        "sin": torch.sin,
        "cos": torch.cos,
        "tanh": torch.tanh,
        "sigmoid": torch.sigmoid,
        "relu": F.relu,
        "silu": F.silu,
        "gelu_erf": F.gelu,
        "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    }
    for op, f in functions.items():
        case(op, "random", lambda x, f=f: f(x), {"x": wide})
    on_positive = {"log": torch.log, "sqrt": torch.sqrt, "rsqrt": torch.rsqrt}
    for op, f in (on_positive | {"reciprocal": torch.reciprocal}).items():
        case(op, "random", lambda x, f=f: f(x), {"x": positive})
    tails = [-88, -30, -12, -8, -5.5, -3, -1, -0.125, -0.0, 0, 0.125, 1, 3, 5.5, 8, 12, 30, 88]
    tails = torch.tensor(tails, dtype=torch.float64)
    for op in ("tanh", "sigmoid", "silu", "gelu_erf", "gelu_tanh", "exp", "relu", "abs"):
        case(op, "tails", lambda x, f=functions[op]: f(x), {"x": tails})
    for exponent in (2.0, 3.0, 0.5, -1.5, 0.0):
        name = str(exponent).replace("-", "minus").replace(".", "_")
        f = lambda x, e=exponent: torch.pow(x, e)
        case("pow_scalar", name, f, {"x": positive}, exponent=exponent)
    around = torch.tensor([-3, -1.5, -0.5, 0, 1.5, 1.75, 2.5], dtype=torch.float64)
    case("clamp", "both", lambda x: x.clamp(-1, 2), {"x": around}, low=-1.0, high=2.0)
    case("clamp", "low", lambda x: x.clamp(min=-1), {"x": around}, low=-1.0)
    case("clamp", "high", lambda x: x.clamp(max=2), {"x": around}, high=2.0)


def binary():
    shapes = {
        "same": ((2, 3, 4), (2, 3, 4)),
        "row": ((2, 3, 4), (4,)),
        "outer": ((3, 1), (1, 5)),
        "middle": ((2, 1, 4), (3, 1)),
        "scalar": ((), (2, 3)),
        "empty": ((0, 3), (3,)),
    }
    functions = {
        "add": torch.add,
        "sub": torch.sub,
        "mul": torch.mul,
        "div": torch.div,
        "maximum": torch.maximum,
        "minimum": torch.minimum,
    }
    for name, (sa, sb) in shapes.items():
        a, b = randn(*sa), randn(*sb)
        b_far = round_to_half(torch.where(b < 0, b - 0.5, b + 0.5))
        for op, f in functions.items():
            case(op, name, lambda a, b, f=f: f(a, b), {"a": a, "b": b_far if op == "div" else b})
        case("pow", name, torch.pow, {"input": uniform(0.1, 4, *sa), "exponent": b})
    a = torch.tensor([1.0, 2.0, -3.0, 0.0], dtype=torch.float64)
    b = torch.tensor([1.0, 1.0, -3.0, -0.0], dtype=torch.float64)
    for op in ("maximum", "minimum"):
        case(op, "ties", lambda a, b, f=functions[op]: f(a, b), {"a": a, "b": b})
    for op in ("eq", "ne", "lt", "le", "gt", "ge"):
        f = lambda a, b, f=getattr(torch, op): f(a, b)
        case(op, "ties", f, {"a": a, "b": b})
        case(op, "outer", f, {"a": randint(3, 3, 1).double(), "b": randint(3, 1, 5).double()})
    mask = randint(2, 2, 3, 4).bool()
    inputs = {"mask": mask, "a": randn(2, 3, 4), "b": randn(4)}
    case("where", "row", lambda mask, a, b: torch.where(mask, a, b), inputs)
    inputs = {"mask": randint(2, 3, 1).bool(), "a": randn(), "b": randn(1, 4)}
    case("where", "outer", lambda mask, a, b: torch.where(mask, a, b), inputs)
    f = lambda x, mask: x.masked_fill(mask, -2.5)
    case("masked_fill", "same", f, {"x": randn(2, 3, 4), "mask": mask}, value=-2.5)
    inputs = {"x": randn(2, 3, 4), "mask": mask[0]}
    case("masked_fill", "row", f, inputs, value=-2.5)


def reductions():
    x = randn(2, 3, 5)
    for axes in ((0,), (1,), (2,), (0, 2), (0, 1, 2)):
        name = "axes" + "".join(map(str, axes))
        at = {"axes": list(axes)}
        case("sum", name, lambda x: x.sum(axes), {"x": x}, keepdim=False, **at)
        case("mean", name, lambda x: x.mean(axes, keepdim=True), {"x": x}, keepdim=True, **at)
        case("amax", name, lambda x: x.amax(axes), {"x": x}, keepdim=False, **at)
        case("amin", name, lambda x: x.amin(axes), {"x": x}, keepdim=False, **at)
        for correction in (0, 1):
            f = lambda x, c=correction: x.var(axes, correction=c)
            at_c = at | {"correction": correction, "keepdim": False}
            case("variance", f"{name}_correction{correction}", f, {"x": x}, **at_c)
    case(
        "variance",
        "shifted",
        lambda x: x.var(-1),
        {"x": randn(2, 9, shift=64)},
        axes=[-1],
        correction=1,
    )
    ties = randint(3, 4, 6).double()
    case("amax", "ties", lambda x: x.amax(-1), {"x": ties}, axes=[-1], keepdim=False)
    case("argmax", "ties", lambda x: x.argmax(-1), {"x": ties}, axis=-1)
    case("argmax", "random", lambda x: x.argmax(-1), {"x": x}, axis=-1)
    f = lambda x: dict(zip(("y", "index"), x.topk(3, -1)))
    case("topk", "random", f, {"x": randn(2, 3, 9)}, k=3)
    case("logsumexp", "random", lambda x: x.logsumexp(-1), {"x": x}, axes=[-1])


def moves():
    a, b, c = randn(2, 3, 2), randn(2, 1, 2), randn(2, 4, 2)
    case("cat", "middle", lambda a, b, c: torch.cat([a, b, c], 1), {"a": a, "b": b, "c": c}, axis=1)
    case(
        "cat",
        "last",
        lambda a, b: torch.cat([a, b], -1),
        {"a": randn(3, 2), "b": randn(3, 5)},
        axis=-1,
    )
    inputs = {"a": randn(2, 3), "b": randn(2, 3)}
    for axis in (0, 1, -1):
        name = f"axis{axis}".replace("-", "minus")
        case("stack", name, lambda a, b: torch.stack([a, b], axis), inputs, axis=axis)
    for axis, shape in ((0, (6, 4)), (1, (3, 7)), (1, (2, 2))):
        inputs = {"x": randn(3, 4), "index": randint((3, 4)[axis], *shape)}
        name = f"axis{axis}_{shape[0]}x{shape[1]}"
        case("gather", name, lambda x, index: x.gather(axis, index), inputs, axis=axis)
    for axis in (0, 1, 2):
        x = randn(3, 4, 2)
        inputs = {"x": x, "index": randint(x.shape[axis], 5)}
        case(
            "index_select",
            f"axis{axis}",
            lambda x, index: x.index_select(axis, index),
            inputs,
            axis=axis,
        )
    ids = torch.tensor([[1, 0, 4], [4, 4, 2]])
    inputs = {"ids": ids, "weight": randn(6, 5)}
    case("embedding", "repeats", lambda ids, weight: F.embedding(ids, weight), inputs)


def products():
    shapes = {
        "plain": ((5, 3), (3, 7)),
        "batched": ((2, 4, 3), (2, 3, 5)),
        "shared_right": ((2, 3, 4, 3), (3, 2)),
        "broadcast": ((2, 1, 4, 3), (3, 3, 2)),
        "one": ((1, 1), (1, 1)),
        "no_inner": ((3, 0), (0, 2)),
    }
    for name, (sa, sb) in shapes.items():
        case("matmul", name, lambda a, b: a @ b, {"a": randn(*sa), "b": randn(*sb)})
    inputs = {"x": randn(2, 3, 5), "weight": randn(4, 5), "bias": randn(4)}
    case("linear", "bias", lambda x, weight, bias: F.linear(x, weight, bias), inputs)
    bare = {k: inputs[k] for k in ("x", "weight")}
    case("linear", "no_bias", lambda x, weight: F.linear(x, weight), bare)
    activations = {
        "relu": F.relu,
        "silu": F.silu,
        "gelu_erf": F.gelu,
        "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    }
    for name, act in activations.items():
        case(
            "linear",
            name,
            lambda x, weight, bias: act(F.linear(x, weight, bias)),
            inputs,
            activation=name,
        )


def normalisations():
    x = randn(3, 4, 9, scale=2.0)
    extreme = torch.cat([randn(2, 9, scale=300), randn(2, 9, scale=0.01, shift=32)])
    with_inf = randn(2, 5)
    with_inf[0, 1:3] = -math.inf
    for name, v in (
        ("random", x),
        ("extreme", extreme),
        ("minus_inf", with_inf),
        ("one", randn(3, 1)),
    ):
        case("softmax", name, lambda x: F.softmax(x, -1), {"x": v})
        if name != "minus_inf":
            case("log_softmax", name, lambda x: F.log_softmax(x, -1), {"x": v})
    weight, bias = randn(9, scale=0.25, shift=1.0), randn(9)
    for name, v in (
        ("random", x),
        ("extreme", extreme),
        ("constant", torch.full((2, 9), 3.0).double()),
    ):
        for eps in (1e-5, 1e-12):
            tag = f"{name}_eps{eps}"
            f = lambda x, weight, bias: F.layer_norm(x, (9,), weight, bias, eps)
            if name != "constant" or eps == 1e-5:
                case("layer_norm", tag, f, {"x": v, "weight": weight, "bias": bias}, eps=eps)
    case("layer_norm", "bare", lambda x: F.layer_norm(x, (9,)), {"x": x}, eps=1e-5)
    for name, v in (("random", x), ("extreme", extreme), ("zero", torch.zeros(2, 9).double())):
        f = lambda x, weight: x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * weight
        case("rms_norm", name, f, {"x": v, "weight": weight}, eps=1e-6)


def attention():
    def plain(q, k, v, key_mask=None, causal=False, scale=None):
        """softmax(scale q k^T + mask) v, written out; a query that sees no key gives 0."""
        scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
        scores = scale * q @ k.transpose(-1, -2)
        T, S = scores.shape[-2:]
        seen = torch.ones(T, S, dtype=torch.bool)
        if causal:
            seen = seen.tril(S - T)
        seen = seen.expand(scores.shape)
        if key_mask is not None:
            seen = seen & key_mask[:, None, None, :]
        scores = scores.masked_fill(~seen, -1e300)
        p = torch.where(seen, scores.softmax(-1), 0)
        return {"y": p @ v, "lse": torch.where(seen, scores, -math.inf).logsumexp(-1)}

    for name, (B, H, T, S, D), causal, scale in (
        ("full", (2, 2, 5, 5, 4), False, None),
        ("causal", (2, 2, 5, 5, 4), True, None),
        ("causal_odd", (1, 3, 19, 19, 9), True, None),
        ("cross", (1, 2, 3, 7, 5), False, None),
        ("causal_last_query", (1, 2, 1, 6, 4), True, None),
        ("causal_tail", (1, 2, 3, 6, 4), True, None),
        ("scale", (1, 2, 4, 4, 3), True, 0.25),
        ("one", (1, 1, 1, 1, 1), True, None),
    ):
        inputs = {"q": randn(B, H, T, D), "k": randn(B, H, S, D), "v": randn(B, H, S, D)}
        attributes = {"causal": causal, "scale": scale or 1 / math.sqrt(D)}
        f = lambda q, k, v: plain(q, k, v, None, causal, scale)
        case("attention", name, f, inputs, **attributes)
        if T == S and scale is None:  # the same as PyTorch's own
            want = F.scaled_dot_product_attention(*inputs.values(), is_causal=causal)
            torch.testing.assert_close(TENSORS[f"attention.{name}.y"], want)
    lengths = torch.tensor([6, 3, 1])
    for name, key_mask, causal in (
        ("padding_right", torch.arange(6) < lengths[:, None], False),
        ("padding_right_causal", torch.arange(6) < lengths[:, None], True),
        ("padding_left_causal", torch.arange(6) >= 6 - lengths[:, None], True),
        ("padding_all", torch.arange(6) < torch.tensor([6, 0, 2])[:, None], False),
    ):
        inputs = {"q": randn(3, 2, 6, 4), "k": randn(3, 2, 6, 4), "v": randn(3, 2, 6, 4)}
        f = lambda q, k, v, key_mask: plain(q, k, v, key_mask, causal)
        case("attention", name, f, inputs | {"key_mask": key_mask}, causal=causal, scale=0.5)


def losses():
    logits, labels = randn(4, 3, 7, scale=3.0), randint(7, 4, 3)
    ignoring = labels.clone()
    ignoring[1, :2], ignoring[3, 2] = -100, -100
    for name, y, smoothing in (
        ("plain", labels, 0.0),
        ("ignore", ignoring, 0.0),
        ("smooth", labels, 0.1),
        ("smooth_ignore", ignoring, 0.1),
        ("all_ignored", torch.full_like(labels, -100), 0.0),
    ):
        attributes = {"label_smoothing": smoothing, "ignore_index": -100}

        def loss_of(logits, labels):
            flat = F.cross_entropy(
                logits.flatten(0, 1), labels.flatten(), label_smoothing=smoothing, reduction="none"
            )
            return {
                "y": flat.sum(),
                "count": (labels != -100).sum(),
                "rows": flat.view(labels.shape),
            }

        case("cross_entropy", name, loss_of, {"logits": logits, "labels": y}, **attributes)
        inputs = {"x": randn(4, 3, 5), "weight": randn(7, 5), "labels": y}
        f = lambda x, weight, labels: loss_of(x @ weight.T, labels)
        case("linear_cross_entropy", name, f, inputs, **attributes)
    steep = torch.tensor([[28672.0, -28672, 0], [-100, 0, 88]], dtype=torch.float64)
    f = lambda logits, labels: F.cross_entropy(logits, labels, reduction="sum")
    case("cross_entropy", "steep", f, {"logits": steep, "labels": torch.tensor([1, 2])})


def more_reductions():
    """Axes left out or counted from the end, extents of 1, rows longer than a block, ties."""
    at_any = {
        "all": ((2, 3, 4), (), False),
        "negative": ((2, 3, 4), (-1, 0), True),
        "one": ((3, 1, 2), (1,), False),
        "long": ((1, 67), (-1,), False),
        "long_column": ((35, 2), (0,), True),
    }
    for name, (shape, axes, keepdim) in at_any.items():
        x = randn(*shape)
        at = {"axes": list(axes), "keepdim": keepdim}
        dims = tuple(axes) or tuple(range(len(shape)))
        functions = {"sum": torch.sum, "mean": torch.mean, "amax": torch.amax, "amin": torch.amin}
        for op, f in functions.items():
            case(op, name, lambda x, f=f: f(x, dims, keepdim=keepdim), {"x": x}, **at)
        f = lambda x, c: x.var(dims, correction=c, keepdim=keepdim)
        for c in (0,) if name == "one" else (0, 1):
            at_c = at | {"correction": c}
            case("variance", f"{name}_correction{c}", lambda x, c=c: f(x, c), {"x": x}, **at_c)
    ties = randint(2, 3, 4, 5).double()
    for op, f in {"amax": torch.amax, "amin": torch.amin}.items():
        at = {"axes": [0, 2], "keepdim": False}
        case(op, "ties_of_two_axes", lambda x, f=f: f(x, (0, 2)), {"x": ties}, **at)


def more_picks():
    """Positions of extremes on other axes than the last; of equal ones the lower position is first."""
    x = randn(3, 5, 2)
    assert all(len(v.unique()) == v.numel() for v in (x[:, i, k] for i in range(5) for k in range(2)))
    assert all(len(v.unique()) == v.numel() for v in (x[i, :, k] for i in range(3) for k in range(2)))
    for op, f in {"argmax": torch.argmax, "argmin": torch.argmin}.items():
        for axis in (0, 1):
            case(op, f"axis{axis}", lambda x, f=f: f(x, axis), {"x": x}, axis=axis)
    for op, f in {"max_with_index": torch.max, "min_with_index": torch.min}.items():
        for axis in (0, 1):
            both = lambda x, f=f: dict(zip(("y", "index"), f(x, axis)))
            case(op, f"axis{axis}", both, {"x": x}, axis=axis)
    for k, axis in ((2, 0), (5, 1), (1, 1)):
        f = lambda x: dict(zip(("y", "index"), x.topk(k, axis)))
        case("topk", f"axis{axis}_k{k}", f, {"x": x}, k=k, axis=axis)
    inputs = {"x": x, "index": randint(2, 2, 4, 6)}
    case("gather", "minus1_smaller", lambda x, index: x.gather(-1, index), inputs, axis=-1)
    inputs = {"x": x, "index": torch.tensor([4, 0, 4, 4])}
    case("index_select", "minus2", lambda x, index: x.index_select(-2, index), inputs, axis=-2)


def fused():
    """Layers that Tare runs as one op, and the layouts of a weight; there is none of them in PyTorch."""
    x, bias = randn(2, 3, 5), randn(4)
    gamma, beta = randn(5, scale=0.25, shift=1.0), randn(5)
    gelus = {"gelu_erf": F.gelu, "gelu_tanh": lambda x: F.gelu(x, approximate="tanh")}
    for layout in ("out_in", "in_out"):
        weight = randn(4, 5) if layout == "out_in" else randn(5, 4)
        product = lambda x, weight: x @ (weight.T if layout == "out_in" else weight)
        inputs = {"x": x, "weight": weight, "bias": bias}
        if layout == "in_out":
            f = lambda x, weight, bias: product(x, weight) + bias
            case("linear", layout, f, inputs, layout=layout)
        for name, gelu in gelus.items():
            f = lambda x, weight, bias: product(gelu(x), weight) + bias
            case(f"{name}_linear", layout, f, inputs, layout=layout)
        f = lambda x, gamma, beta, weight, bias: (
            product(F.layer_norm(x, (5,), gamma, beta, 1e-5), weight) + bias
        )
        inputs = {"x": x, "gamma": gamma, "beta": beta, "weight": weight, "bias": bias}
        case("layernorm_linear", layout, f, inputs, eps=1e-5, layout=layout)

    def packed(qkv, key_mask=None, causal=False):
        B, T, C = qkv.shape[0], qkv.shape[1], qkv.shape[2] // 3
        q, k, v = (t.view(B, T, 2, C // 2).transpose(1, 2) for t in qkv.split(C, -1))
        seen = torch.ones(T, T, dtype=torch.bool)
        if causal:
            seen = seen.tril()
        if key_mask is not None:
            seen = seen & key_mask[:, None, None, :]
        return F.scaled_dot_product_attention(q, k, v, seen).transpose(1, 2).reshape(B, T, C)

    for causal in (False, True):
        name = "causal" if causal else "full"
        f = lambda qkv: packed(qkv, None, causal)
        case("packed_attention", name, f, {"qkv": randn(2, 5, 18)}, heads=2, causal=causal)
    inputs = {"qkv": randn(2, 5, 18), "key_mask": torch.arange(5) < torch.tensor([[5], [2]])}
    f = lambda qkv, key_mask: packed(qkv, key_mask, True)
    case("packed_attention", "padding", f, inputs, heads=2, causal=True)
    inputs = {"a": randn(2, 3, 5), "b": randn(2, 5, 4)}
    case("bmm", "batched", lambda a, b: torch.bmm(a, b), inputs)
    x = randn(3, 7)
    f = lambda x: 5 / (1.5 + (2 - (x * 3 - 0.5) / 4 + 0.25).square() * 0.5)
    case("numbers", "chain", f, {"x": x})
    case("erf", "random", lambda x: x.erf(), {"x": x})
    case("erf", "tails", lambda x: x.erf(), {"x": torch.tensor([-9, -6, -1, -0.125, 0, 0.125, 1, 6, 9.0]).double()})


def convolutions():
    for name, (B, C, H, W), (O, KH, KW), has_bias, stride, padding, dilation in (
        ("patches", (2, 1, 4, 6), (3, 2, 2), True, (2, 2), (0, 0), (1, 1)),
        ("padded", (1, 2, 5, 4), (2, 3, 3), True, (1, 1), (1, 1), (1, 1)),
        ("uneven", (2, 1, 7, 5), (2, 3, 2), False, (3, 2), (1, 0), (1, 2)),
        ("one", (1, 2, 3, 3), (2, 3, 3), True, (2, 1), (0, 0), (1, 1)),
    ):
        inputs = {"x": randn(B, C, H, W), "weight": randn(O, C, KH, KW)}
        if has_bias:
            inputs["bias"] = randn(O)
        at = {"stride": stride, "padding": padding, "dilation": dilation}
        f = lambda x, weight, bias=None: F.conv2d(x, weight, bias, **at)
        case("conv2d", name, f, inputs, **at)


def main():
    global GEN
    for group in (unary, binary, reductions, moves, products, normalisations, attention, losses):
        group()
    GEN = generator(37)  # of its own: what stands above keeps its numbers
    for group in (more_reductions, more_picks, fused):
        group()
    GEN = generator(41)
    convolutions()
    write_tensors("ops/ops.safetensors", TENSORS)
    write_json("ops/ops.json", {"cases": CASES})


if __name__ == "__main__":
    main()
