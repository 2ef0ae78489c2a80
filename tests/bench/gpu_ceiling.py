#!/usr/bin/env python3
"""What one DMA engine copies from pinned host memory to the device: the ceiling of `--io map`.

usage: gpu_ceiling.py [MIB] [COUNT]      prints GB/s, median of five; needs torch
"""
import statistics
import sys
import time

import torch

mib, count = (int(a) for a in (sys.argv[1:] + ['64', '64'][len(sys.argv) - 1:]))
host = torch.empty(8, mib << 20, dtype=torch.uint8, pin_memory=True).fill_(1)
there = torch.empty(2, mib << 20, dtype=torch.uint8, device='cuda')
rates = []
for _ in range(6):
    torch.cuda.synchronize()
    start = time.perf_counter()
    for i in range(count):
        there[i % 2].copy_(host[i % 8], non_blocking=True)
    torch.cuda.synchronize()
    rates.append(count * (mib << 20) / 1e9 / (time.perf_counter() - start))
print(f'DMA host to device, {mib} MiB at a time: {statistics.median(rates[1:]):.1f} GB/s')
