# SPDX-License-Identifier: Apache-2.0
"""Golden file of the learning-rate schedules: factor on the base rate at updates 0, 1, ..., T, read
from transformers' schedules (f64), for several lengths T and warm-ups w."""

import math

import torch
from transformers import (
    get_constant_schedule_with_warmup,
    get_cosine_schedule_with_warmup,
    get_linear_schedule_with_warmup,
)

from common import write_json, write_tensors

LENGTHS = [(1, 0), (1, 1), (2, 0), (2, 2), (7, 3), (10, 0), (10, 2), (10, 10), (100, 1), (100, 17)]
LENGTHS += [(5, 8)]  # a warm-up longer than the run


def factors(make, total):
    """make(optimizer) -> LambdaLR on a base rate of 1; its rate before each update."""
    opt = torch.optim.SGD([torch.nn.Parameter(torch.zeros(()))], lr=1.0)
    schedule, values = make(opt), []
    for _ in range(total + 1):
        values.append(opt.param_groups[0]["lr"])
        opt.step()
        schedule.step()
    return torch.tensor(values, dtype=torch.float64)


def warmed_cosine(warmup, total):
    """min(1, (k + 1) / w) times half a cosine over all T updates: no update has rate 0."""
    return torch.tensor(
        [
            min(1.0, (k + 1) / warmup) * 0.5 * (1 + math.cos(math.pi * k / total))
            for k in range(total + 1)
        ],
        dtype=torch.float64,
    )


def main():
    out, cases = {}, []
    for total, warmup in LENGTHS:
        made = {
            "constant": factors(lambda o: get_constant_schedule_with_warmup(o, warmup), total),
            "linear": factors(lambda o: get_linear_schedule_with_warmup(o, warmup, total), total),
            "cosine": factors(lambda o: get_cosine_schedule_with_warmup(o, warmup, total), total),
        }
        if warmup > 0:
            made["recipe"] = warmed_cosine(warmup, total)
        for kind, values in made.items():
            name = f"{kind}.T{total}.w{warmup}"
            out[name] = values
            cases.append({"name": name, "schedule": kind, "total": total, "warmup": warmup})
    write_tensors("schedules/factors.safetensors", out)
    write_json("schedules/cases.json", {"cases": cases})


if __name__ == "__main__":
    main()
