#!/usr/bin/env python3
"""Test figures at the best validation epoch, over seeds: gnnrun beside PyG on the same model.

usage: train_accuracy.py GNNRUN STORE.h5 [--arch gcn|sage] [--hidden 64] [--layers 2] [--epochs 100]
                         [--dropout 0.5] [--lr 0.01] [--weight-decay 0] [--seeds 10]
                         [--first-seed 0] [--threads 1] [--sampled 10,10] [--batch-size 512]
                         [--batch-epochs 20] [--only REGEX] [--json FILE]

Full batches first: all in-edges, the whole split as one step, Adam, PyG's own initial weights on
its side and gnnrun's on the other, a figure of every split behind each epoch. PyG's GCNConv and
SAGEConv get the graph as a sparse matrix, normalised once over the whole graph as gcn_norm does,
which is the same sum. Then gnnrun in batches of --batch-size: with all in-edges and with --sampled,
the same steps. Mean and standard deviation; accuracy, or area under the curve for two classes where
--metric rocauc is given. --weight-decay is one number or one a layer; --only takes the ways whose
names match. Needs torch, torch_geometric, numpy and h5py.
"""
import argparse
import json
import os
import re
import subprocess
import tempfile

import h5py
import numpy as np
import torch
from torch_geometric.nn import GCNConv, SAGEConv
from torch_geometric.nn.conv.gcn_conv import gcn_norm

parser = argparse.ArgumentParser(description=__doc__,
                                 formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument('gnnrun')
parser.add_argument('store')
parser.add_argument('--arch', choices=('gcn', 'sage'), default='gcn')
parser.add_argument('--hidden', type=int, default=64)
parser.add_argument('--layers', type=int, default=2)
parser.add_argument('--epochs', type=int, default=100)
parser.add_argument('--dropout', type=float, default=0.5)
parser.add_argument('--lr', type=float, default=0.01)
parser.add_argument('--weight-decay', default='0')
parser.add_argument('--metric', choices=('accuracy', 'rocauc'), default='accuracy')
parser.add_argument('--seeds', type=int, default=10)
parser.add_argument('--first-seed', type=int, default=0)
parser.add_argument('--threads', type=int, default=1)
parser.add_argument('--sampled', default='10,10')
parser.add_argument('--batch-size', type=int, default=512)
parser.add_argument('--batch-epochs', type=int, default=20)
parser.add_argument('--only', default='')
parser.add_argument('--json')
args = parser.parse_args()
torch.set_num_threads(args.threads)


def area(score, label):
    """Under the curve of true over false positives; ties count half."""
    order = np.argsort(score, kind='stable')
    values, first, count = np.unique(score[order], return_index=True, return_counts=True)
    rank = np.repeat(first + (count + 1) / 2, count)
    positive = label[order] == 1
    p, n = positive.sum(), (~positive).sum()
    return (rank[positive].sum() - p * (p + 1) / 2) / (p * n)


class Peer:
    def __init__(self):
        with h5py.File(args.store) as f:
            first = f['topology/in/offsets'][:].astype(np.int64)
            src = torch.from_numpy(f['topology/in/neighbors'][:].astype(np.int64))
            self.x = torch.from_numpy(f['features'][:].astype(np.float32))
            self.y = torch.from_numpy(f['labels'][:])
            self.split = {k: torch.from_numpy(f[f'split/{k}'][:].astype(np.int64))
                          for k in ('train', 'valid', 'test')}
        degree = np.diff(first)
        edges = torch.stack([src, torch.from_numpy(np.repeat(np.arange(len(degree)), degree))])
        if args.arch == 'gcn':
            edges, weight = gcn_norm(edges, num_nodes=len(degree))
        else:
            weight = torch.from_numpy(np.repeat(1 / np.maximum(degree, 1), degree)).float()
        self.a = torch.sparse_coo_tensor(edges.flip(0), weight, (len(degree),) * 2)
        self.a = self.a.coalesce().to_sparse_csr()
        self.classes = int(self.y.max()) + 1

    def make(self):
        dims = [self.x.shape[1], *[args.hidden] * (args.layers - 1), self.classes]
        conv = (lambda i, o: GCNConv(i, o, normalize=False)) if args.arch == 'gcn' else (
            lambda i, o: SAGEConv(i, o, aggr='sum'))
        return torch.nn.ModuleList(map(conv, dims, dims[1:]))

    def forward(self, convs, training):
        x = self.x
        for i, conv in enumerate(convs):
            x = torch.nn.functional.dropout(x, args.dropout, training)
            x = conv(x, self.a)
            if i + 1 < len(convs):
                x = x.relu()
        return x

    def figure(self, y, split):
        rows, label = y[self.split[split]], self.y[self.split[split]]
        if args.metric == 'rocauc':
            return float(area((rows[:, 1] - rows[:, 0]).numpy(), label.numpy()))
        return float((rows.argmax(1) == label).double().mean())

    def run(self, seed):
        torch.manual_seed(seed)
        convs, best = self.make(), (-1, 0)
        decay = [float(x) for x in args.weight_decay.split(',')]
        optimizer = torch.optim.Adam([{'params': conv.parameters(), 'weight_decay': x} for conv, x
                                      in zip(convs, decay * len(convs))], lr=args.lr)
        for _ in range(args.epochs):
            optimizer.zero_grad()
            y = self.forward(convs, True)
            torch.nn.functional.cross_entropy(y[self.split['train']],
                                              self.y[self.split['train']]).backward()
            optimizer.step()
            with torch.no_grad():
                y = self.forward(convs, False)
            valid = self.figure(y, 'valid')
            if valid > best[0]:
                best = valid, self.figure(y, 'test')
        return best[1]


def ours(folder, seed, *options):
    report = json.loads(subprocess.run(
        [args.gnnrun, 'train', args.store, '--arch', args.arch, '--layers', str(args.layers),
         '--hidden', str(args.hidden), '--lr', str(args.lr), '--dropout', str(args.dropout),
         '--weight-decay', args.weight_decay, '--metric', args.metric, '--seed', str(seed),
         '--threads', str(args.threads), '--backend', 'cpu', '--json', '--log', 'error',
         *map(str, options), '--out', os.path.join(folder, 'm.safetensors')],
        check=True, capture_output=True, text=True).stdout)
    return report['test']


def main():
    peer = Peer()
    whole = ('--fanout', 'all', '--batch-size', len(peer.split['train']), '--epochs', args.epochs)
    batches = ('--batch-size', args.batch_size, '--epochs', args.batch_epochs)
    ways = (('PyG, full batches', lambda _, seed: peer.run(seed)),
            ('gnnrun, full batches', lambda folder, seed: ours(folder, seed, *whole)),
            (f'gnnrun, batches of {args.batch_size}, all in-edges',
             lambda folder, seed: ours(folder, seed, '--fanout', 'all', *batches)),
            (f'gnnrun, batches of {args.batch_size}, {args.sampled}',
             lambda folder, seed: ours(folder, seed, '--fanout', args.sampled, *batches)))
    ways = [way for way in ways if re.search(args.only, way[0])]
    figures = {name: [] for name, _ in ways}
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(args.first_seed, args.first_seed + args.seeds):
            for name, way in ways:
                figures[name].append(100 * way(folder, seed))
            if args.json:
                with open(args.json, 'w', encoding='utf-8') as f:
                    json.dump({'arguments': vars(args), 'figures': figures}, f, indent=1)
    for name, x in figures.items():
        print(f'{name:40} {np.mean(x):6.2f} +- {np.std(x, ddof=min(1, len(x) - 1)):.2f} %  '
              f'({min(x):.2f} to {max(x):.2f}, {len(x)} seeds)')


main()
