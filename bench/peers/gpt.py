# SPDX-License-Identifier: Apache-2.0
"""GPT-2 in plain PyTorch, as one would write it for speed: scaled_dot_product_attention, tanh GELU, tied head."""

import torch
from torch import nn
from torch.nn import functional as F

# layers, heads, width, vocabulary, positions: those of Tare's presets.
PRESETS = {
    "gpt2": (12, 12, 768, 50257, 1024),
    "gpt2-medium": (24, 16, 1024, 50257, 1024),
    "demo": (4, 4, 128, 256, 256),
    "small": (4, 4, 256, 256, 256),
}


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn, self.attn_out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.inner, self.inner_out = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.attn(self.ln_1(x)).view(b, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.attn_out(y.transpose(1, 2).reshape(b, t, c))
        return x + self.inner_out(F.gelu(self.inner(self.ln_2(x)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(self, preset):
        super().__init__()
        layers, heads, width, vocabulary, positions = PRESETS[preset]
        self.vocabulary = vocabulary
        self.wte, self.wpe = nn.Embedding(vocabulary, width), nn.Embedding(positions, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.ln_f = nn.LayerNorm(width)
        for p in self.parameters():
            nn.init.normal_(p, std=0.02) if p.dim() > 1 else None

    def forward(self, ids, targets):
        x = self.wte(ids) + self.wpe(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        logits = self.ln_f(x) @ self.wte.weight.t()
        return F.cross_entropy(logits.view(-1, self.vocabulary), targets.view(-1))
