# SPDX-License-Identifier: Apache-2.0
"""Golden files of a small ViT: a folder as transformers saves it, one batch with logits, loss and
gradients, and a 10-step training trace, each in f32 and in f64.

Run by make.sh, which makes the virtual environment that it needs. README.md lists the files.
"""

import math

import torch
import torch.nn.functional as F
from transformers import ViTConfig, ViTForImageClassification

from common import DATA, generator, write_tensors

SIDE, PATCH, CHANNELS, C, L, H, INNER, CLASSES = 12, 4, 2, 24, 2, 4, 40, 7
B, STEPS, WARMUP, PEAK, DECAY, CLIP = 3, 10, 3, 2e-3, 0.05, 1.0
DTYPES = {"f32": torch.float32, "f64": torch.float64}


def make_model():
    """Every bias and LayerNorm parameter away from its initial 0 or 1."""
    config = ViTConfig(
        image_size=SIDE,
        patch_size=PATCH,
        num_channels=CHANNELS,
        hidden_size=C,
        num_hidden_layers=L,
        num_attention_heads=H,
        intermediate_size=INNER,
        num_labels=CLASSES,
        attn_implementation="sdpa",  # eager rounds the weights to f32, in f64 too
    )
    model = ViTForImageClassification(config).eval()
    gen = generator(19)
    with torch.no_grad():
        for name, p in model.named_parameters():
            noise = torch.randn(p.shape, generator=gen)
            if "layernorm" in name and name.endswith("weight"):
                p.copy_(1 + 0.2 * noise)
            else:
                p.copy_((0.1 if p.dim() == 1 else 0.25) * noise)
    return model


def copy_in(model, dtype):
    twin = ViTForImageClassification(model.config).eval().to(dtype)
    twin.load_state_dict({k: v.to(dtype) for k, v in model.state_dict().items()})
    return twin


def file_names(model):
    """The name that save_pretrained gives each parameter, found by its values."""
    from safetensors.torch import load_file

    saved = load_file(DATA / "vit" / "model" / "model.safetensors")
    names = {}
    for mine, p in model.named_parameters():
        same = [k for k, v in saved.items() if v.shape == p.shape and torch.equal(v, p.float())]
        assert len(same) == 1, (mine, same)
        names[mine] = same[0]
    return names


def make_batches(steps, seed):
    gen = generator(seed)
    images = torch.randn((steps, B, CHANNELS, SIDE, SIDE), generator=gen)
    return images, torch.randint(0, CLASSES, (steps, B), generator=gen)


def save_one_batch(model, names):
    images, labels = (x[0] for x in make_batches(1, seed=23))
    out = {"images": images, "labels": labels}
    for tag, dtype in DTYPES.items():
        twin = copy_in(model, dtype)
        logits = twin(images.to(dtype)).logits
        loss = F.cross_entropy(logits, labels)
        loss.backward()
        out |= {f"logits.{tag}": logits, f"loss.{tag}": loss}
    write_tensors("vit/batch.safetensors", out)
    grads = {names[name]: p.grad for name, p in twin.named_parameters()}
    write_tensors("vit/grads_f64.safetensors", grads)


def save_trace(model, names):
    """AdamW with decay on tensors of two dimensions or more; the rate of update k is
    PEAK min(1, (k + 1) / WARMUP) (1 + cos(pi k / STEPS)) / 2."""
    images, labels = make_batches(STEPS, seed=29)
    write_tensors("vit/trace_inputs.safetensors", {"images": images, "labels": labels})
    for tag, dtype in DTYPES.items():
        twin = copy_in(model, dtype)
        params = list(twin.parameters())
        groups = [
            {"params": [p for p in params if p.dim() > 1], "weight_decay": DECAY},
            {"params": [p for p in params if p.dim() < 2], "weight_decay": 0.0},
        ]
        opt = torch.optim.AdamW(groups, lr=PEAK)
        losses, norms, lrs = [], [], []
        for k in range(STEPS):
            lrs.append(PEAK * min(1, (k + 1) / WARMUP) * (1 + math.cos(math.pi * k / STEPS)) / 2)
            for group in opt.param_groups:
                group["lr"] = lrs[-1]
            opt.zero_grad()
            loss = F.cross_entropy(twin(images[k].to(dtype)).logits, labels[k])
            loss.backward()
            norms.append(torch.nn.utils.clip_grad_norm_(params, CLIP))
            losses.append(loss.detach())
            opt.step()
        out = {"loss": torch.stack(losses), "grad_norm": torch.stack(norms)}
        out["lr"] = torch.tensor(lrs, dtype=torch.float64)
        out |= {f"param.{names[name]}": p for name, p in twin.named_parameters()}
        write_tensors(f"vit/adamw_{tag}.safetensors", out)


def main():
    torch.set_num_threads(1)
    model = make_model()
    model.save_pretrained(DATA / "vit" / "model")
    names = file_names(model)
    save_one_batch(model, names)
    save_trace(model, names)


if __name__ == "__main__":
    main()
