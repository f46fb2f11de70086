"""The bundled trainer's model in PyTorch, for a fair figure beside it: prints tokens per second."""
import argparse
import json
import time

import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, hidden, heads, ffn):
        super().__init__()
        self.heads, self.size = heads, hidden // heads
        self.norm1, self.norm2 = nn.Parameter(torch.ones(hidden)), nn.Parameter(torch.ones(hidden))
        self.qkv = nn.Linear(hidden, 3 * hidden, bias=False)
        self.out = nn.Linear(hidden, hidden, bias=False)
        self.up = nn.Linear(hidden, 2 * ffn, bias=False)
        self.down = nn.Linear(ffn, hidden, bias=False)

    def attend(self, x, cos, sin, mask):
        b, s, h = x.shape
        q, k, v = self.qkv(x).view(b, s, 3, self.heads, self.size).permute(2, 0, 3, 1, 4)
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        if hasattr(F, "scaled_dot_product_attention"):
            o = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            o = ((q @ k.transpose(-1, -2)) / self.size ** 0.5 + mask).softmax(-1) @ v
        return self.out(o.transpose(1, 2).reshape(b, s, h))

    def forward(self, x, cos, sin, mask):
        x = x + self.attend(rms(x, self.norm1), cos, sin, mask)
        gate, up = self.up(rms(x, self.norm2)).chunk(2, -1)
        return x + self.down(F.silu(gate) * up)


def rms(x, gain):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * gain


def rotate(x, cos, sin):
    a, b = x.chunk(2, -1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), -1)


class Model(nn.Module):
    def __init__(self, layers, hidden, heads, ffn, vocab, seq):
        super().__init__()
        self.embed = nn.Embedding(vocab, hidden)
        self.blocks = nn.ModuleList(Block(hidden, heads, ffn) for _ in range(layers))
        self.norm = nn.Parameter(torch.ones(hidden))
        self.head = nn.Linear(hidden, vocab, bias=False)
        size = hidden // heads
        angle = torch.outer(torch.arange(seq).float(),
                            10000.0 ** (-torch.arange(0, size, 2).float() / size))
        self.register_buffer("cos", angle.cos())
        self.register_buffer("sin", angle.sin())
        self.register_buffer("mask", torch.full((seq, seq), float("-inf")).triu(1))

    def forward(self, ids):
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x, self.cos, self.sin, self.mask)
        return self.head(rms(x, self.norm))


PRESETS = {"llama-nano": (4, 128, 4, 344, 256), "bench-6m": (8, 256, 8, 688, 256),
           "bench-38m": (12, 512, 8, 1376, 256)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="bench-6m")
    parser.add_argument("--seq", type=int, default=256)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(1)
    model = Model(*PRESETS[args.model], args.seq)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, betas=(0.9, 0.95),
                                  weight_decay=0.1)
    times = []
    for step in range(args.steps + 2):
        ids = torch.randint(0, 256, (args.batch, args.seq + 1))
        begin = time.perf_counter()
        loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        float(loss)
        if step >= 2:
            times.append(time.perf_counter() - begin)
    times.sort()
    print(json.dumps({"tokens_per_s": args.batch * args.seq / times[len(times) // 2],
                      "torch": torch.__version__, "threads": args.threads}))


if __name__ == "__main__":
    main()
