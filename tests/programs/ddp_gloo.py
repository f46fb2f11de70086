"""PyTorch DistributedDataParallel over gloo: two ranks agree on averaged gradients."""
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(7)
model = DistributedDataParallel(torch.nn.Linear(4, 1, bias=False))
loss = model(torch.full((2, 4), float(rank + 1))).sum()
loss.backward()
expected = 2 * sum(range(1, size + 1)) / size
got = model.module.weight.grad.flatten().tolist()
assert all(abs(value - expected) < 1e-5 for value in got), (got, expected)
print(f"rank {rank} of {size}: gradients are the mean over ranks, generation "
      f"{os.environ['DT_GENERATION']}")
dist.destroy_process_group()
