# SPDX-License-Identifier: Apache-2.0
"""Golden files of a small GPT-2: a folder as transformers saves it, one batch with logits, losses
and gradients, greedy generation, and 10-step training traces, each in f32 and in f64.

Run by make.sh, which makes the virtual environment that it needs. README.md lists the files.
"""

import math

import torch
import torch.nn.functional as F
from transformers import GPT2Config, GPT2LMHeadModel

from common import DATA, generator, relative_l2, write_json, write_tensors

V, T_MAX, C, L, H = 97, 32, 36, 2, 4
B, T, STEPS = 3, 21, 10
DECAY = 0.1
CLIP = {"adamw": 1.0, "adamw_cosine": 2.5, "momentum": 2.5, "nesterov": 1.0}  # some steps below it
WEIGHT_STD = {"wte": 0.25, "wpe": 0.5, "c_attn": 0.15, "c_proj": 0.3, "c_fc": 0.15}
DTYPES = {"f32": torch.float32, "f64": torch.float64}


def make_model(vocab=V, positions=T_MAX, width=C, layers=L, heads=H, seed=7):
    """GPT-2 with every bias and LayerNorm parameter away from its initial 0 or 1."""
    config = GPT2Config(
        vocab_size=vocab,
        n_positions=positions,
        n_embd=width,
        n_layer=layers,
        n_head=heads,
        activation_function="gelu_new",
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        bos_token_id=vocab - 1,
        eos_token_id=vocab - 1,
        attn_implementation="eager",
    )
    model = GPT2LMHeadModel(config).eval()
    gen = generator(seed)
    with torch.no_grad():
        for name, p in model.named_parameters():
            noise = torch.randn(p.shape, generator=gen)
            if ".ln_" in name and name.endswith("weight"):
                p.copy_(1 + 0.2 * noise)
            elif p.dim() == 1:
                p.copy_(0.1 * noise)
            else:
                p.copy_(WEIGHT_STD[name.split(".")[-2]] * noise)
    return model


def make_batches(steps, seed):
    """ids and next-token targets (steps, B, T): an affine walk through the vocabulary with noise,
    so that there is something to learn."""
    gen = generator(seed)
    walk = torch.randint(0, V, (steps, B, 1), generator=gen)
    for _ in range(T):
        jump = torch.randint(0, V, (steps, B, 1), generator=gen)
        follow = torch.rand((steps, B, 1), generator=gen) < 0.8
        walk = torch.cat([walk, torch.where(follow, (5 * walk[..., -1:] + 3) % V, jump)], dim=-1)
    return walk[..., :-1].contiguous(), walk[..., 1:].contiguous()


def loss_of(model, ids, targets):
    logits = model(ids, use_cache=False).logits
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-100)


def grad_norm_of(model):
    return torch.stack([p.grad.norm() for p in model.parameters()]).norm()


def copy_in(model, dtype):
    twin = GPT2LMHeadModel(model.config).eval().to(dtype)
    twin.load_state_dict({k: v.to(dtype) for k, v in model.state_dict().items()})
    twin.tie_weights()
    return twin


def save_one_batch(model):
    ids, targets = (x[0] for x in make_batches(1, seed=11))
    masked = targets.clone()
    masked[0, 15:] = -100
    masked[2, :4] = -100
    out = {"ids": ids, "targets": targets, "targets_masked": masked}
    for tag, dtype in DTYPES.items():
        twin = copy_in(model, dtype)
        result = twin(ids, output_hidden_states=True, use_cache=False)
        out[f"logits.{tag}"] = result.logits
        if tag == "f64":
            for i, h in enumerate(result.hidden_states):
                out[f"hidden.{i}.{tag}"] = h
        for kind, y in (("", targets), ("_masked", masked)):
            twin.zero_grad()
            loss = loss_of(twin, ids, y)
            loss.backward()
            out[f"loss{kind}.{tag}"] = loss
            out[f"grad_norm{kind}.{tag}"] = grad_norm_of(twin)
            if not kind:
                grads = {name: p.grad for name, p in twin.named_parameters()}
                write_tensors(f"gpt2/grads_{tag}.safetensors", grads)
    write_tensors("gpt2/batch.safetensors", out)


def save_generation(model):
    """Greedy continuation; the gap to the second-best logit says how safe the choice is in f32."""
    twin = copy_in(model, torch.float64)
    tokens = torch.tensor([[5, 28, 46, 39]])
    gap = math.inf
    with torch.no_grad():
        while tokens.shape[1] < 28:
            best = twin(tokens, use_cache=False).logits[0, -1].topk(2)
            gap = min(gap, float(best.values[0] - best.values[1]))
            tokens = torch.cat([tokens, best.indices[:1].view(1, 1)], dim=1)
    write_tensors("gpt2/greedy.safetensors", {"prompt": tokens[0, :4], "tokens": tokens[0]})
    return gap


def make_optimizer(kind, model, lr):
    named = list(model.named_parameters())
    groups = [
        {"params": [p for _, p in named if p.dim() > 1], "weight_decay": DECAY},
        {"params": [p for _, p in named if p.dim() < 2], "weight_decay": 0.0},
    ]
    if kind.startswith("adamw"):
        return torch.optim.AdamW(groups, lr=lr, betas=(0.9, 0.999), eps=1e-8)
    return torch.optim.SGD(groups, lr=lr, momentum=0.9, nesterov=kind == "nesterov")


def trace(kind, model, lrs, ids, targets):
    """Losses and pre-clip gradient norms of STEPS updates; the model is left at its end."""
    opt = make_optimizer(kind, model, lrs[0])
    losses, norms = [], []
    for k in range(STEPS):
        for group in opt.param_groups:
            group["lr"] = lrs[k]
        opt.zero_grad()
        loss = loss_of(model, ids[k], targets[k])
        loss.backward()
        norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP[kind]))
        losses.append(loss.detach())
        opt.step()
    return torch.stack(losses), torch.stack(norms)


def learning_rates(kind):
    if kind == "adamw_cosine":  # warm-up over 3 updates, then down to 0, as transformers counts
        rise = [k / 3 for k in range(3)]
        return [2e-2 * f for f in rise] + [
            1e-2 * (1 + math.cos(math.pi * (k - 3) / (STEPS - 3))) for k in range(3, STEPS)
        ]
    return [{"adamw": 1e-2, "momentum": 0.1, "nesterov": 0.1}[kind]] * STEPS


def save_traces(model):
    ids, targets = make_batches(STEPS, seed=13)
    write_tensors("gpt2/trace_inputs.safetensors", {"ids": ids, "targets": targets})
    report = {}
    for kind in ("adamw", "adamw_cosine", "momentum", "nesterov"):
        lrs, ends = learning_rates(kind), {}
        for tag, dtype in DTYPES.items():
            twin = copy_in(model, dtype)
            losses, norms = trace(kind, twin, lrs, ids, targets)
            out = {"loss": losses, "grad_norm": norms, "lr": torch.tensor(lrs, dtype=torch.float64)}
            if kind != "adamw_cosine":
                out |= {f"param.{name}": p for name, p in twin.named_parameters()}
            write_tensors(f"gpt2/{kind}_{tag}.safetensors", out)
            ends[tag] = (losses, norms, dict(twin.named_parameters()))
        (l32, n32, p32), (l64, n64, p64) = ends["f32"], ends["f64"]
        report[kind] = {
            "optimizer": "adamw" if kind.startswith("adamw") else "sgd",
            "momentum": 0.0 if kind.startswith("adamw") else 0.9,
            "nesterov": kind == "nesterov",
            "weight_decay": DECAY,
            "clip": CLIP[kind],
            "steps": STEPS,
            "torch_f32_error": {
                "loss": float(((l32.double() - l64) / l64).abs().max()),
                "grad_norm": float(((n32.double() - n64) / n64).abs().max()),
                "param": {k: relative_l2(p32[k], p64[k]) for k in p64},
            },
        }
    return report


def save_hub_layout():
    """A folder as the oldest published GPT-2 files are laid out: no `transformer.` prefix, and the
    causal mask stored as a buffer of each block."""
    model = make_model(vocab=11, positions=8, width=8, layers=1, heads=2, seed=17)
    ids = torch.tensor([[1, 9, 4, 0, 7]])
    tensors = {k.removeprefix("transformer."): v for k, v in model.transformer.state_dict().items()}
    tensors["h.0.attn.bias"] = torch.tril(torch.ones(8, 8)).view(1, 1, 8, 8)
    tensors["h.0.attn.masked_bias"] = torch.tensor(-1e4)
    write_tensors("gpt2_hub_layout/model.safetensors", tensors)
    keys = (
        "model_type vocab_size n_positions n_embd n_layer n_head activation_function "
        "attn_pdrop embd_pdrop resid_pdrop layer_norm_epsilon initializer_range"
    )
    config = model.config.to_dict()
    write_json(
        "gpt2_hub_layout/config.json",
        {"architectures": ["GPT2LMHeadModel"], "n_ctx": 8} | {k: config[k] for k in keys.split()},
    )
    logits = copy_in(model, torch.float64)(ids, use_cache=False).logits
    write_tensors("gpt2_hub_layout/logits.safetensors", {"ids": ids, "logits": logits})


def main():
    torch.set_num_threads(1)
    model = make_model()
    model.save_pretrained(DATA / "gpt2" / "model")
    save_one_batch(model)
    gap = save_generation(model)
    report = save_traces(model)
    write_json("gpt2/traces.json", {"greedy_smallest_gap": gap, "traces": report})
    save_hub_layout()


if __name__ == "__main__":
    main()
