#!/usr/bin/env python3
"""Epochs of sampled GraphSAGE training on a GPU: each gather, beside a plain PyTorch loop.

usage: train_power.py GNNRUN [--folder /dev/shm] [--scale 1] [--epochs 4] [--repeats 2]
                      [--only REGEX] [--device cuda] [--json FILE]

The graph is made here: power, 2,449,029 vertices and 123,718,280 edges times --scale, 100 features,
47 classes, 196,615 training vertices; SAGE, 3 layers, hidden 256, batch 1,024, Adam, dropout .5.
Ways: the table in device memory at fanout 5,10,25; in host memory at 5,10,15 by each gather; the
same with a quarter of the rows cached. PyTorch samples on the GPU, with replacement where a list is
longer than the fanout, aggregates by index_add_, and has its features on the GPU, or in pinned host
memory: rows are then taken by index_select into a pinned buffer and copied. The figure is the
median time of an epoch without evaluation, the first of each run left out; runs are interleaved.
Needs torch, numpy and h5py.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import time

import h5py
import numpy as np
import torch

parser = argparse.ArgumentParser(description=__doc__,
                                 formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument('gnnrun')
parser.add_argument('--folder', default='/dev/shm')
parser.add_argument('--scale', type=float, default=1)
parser.add_argument('--epochs', type=int, default=4)
parser.add_argument('--repeats', type=int, default=2)
parser.add_argument('--only', default='')
parser.add_argument('--device', default='cuda')
parser.add_argument('--json')
args = parser.parse_args()
store = os.path.join(args.folder, 'gnnrun-power.h5')
model = os.path.join(args.folder, 'gnnrun-power.safetensors')
IN_GPU, IN_HOST, DROPOUT, HIDDEN, BATCH = [5, 10, 25], [5, 10, 15], .5, 256, 1024
QUARTER = ('--cache-ratio', .25)

WAYS = {  # name: fanout, options of gnnrun, or where PyTorch has its features
    'GPU memory': (IN_GPU, ('--orchestration', 'step-gpu')),
    'GPU memory, torch': (IN_GPU, 'device'),
    'host, zero-copy': (IN_HOST, ('--orchestration', 'step-gpu', '--gather', 'zero-copy')),
    'host, staged': (IN_HOST, ('--orchestration', 'step-gpu-sample')),
    'host, both': (IN_HOST, ('--orchestration', 'step-gpu', '--gather', 'both')),
    'host, torch': (IN_HOST, 'host'),
    'cached, zero-copy': (IN_HOST, ('--gather', 'zero-copy', *QUARTER)),
    'cached, staged': (IN_HOST, ('--gather', 'staged', *QUARTER)),
    'cached, both': (IN_HOST, ('--gather', 'both', *QUARTER)),
    'cached, auto': (IN_HOST, ('--gather', 'auto', *QUARTER)),
    'cached by degree': (IN_HOST, ('--gather', 'zero-copy', *QUARTER, '--cache-policy', 'degree')),
}


def call(*command):
    p = subprocess.run([args.gnnrun, *map(str, command)], capture_output=True, text=True,
                       check=False)
    if p.returncode != 0:
        raise SystemExit(f'{" ".join(map(str, command))}: exit {p.returncode}\n{p.stderr}')
    return p


class Net(torch.nn.Module):
    def __init__(self, dims):
        super().__init__()
        self.near = torch.nn.ModuleList(map(torch.nn.Linear, dims, dims[1:]))
        self.own = torch.nn.ModuleList(torch.nn.Linear(a, b, bias=False)
                                       for a, b in zip(dims, dims[1:]))

    def forward(self, x, blocks):
        for i, (src, dst, taken) in enumerate(blocks):
            x = torch.nn.functional.dropout(x, DROPOUT, self.training)
            total = x.new_zeros(len(taken), x.shape[1]).index_add_(0, dst, x[src])
            x = self.near[i](total / taken.clamp(min=1)[:, None]) + self.own[i](x[:len(taken)])
            if i + 1 < len(blocks):
                x = x.relu()
        return x


class Peer:
    """Loaded once, with all that every way takes."""

    def __init__(self):
        def there(array):
            return torch.from_numpy(array).to(args.device)

        with h5py.File(store) as f:
            self.first = there(f['topology/in/offsets'][:].astype(np.int64))
            self.src = there(f['topology/in/neighbors'][:].astype(np.int64))
            x = torch.from_numpy(f['features'][:])
            self.y = there(f['labels'][:])
            self.train = there(f['split/train'][:].astype(np.int64))
        cuda = args.device == 'cuda'
        self.x = {'device': x.to(args.device), 'host': x.pin_memory() if cuda else x}
        self.strip = torch.empty(0, x.shape[1], pin_memory=cuda)
        self.row = torch.full((len(self.first) - 1,), -1, device=args.device)

    def sample(self, seeds, fanout):
        ids, blocks = seeds, []
        for k in fanout:
            degree = self.first[ids + 1] - self.first[ids]
            taken = degree.clamp(max=k)
            dst = torch.repeat_interleave(torch.arange(len(ids), device=args.device), taken)
            place = torch.arange(len(dst), device=args.device) - (taken.cumsum(0) - taken)[dst]
            drawn = (torch.rand(len(dst), device=args.device) * degree[dst]).long()
            edge = self.first[ids[dst]] + torch.where(degree[dst] <= k, place, drawn)
            src = self.src[edge]
            self.row[ids] = torch.arange(len(ids), device=args.device)
            fresh = torch.unique(src[self.row[src] < 0])
            self.row[fresh] = len(ids) + torch.arange(len(fresh), device=args.device)
            blocks.append((self.row[src], dst, taken))
            ids = torch.cat([ids, fresh])
            self.row[ids] = -1
        return ids, blocks[::-1]

    def rows(self, ids, where):
        x = self.x[where]
        if where == 'device':
            return x[ids]
        if len(ids) > len(self.strip):
            self.strip = torch.empty(len(ids) + len(ids) // 4, x.shape[1],
                                     pin_memory=args.device == 'cuda')
        strip = self.strip[:len(ids)]
        torch.index_select(x, 0, ids.cpu(), out=strip)
        return strip.to(args.device, non_blocking=True)

    def run(self, fanout, where):
        classes = int(self.y.max()) + 1
        dims = [self.x[where].shape[1], *[HIDDEN] * (len(fanout) - 1), classes]
        net = Net(dims).to(args.device)
        optimizer = torch.optim.Adam(net.parameters(), lr=0.003)
        epochs = []
        for _ in range(args.epochs):
            start = time.perf_counter()
            order = self.train[torch.randperm(len(self.train), device=args.device)]
            for seeds in order.split(BATCH):
                ids, blocks = self.sample(seeds, fanout)
                x = self.rows(ids, where)
                optimizer.zero_grad()
                loss = torch.nn.functional.cross_entropy(net(x, blocks), self.y[seeds])
                loss.backward()
                optimizer.step()
            loss.item()  # waits for all of it
            epochs.append({'epoch_s': time.perf_counter() - start})
        return epochs[1:]


def ours(fanout, options):
    subprocess.run(['rm', '-rf', model + '.ckpt'], check=True)
    p = call('train', store, '--arch', 'sage', '--layers', len(fanout), '--hidden', HIDDEN,
             '--fanout', ','.join(map(str, fanout)), '--lr', .003, '--dropout', DROPOUT,
             '--batch-size', BATCH, '--epochs', args.epochs, '--eval-every', 1000000,
             '--backend', args.device, '--out', model, '--json', '--log', 'info',
             '--progress', 'never', *options)
    report = json.loads(p.stdout)
    chosen = [line for line in p.stderr.splitlines()
              if re.search('rows (of features|in place)', line)]
    return [{'epoch_s': e['wall_s'] - e['eval_s'], **e, 'said': chosen,
             'run_s': report['wall_s']} for e in report['epochs']][1:]


def show(name, epochs):
    def middle(key):
        return statistics.median(e[key] for e in epochs)

    wall = [e['epoch_s'] for e in epochs]
    line = f'{name:18} {middle("epoch_s"):6.3f} s ({min(wall):.3f} .. {max(wall):.3f})'
    if 'sample_s' in epochs[0]:
        rows = middle('input_vertices')
        line += (f': sample {middle("sample_s"):.3f}, collect {middle("collect_s"):.3f}, transfer '
                 f'{middle("transfer_s"):.3f}, compute {middle("compute_s"):.3f}; '
                 f'{rows / 1e6:.1f} M rows, {middle("cache_hits") / rows:.3f} in the cache, '
                 f'{middle("h2d_bytes") / 1e9:.1f} GB; run {middle("run_s"):.1f} s')
    print(line)
    for said in epochs[0].get('said', []):
        print('   ', said.split('] ')[-1])


def main():
    call('generate', 'power', store, '--vertices', int(2449029 * args.scale), '--edges',
         int(123718280 * args.scale), '--feat-dim', 100, '--classes', 47, '--train-count',
         int(196615 * args.scale))
    try:
        peer, runs = None, {name: [] for name in WAYS if re.search(args.only, name)}
        for _ in range(args.repeats):
            for name, epochs in runs.items():
                fanout, how = WAYS[name]
                if isinstance(how, str):
                    peer = peer or Peer()
                    epochs += peer.run(fanout, how)
                else:
                    epochs += ours(fanout, how)
        for name, epochs in runs.items():
            show(name, epochs)
        if args.json:
            with open(args.json, 'w', encoding='utf-8') as f:
                json.dump(runs, f, indent=1)
    finally:
        os.unlink(store)


main()
