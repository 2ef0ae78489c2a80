#!/usr/bin/env python3
"""One GCN layer over every vertex: gnnrun from disk beside PyTorch with the data in memory.

usage: infer_vs_torch.py GNNRUN [--folder DIR] [--scale 20] [--edge-factor 16] [--dims 256,128]
                         [--repeats 5] [--threads 2] [--json FILE]

The graph is R-MAT. gnnrun reads features and topology by direct I/O each time; its figure is the
feature phase (first feature read to last message) and the stream phase (to the sealed result).
PyTorch holds features, normalised adjacency and weights in memory and computes X W, then
torch.sparse.mm on COO (as PyG does without its extensions) and on CSR; loading is not counted. The
runs are interleaved. Needs torch, numpy and h5py.
"""
import argparse
import json
import os
import statistics
import sys
import tempfile
import time

from measure import run

parser = argparse.ArgumentParser(description=__doc__,
                                 formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument('gnnrun')
parser.add_argument('--folder')
parser.add_argument('--scale', type=int, default=20)
parser.add_argument('--edge-factor', type=int, default=16)
parser.add_argument('--dims', default='256,128')
parser.add_argument('--repeats', type=int, default=5)
parser.add_argument('--threads', type=int, default=2)
parser.add_argument('--json')
args = parser.parse_args()


class Torch:
    """X W, then A (X W), with everything in memory before the clock starts."""

    def __init__(self, store, model):
        import h5py
        import numpy as np
        import torch
        self.torch = torch
        torch.set_num_threads(args.threads)
        with h5py.File(store) as f:
            self.x = torch.from_numpy(f['features'][:])
            offsets, src = f['topology/in/offsets'][:], f['topology/in/neighbors'][:]
        v = len(self.x)
        dst = np.repeat(np.arange(v), np.diff(offsets).astype(np.int64))
        keep = src != dst
        loop = np.arange(v)
        src, dst = np.r_[src[keep], loop].astype(np.int64), np.r_[dst[keep], loop]
        c = (np.bincount(dst, minlength=v) ** -0.5).astype(np.float32)
        self.coo = torch.sparse_coo_tensor(np.stack([dst, src]), c[src] * c[dst], (v, v),
                                           check_invariants=False).coalesce()
        self.csr = self.coo.to_sparse_csr()
        from safetensors.torch import load_file
        weights = load_file(model)
        self.w = next(t for k, t in weights.items() if k.endswith('lin.weight')).t().contiguous()
        self.b = next(t for k, t in weights.items() if k.endswith('bias'))

    def time(self, adjacency):
        start = time.perf_counter()
        out = self.torch.sparse.mm(adjacency, self.x @ self.w) + self.b
        return time.perf_counter() - start, out


def main():
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        store, model, out = (os.path.join(folder, n) for n in ('g.h5', 'm.safetensors', 'e.h5'))
        dims = args.dims.split(',')
        run(args.gnnrun, 'generate', 'rmat', store, '--scale', args.scale,
            '--edge-factor', args.edge_factor, '--feat-dim', dims[0])
        run(args.gnnrun, 'model', '--seeded', 'gcn', '--dims', args.dims, '--out', model)
        import h5py
        import numpy as np
        peer = Torch(store, model)
        figures = {k: [] for k in ('feature_s', 'stream_s', 'wall_s', 'torch_coo_s', 'torch_csr_s')}
        for repeat in range(args.repeats + 1):
            report = json.loads(run(args.gnnrun, 'infer', store, '--model', model, '--out', out,
                                    '--json', '--threads', args.threads))
            coo, want = peer.time(peer.coo)
            csr, _ = peer.time(peer.csr)
            if repeat == 0:
                with h5py.File(out) as f:
                    got = f['embeddings'][:]
                error = float(np.abs(got - want.numpy()).max() / np.abs(want.numpy()).max())
                continue  # a warm-up for all
            for k in ('feature_s', 'stream_s', 'wall_s'):
                figures[k].append(report[k])
            figures['torch_coo_s'].append(coo)
            figures['torch_csr_s'].append(csr)
    gb = report['feature_bytes'] / 1e9
    result = {'vertices': report['vertices'], 'edges': report['edges'], 'dims': args.dims,
              'feature_gb': gb, 'difference_from_torch': error}
    print(f"{report['vertices']} vertices, {report['edges']} edges, {gb:.2f} GB of features, "
          f'largest difference from torch {error:.1e}')
    for k, values in figures.items():
        m = statistics.median(values)
        result[k] = {'median': m, 'min': min(values), 'max': max(values), 'runs': values}
        print(f'{k:12s} {m:7.3f} s [{min(values):.3f} .. {max(values):.3f}]  {gb / m:6.2f} GB/s')
    for k in ('torch_coo_s', 'torch_csr_s'):
        ratio = result[k]['median'] / result['stream_s']['median']
        result[k + '_over_stream_s'] = ratio
        print(f'{k} / stream_s = {ratio:.2f}')
    if args.json:
        with open(args.json, 'w') as f:
            json.dump(result, f, indent=1)


sys.exit(main())
