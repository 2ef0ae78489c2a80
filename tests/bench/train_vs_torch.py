#!/usr/bin/env python3
"""An epoch of sampled GraphSAGE training on the CPU: gnnrun beside PyTorch with PyG's SAGEConv.

usage: train_vs_torch.py GNNRUN STORE.h5 [--fanout 10,10] [--hidden 256] [--batch-size 1024]
                         [--dropout 0.5] [--epochs 3] [--repeats 3] [--threads 2] [--json FILE]

Both hold graph and features in memory and train the same net with Adam on the same split, shuffled.
PyTorch's batches are drawn here by numpy (with replacement, which is cheaper; PyG's NeighborLoader
needs libraries beside PyG), rows of features come by index_select, and SAGEConv runs over bipartite
blocks, so that no layer computes rows that nobody needs. The figure is the time of an epoch without
evaluation, loading not counted; the first epoch of each run is left out. Runs are
interleaved. Needs torch, torch_geometric, numpy and h5py.
"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time

import h5py
import numpy as np
import torch
from torch_geometric.nn import SAGEConv

parser = argparse.ArgumentParser(description=__doc__,
                                 formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument('gnnrun')
parser.add_argument('store')
parser.add_argument('--fanout', default='10,10')
parser.add_argument('--hidden', type=int, default=256)
parser.add_argument('--batch-size', type=int, default=1024)
parser.add_argument('--dropout', type=float, default=0.5)
parser.add_argument('--epochs', type=int, default=3)
parser.add_argument('--repeats', type=int, default=3)
parser.add_argument('--threads', type=int, default=2)
parser.add_argument('--json')
args = parser.parse_args()
fanout = [int(k) for k in args.fanout.split(',')]
torch.set_num_threads(args.threads)


class Net(torch.nn.Module):
    def __init__(self, dims):
        super().__init__()
        self.convs = torch.nn.ModuleList(map(SAGEConv, dims, dims[1:]))

    def forward(self, x, blocks):
        for i, (conv, (edges, count)) in enumerate(zip(self.convs, blocks)):
            x = torch.nn.functional.dropout(x, args.dropout, self.training)
            x = conv((x, x[:count]), edges)
            if i + 1 < len(self.convs):
                x = x.relu()
        return x


class Peer:
    def __init__(self):
        with h5py.File(args.store) as f:
            self.first = f['topology/in/offsets'][:].astype(np.int64)
            self.src = f['topology/in/neighbors'][:].astype(np.int64)
            self.x = torch.from_numpy(f['features'][:].astype(np.float32))
            self.y = torch.from_numpy(f['labels'][:])
            self.train = f['split/train'][:].astype(np.int64)
        classes = int(self.y.max()) + 1
        self.net = Net([self.x.shape[1], *[args.hidden] * (len(fanout) - 1), classes])
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=0.003)
        self.rng = np.random.default_rng(0)
        self.row = np.full(len(self.first) - 1, -1)

    def sample(self, seeds):
        """Ids of the rows, and blocks from the features on: edges, destinations."""
        ids, blocks = seeds, []
        for k in fanout:
            degree = self.first[ids + 1] - self.first[ids]
            taken = np.minimum(degree, k)
            dst = np.repeat(np.arange(len(ids)), taken)
            place = np.arange(len(dst)) - np.repeat(np.cumsum(taken) - taken, taken)
            drawn = (self.rng.random(len(dst)) * degree[dst]).astype(np.int64)
            edge = self.first[ids[dst]] + np.where(degree[dst] <= k, place, drawn)
            src = self.src[edge]
            self.row[ids] = np.arange(len(ids))
            fresh = np.unique(src[self.row[src] < 0])
            self.row[fresh] = len(ids) + np.arange(len(fresh))
            edges = torch.from_numpy(np.stack([self.row[src], dst]))
            blocks.append((edges, len(ids)))
            ids = np.concatenate([ids, fresh])
            self.row[ids] = -1
        return torch.from_numpy(ids), blocks[::-1]

    def epoch(self):
        order = self.rng.permutation(self.train)
        start, parts = time.perf_counter(), [0.0, 0.0, 0.0]
        for i in range(0, len(order), args.batch_size):
            seeds = order[i:i + args.batch_size]
            t = [time.perf_counter()]
            ids, blocks = self.sample(seeds)
            t.append(time.perf_counter())
            x = self.x.index_select(0, ids)
            t.append(time.perf_counter())
            self.optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(self.net(x, blocks),
                                                     self.y[torch.from_numpy(seeds)])
            loss.backward()
            self.optimizer.step()
            t.append(time.perf_counter())
            parts = [p + b - a for p, a, b in zip(parts, t, t[1:])]
        return time.perf_counter() - start, parts

    def run(self):
        self.net.train()
        return [self.epoch() for _ in range(args.epochs)][1:]


def ours(folder):
    report = json.loads(subprocess.run(
        [args.gnnrun, 'train', args.store, '--arch', 'sage', '--layers', str(len(fanout)),
         '--hidden', str(args.hidden), '--fanout', args.fanout, '--lr', '0.003', '--dropout',
         str(args.dropout), '--batch-size', str(args.batch_size), '--epochs', str(args.epochs),
         '--threads', str(args.threads), '--eval-every', '1000000', '--backend', 'cpu', '--json',
         '--log', 'error', '--out', os.path.join(folder, 'm.safetensors')],
        check=True, capture_output=True, text=True).stdout)
    return [(e['wall_s'] - e['eval_s'], [e['sample_s'], e['collect_s'], e['compute_s']])
            for e in report['epochs']][1:]


def main():
    peer, runs = Peer(), {'gnnrun': [], 'torch': []}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(args.repeats):
            runs['gnnrun'] += ours(folder)
            runs['torch'] += peer.run()
    result = {}
    for name, epochs in runs.items():
        wall = [e[0] for e in epochs]
        parts = [statistics.median(e[1][k] for e in epochs) for k in range(3)]
        result[name] = {'epoch_s': statistics.median(wall), 'min_s': min(wall),
                        'max_s': max(wall), 'parts_s': parts}
        print(f'{name:8} {result[name]["epoch_s"]:7.3f} s an epoch ({min(wall):.3f} to '
              f'{max(wall):.3f}): sample {parts[0]:.3f}, collect {parts[1]:.3f}, compute '
              f'{parts[2]:.3f}')
    result['ratio'] = result['torch']['epoch_s'] / result['gnnrun']['epoch_s']
    print(f'torch / gnnrun {result["ratio"]:.2f}')
    if args.json:
        with open(args.json, 'w', encoding='utf-8') as f:
            json.dump({'arguments': vars(args), **result}, f, indent=1)


main()
