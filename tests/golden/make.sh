#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes every file under data/ again. Needs a virtual environment with PyTorch; without one at
# $TARE_GOLDEN_VENV (default: ./venv, which git ignores) it makes it from PyPI (about 6 GB).
set -euo pipefail
cd "$(dirname "$0")"
venv=${TARE_GOLDEN_VENV:-$PWD/venv}
if [ ! -x "$venv/bin/python" ]; then
  python3 -m venv "$venv"
  "$venv/bin/pip" install torch transformers safetensors numpy
fi
export OMP_NUM_THREADS=2 TRANSFORMERS_OFFLINE=1 PYTHONDONTWRITEBYTECODE=1
for script in gpt2_trace vit_trace optim grad_scaler ops schedules; do
  "$venv/bin/python" "$script.py"
done
du -sb data | awk '{ print $1 " bytes in all"; exit $1 > 4000000 }'
