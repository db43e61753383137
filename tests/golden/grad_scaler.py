# SPDX-License-Identifier: Apache-2.0
"""Golden files of GradScaler: the scale and the growth tracker after each update of torch's, in sequences of
steps with gradients that are infinite or NaN at random, some of them unscaled beforehand."""

import torch

from common import generator, write_json, write_tensors

SEQUENCES = {
    "defaults": {"steps": 5000, "bad": 0.0008, "options": {}},
    "short_interval": {
        "steps": 5000,
        "bad": 0.02,
        "options": {"init_scale": 1024.0, "growth_factor": 1.5, "backoff_factor": 0.25, "growth_interval": 7},
    },
    "to_infinity": {"steps": 20, "bad": 0.1, "options": {"init_scale": 2.0**120, "growth_interval": 1}},
}


def run(steps, bad, options, gen):
    parameter = torch.nn.Parameter(torch.ones(1))
    optimizer = torch.optim.SGD([parameter], lr=1e-3)
    scaler = torch.amp.GradScaler("cpu", **options)
    kinds = torch.rand(steps, generator=gen)
    unscaled = torch.rand(steps, generator=gen) < 0.2
    gradients, scales, trackers, parameters = [], [], [], []
    for k in range(steps):
        value = 0.5 if kinds[k] >= bad else float("inf") if kinds[k] < bad / 2 else float("nan")
        scaler.scale((parameter * value).sum()).backward()
        if unscaled[k]:
            scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
        gradients.append(value)
        scales.append(scaler.get_scale())
        trackers.append(scaler._get_growth_tracker())
        parameters.append(parameter.item())
    return {
        "gradient": torch.tensor(gradients),
        "unscaled": unscaled.to(torch.uint8),
        "scale": torch.tensor(scales),
        "tracker": torch.tensor(trackers, dtype=torch.int32),
        "parameter": torch.tensor(parameters),
    }


def main():
    gen = generator(31)
    out = {}
    for name, sequence in SEQUENCES.items():
        result = run(sequence["steps"], sequence["bad"], sequence["options"], gen)
        out |= {f"{name}.{key}": value for key, value in result.items()}
    write_tensors("optim/grad_scaler.safetensors", out)
    write_json("optim/grad_scaler.json", {name: s["options"] for name, s in SEQUENCES.items()})


if __name__ == "__main__":
    main()
