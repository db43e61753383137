# SPDX-License-Identifier: Apache-2.0
"""A worker (turns.py) that runs PyTorch: a training step, or an update alone."""

import argparse
import json
import sys
import time
from pathlib import Path

import torch

import gpt

WARMUP = 3
FLUSH_BYTES = 64 << 20


def memory(field):
    """Bytes of VmRSS or VmHWM of this process."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    return 0


def batches(path, batch, seq, seed=1):
    """Windows of the text's bytes, endless."""
    files = sorted(p for p in Path(path).rglob("*") if p.is_file()) if Path(path).is_dir() else [Path(path)]
    text = torch.frombuffer(bytearray(b"".join(p.read_bytes() for p in files)), dtype=torch.uint8)
    generator = torch.Generator().manual_seed(seed)
    while True:
        starts = torch.randint(len(text) - seq, (batch,), generator=generator)
        windows = torch.stack([text[s:s + seq + 1] for s in starts.tolist()]).long()
        yield windows[:, :-1].contiguous(), windows[:, 1:].contiguous()


def make_optimizer(name, parameters):
    """The optimizer and the library that it is of."""
    parameters = list(parameters)
    torch_version = "torch " + torch.__version__
    if name == "sgd":
        return torch.optim.SGD(parameters, lr=1e-4, momentum=0.9, fused=True), torch_version
    if name == "adamw-fused":
        return torch.optim.AdamW(parameters, lr=1e-4, fused=True), torch_version
    if name == "adamw-foreach":
        return torch.optim.AdamW(parameters, lr=1e-4, foreach=True), torch_version
    if name == "adafactor":
        return torch.optim.Adafactor(parameters, lr=1e-4), torch_version
    if name == "hf-adafactor":
        import transformers
        from transformers.optimization import Adafactor
        return Adafactor(parameters), "transformers " + transformers.__version__
    if name == "bnb-adamw8bit":
        import bitsandbytes
        return bitsandbytes.optim.AdamW8bit(parameters, lr=1e-4), "bitsandbytes " + bitsandbytes.__version__
    raise SystemExit(f"no optimizer {name}")


def training_step(options):
    model = gpt.Gpt(options.model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    run = torch.compile(model) if options.compile else model
    data = batches(options.text, options.batch, options.seq)

    def work():
        ids, targets = next(data)
        run(ids, targets).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return model, work, "torch " + torch.__version__


def update(options):
    model = gpt.Gpt(options.model)
    optimizer, library = make_optimizer(options.optimizer, model.parameters())
    for p in model.parameters():
        p.grad = 1e-3 * torch.randn_like(p)

    def work():
        if options.clip > 0:
            torch.nn.utils.clip_grad_norm_(model.parameters(), options.clip, foreach=True)
        optimizer.step()

    return model, work, library


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["step", "update"])
    parser.add_argument("--model", default="gpt2")
    parser.add_argument("--optimizer", default="adamw-fused")
    parser.add_argument("--text", default="")
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--seq", type=int, default=256)
    parser.add_argument("--clip", type=float, default=0)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--compile", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    start = memory("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    model, work, library = (training_step if options.what == "step" else update)(options)
    for _ in range(WARMUP):
        work()
    peak = memory("VmHWM") - start
    flush = torch.zeros(FLUSH_BYTES // 4) if options.what == "update" else None
    tell = sys.stdout

    def say(**what):
        print(json.dumps(what), file=tell, flush=True)

    say(ready=True, library=library, parameters=sum(p.numel() for p in model.parameters()))
    for _ in sys.stdin:
        if flush is not None:
            flush.add_(1)
        begin = time.perf_counter()
        work()
        say(ms=1e3 * (time.perf_counter() - begin))
    say(rss_peak_bytes=peak)


if __name__ == "__main__":
    main()
