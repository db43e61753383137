# SPDX-License-Identifier: Apache-2.0
"""Golden files of the optimizers: 100 updates of three tensors with a rate that changes each time,
AdamW, six kinds of SGD and Adafactor (of transformers and of torch), in f32 and f64 from the same
gradients; two of them again with parameter groups and clipping; and clipping by global norm alone."""

import math

import torch
from transformers.optimization import Adafactor

from common import generator, relative_l2, write_json, write_tensors

SHAPES = [(7,), (5, 9), (2, 3, 4, 3)]
STEPS = 100
SNAPSHOTS = (1, 2, 10, 100)
CASES = {
    "adamw": {"weight_decay": 0.1, "betas": (0.9, 0.999), "eps": 1e-8},
    "adamw_other_betas": {"weight_decay": 0.01, "betas": (0.8, 0.95), "eps": 1e-6},
    "adamw_no_decay": {"weight_decay": 0.0, "betas": (0.9, 0.999), "eps": 1e-8},
    "sgd": {},
    "sgd_decay": {"weight_decay": 0.1},
    "sgd_momentum": {"momentum": 0.9},
    "sgd_momentum_decay": {"momentum": 0.9, "weight_decay": 0.1},
    "sgd_nesterov": {"momentum": 0.9, "nesterov": True},
    "sgd_nesterov_decay": {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1},
}
# Hugging Face's where the name has hf. The rates are those of inputs() unless the step is relative. In the
# case 2d the third tensor is a matrix of its first dimension against the rest.
CASES |= {
    "adafactor_hf_relative": {"relative_step": True, "scale_parameter": True},
    "adafactor_hf_warmup": {
        "relative_step": True,
        "scale_parameter": False,
        "warmup_init": True,
        "clip_threshold": 0.5,
        "decay_rate": -0.6,
    },
    "adafactor_hf_scaled": {"relative_step": False, "scale_parameter": True, "weight_decay": 0.1},
    "adafactor_hf_moment": {
        "relative_step": False,
        "scale_parameter": False,
        "beta1": 0.9,
        "weight_decay": 0.1,
        "eps": (1e-6, 1e-2),
    },
    "adafactor_hf_2d": {"relative_step": True, "scale_parameter": True},
    "adafactor_torch": {},
    "adafactor_torch_decay": {"weight_decay": 0.1, "eps": (1e-2, 2.0), "d": 1.5, "beta2_decay": -0.6},
}
STATE_NAMES = {"row_var": "exp_avg_sq_row", "col_var": "exp_avg_sq_col", "variance": "exp_avg_sq"}
# What each tensor's group changes: a factor on the rate, a weight decay of its own.
GROUPS = ({}, {"lr_factor": 0.1, "weight_decay": 0.3}, {"lr_factor": 2.0, "weight_decay": 0.0})
GROUP_CASES = {"adamw_groups": CASES["adamw"], "sgd_groups": CASES["sgd_momentum_decay"]}
GROUP_MAX_NORM = 35.0  # over all groups; half of the updates are below it


def inputs():
    """Start values, one gradient per update, and rates; all of them exact in f32. Gradients drift,
    so that moments and momentum build up, and their size spans four orders of magnitude; one
    element of the first tensor never gets a gradient."""
    gen = generator(23)
    starts = [torch.randn(s, generator=gen) for s in SHAPES]
    grads = []
    for shape in SHAPES:
        drift = torch.randn(shape, generator=gen)
        scale = 10.0 ** torch.linspace(-3, 1, drift.numel()).view(shape)
        noise = torch.randn((STEPS, *shape), generator=gen)
        grads.append((drift + noise) * scale)
    grads[0][:, 3] = 0
    rates = [
        0.02 * min(1, (k + 1) / 10) * 0.5 * (1 + math.cos(math.pi * k / STEPS))
        for k in range(STEPS)
    ]
    return starts, grads, [float(torch.tensor(r)) for r in rates]


def kind_of(name):
    if name.startswith("adafactor_hf"):
        return Adafactor
    if name.startswith("adafactor"):
        return torch.optim.Adafactor
    return torch.optim.AdamW if name.startswith("adamw") else torch.optim.SGD


def run(name, options, starts, grads, rates, dtype):
    if name.endswith("2d"):
        starts = [s.flatten(1) if s.dim() > 2 else s for s in starts]
        grads = [g.flatten(2) if g.dim() > 3 else g for g in grads]
    params = [torch.nn.Parameter(s.to(dtype, copy=True)) for s in starts]
    changes = GROUPS if name in GROUP_CASES else [{}] * len(params)
    factors = [c.get("lr_factor", 1) for c in changes]
    groups = [
        {"params": [p]} | {k: v for k, v in c.items() if k != "lr_factor"}
        for p, c in zip(params, changes)
    ]
    relative = options.get("relative_step", False)
    opt = kind_of(name)(groups, lr=None if relative else rates[0], **options)
    out = {}
    for k in range(STEPS):
        for group, factor in zip(opt.param_groups, factors):
            group["lr"] = None if relative else factor * rates[k]
        for p, g in zip(params, grads):
            p.grad = g[k].to(dtype, copy=True)
        if name in GROUP_CASES:
            torch.nn.utils.clip_grad_norm_(params, GROUP_MAX_NORM)
        opt.step()
        if k + 1 in SNAPSHOTS:
            out |= {f"p{i}.after{k + 1}": p.detach().clone() for i, p in enumerate(params)}
    for i, p in enumerate(params):
        for key, value in opt.state[p].items():
            if value is not None and key not in ("step", "RMS"):
                out[f"{STATE_NAMES.get(key, key)}{i}.after{STEPS}"] = value
    return out


def save_clipping():
    """Gradients, their global norm, and the gradients after clip_grad_norm_ to several limits."""
    gen = generator(29)
    out, cases = {}, []
    for name, scale, limit in (
        ("above", 1.0, 1.0),
        ("far_above", 1e4, 0.5),
        ("below", 1e-2, 1.0),
        ("zero", 0.0, 1.0),
        ("tiny_limit", 1.0, 1e-6),
    ):
        grads = [scale * torch.randn(s, generator=gen) for s in SHAPES]
        cases.append({"case": name, "max_norm": limit})
        for i, g in enumerate(grads):
            out[f"{name}.g{i}"] = g
        for tag, dtype in (("f32", torch.float32), ("f64", torch.float64)):
            params = [torch.nn.Parameter(torch.zeros(s, dtype=dtype)) for s in SHAPES]
            for p, g in zip(params, grads):
                p.grad = g.to(dtype, copy=True)
            out[f"{name}.norm.{tag}"] = torch.nn.utils.clip_grad_norm_(params, limit)
            for i, p in enumerate(params):
                out[f"{name}.clipped{i}.{tag}"] = p.grad
    write_tensors("optim/clipping.safetensors", out)
    return cases


def main():
    starts, grads, rates = inputs()
    shared = {"lr": torch.tensor(rates, dtype=torch.float64)}
    for i, (p, g) in enumerate(zip(starts, grads)):
        shared |= {f"p{i}": p, f"g{i}": g}
    write_tensors("optim/inputs.safetensors", shared)
    cases = []
    for name, options in (CASES | GROUP_CASES).items():
        f32 = run(name, options, starts, grads, rates, torch.float32)
        f64 = run(name, options, starts, grads, rates, torch.float64)
        both = {f"{k}.f32": v for k, v in f32.items()} | {f"{k}.f64": v for k, v in f64.items()}
        write_tensors(f"optim/{name}.safetensors", both)
        error = max(relative_l2(f32[k], f64[k]) for k in f64)
        case = {"case": name, "options": options, "torch_f32_error": error}
        if name in GROUP_CASES:
            case |= {"groups": GROUPS, "max_norm": GROUP_MAX_NORM}
        cases.append(case)
        print(f"{name}: largest relative error of f32 {error:.2e}")
    listing = {"shapes": SHAPES, "steps": STEPS, "snapshots": SNAPSHOTS, "cases": cases}
    write_json("optim/cases.json", listing | {"clipping": save_clipping()})


if __name__ == "__main__":
    main()
