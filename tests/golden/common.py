# SPDX-License-Identifier: Apache-2.0
"""What the golden scripts share: where files go, seeded inputs, and writing with a size limit."""

import json
import pathlib

import torch
from safetensors.torch import save_file

DATA = pathlib.Path(__file__).parent / "data"
MAX_FILE_BYTES = 400_000


def write_tensors(path, tensors):
    """Write name -> tensor as safetensors; every tensor gets storage of its own, row-major."""
    path = DATA / path
    path.parent.mkdir(parents=True, exist_ok=True)
    own = {name: t.detach().clone().contiguous() for name, t in sorted(tensors.items())}
    save_file(own, path, metadata={"format": "pt"})
    path.chmod(0o644)
    size = path.stat().st_size
    if size > MAX_FILE_BYTES:
        raise SystemExit(f"{path.name}: {size} bytes, above the limit of {MAX_FILE_BYTES}")
    print(f"{path.relative_to(DATA)}: {len(own)} tensors, {size} bytes")


def write_json(path, value):
    path = DATA / path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1) + "\n")
    print(f"{path.relative_to(DATA)}")


def generator(seed):
    return torch.Generator().manual_seed(seed)


def round_to_half(x):
    """Nearest value that bf16, f16, f32 and f64 all hold exactly, so that no dtype's test starts
    with an input error: rounded to bf16, magnitudes under 2^-14 become zero."""
    y = x.to(torch.bfloat16).to(torch.float64)
    y = torch.where(y.abs() < 2.0**-14, torch.zeros_like(y), y)
    assert torch.equal(y.to(torch.float16).to(torch.float64), y)
    return y


def relative_l2(a, b):
    """|a - b| / |b| over all elements, in f64."""
    a, b = a.detach().double(), b.detach().double()
    return float((a - b).norm() / b.norm().clamp_min(1e-300))
