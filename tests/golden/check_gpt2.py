# SPDX-License-Identifier: Apache-2.0
"""Does transformers read a GPT-2 folder that Tare wrote, and get the same logits?

    check_gpt2.py DIR LOGITS [--tolerance 1e-5]

DIR holds config.json and model.safetensors as Tare's save_pretrained writes them. LOGITS is a
safetensors file that Tare wrote: `ids` i64 (B, T) and `logits` f32 (B, T, V). The largest
difference must stay within the tolerance times the largest logit. Exit status: 0 equal, 1 not
equal or not loadable, 77 skipped because torch or transformers is not installed.
"""

import argparse
import os
import sys

os.environ.setdefault("TRANSFORMERS_OFFLINE", "1")


def compare(folder, logits_file, tolerance):
    import torch
    from safetensors.torch import load_file
    from transformers import GPT2LMHeadModel

    model, info = GPT2LMHeadModel.from_pretrained(folder, output_loading_info=True)
    for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"):
        if info[kind]:
            print(f"FAIL {folder}: {kind}: {sorted(info[kind])}")
            return 1
    if model.lm_head.weight.data_ptr() != model.transformer.wte.weight.data_ptr():
        print(f"FAIL {folder}: the head is not tied to wte")
        return 1
    tare = load_file(logits_file)
    with torch.no_grad():
        want = model.eval().double()(tare["ids"], use_cache=False).logits
    got = tare["logits"].double()
    if got.shape != want.shape:
        print(f"FAIL logits have shape {tuple(got.shape)}, transformers gives {tuple(want.shape)}")
        return 1
    error = float((got - want).abs().max() / want.abs().max())
    passed = error <= tolerance
    print(f"{'PASS' if passed else 'FAIL'} largest difference {error:.3e} of the largest logit")
    return 0 if passed else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("logits")
    parser.add_argument("--tolerance", type=float, default=1e-5)
    args = parser.parse_args()
    try:
        import torch  # noqa: F401
        import transformers  # noqa: F401
    except ImportError as missing:
        print(f"SKIP {missing}")
        return 77
    return compare(args.folder, args.logits, args.tolerance)


if __name__ == "__main__":
    sys.exit(main())
