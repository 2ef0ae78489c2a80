#!/usr/bin/env python3
"""One GCN layer from disk under a memory limit: reading once beside gathering.

usage: infer_vs_gather.py GNNRUN [--folder DIR] [--scale 18] [--edge-factor 16] [--dims 1024,128]
                          [--limit 600M] [--batch 4096] [--batches 4] [--repeats 3]

Three ways, interleaved, each process alone in a memory cgroup of --limit (v1, needs root), page
cache included: `gnnrun infer`; `gnnrun bench infer --baseline gather`; and PyTorch, which for each
batch of destinations gathers the rows of their in-neighbours from a memory-mapped file, multiplies
and adds. The latter two do --batches of all batches, spread evenly, and are extrapolated. Needs
torch, numpy and h5py.
"""
import argparse
import json
import os
import statistics
import sys
import tempfile
import time

from measure import run

GROUP = '/sys/fs/cgroup/memory/gnnrun-gather'


def torch_batches(store, dims, batch, batches):
    """Seconds of all batches, extrapolated; the rows lie where HDF5 says."""
    import h5py
    import numpy as np
    import torch
    torch.set_num_threads(2)
    with h5py.File(store) as f:
        v, width = f['features'].shape
        offset = f['features'].id.get_offset()
        first, src = f['topology/in/offsets'][:].astype(np.int64), f['topology/in/neighbors'][:]
    rows = np.memmap(store, np.float32, 'r', offset, (v, width))
    weight = torch.randn(dims[0], dims[1])
    scale = torch.from_numpy(1 / np.sqrt(np.diff(first) + 1.0)).float()
    out = np.empty((batch, dims[1]), np.float32)
    all_batches = -(-v // batch)
    chosen = [i * all_batches // batches for i in range(batches)]
    start = time.monotonic()
    for b in chosen:
        lo, hi = b * batch, min(v, (b + 1) * batch)
        own = np.arange(lo, hi)
        edges = src[first[lo]:first[hi]]
        ids, place = np.unique(np.concatenate([edges, own]), return_inverse=True)
        h = torch.from_numpy(rows[ids]) @ weight * scale[ids][:, None]
        to = np.concatenate([np.repeat(own - lo, np.diff(first[lo:hi + 1])), own - lo])
        sums = torch.zeros(hi - lo, dims[1])
        sums.index_add_(0, torch.from_numpy(to), h[torch.from_numpy(place)])
        out[:hi - lo] = (sums * scale[lo:hi, None]).numpy()
    return (time.monotonic() - start) * all_batches / batches


def limited(limit, command):
    """Runs a command in the group, with the files' pages that others left dropped."""
    os.makedirs(GROUP, exist_ok=True)
    with open(GROUP + '/memory.limit_in_bytes', 'w') as f:
        f.write(limit)

    def enter():
        with open(GROUP + '/tasks', 'w') as f:
            f.write(str(os.getpid()))
    return json.loads(run(*command, preexec_fn=enter))


def drop(path):
    fd = os.open(path, os.O_RDONLY)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)


def main():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('gnnrun')
    p.add_argument('--folder')
    p.add_argument('--scale', type=int, default=18)
    p.add_argument('--edge-factor', type=int, default=16)
    p.add_argument('--dims', default='1024,128')
    p.add_argument('--limit', default='600M')
    p.add_argument('--batch', type=int, default=4096)
    p.add_argument('--batches', type=int, default=4)
    p.add_argument('--repeats', type=int, default=3)
    p.add_argument('--torch', help=argparse.SUPPRESS)
    a = p.parse_args()
    dims = [int(x) for x in a.dims.split(',')]
    if a.torch:
        print(json.dumps({'seconds': torch_batches(a.torch, dims, a.batch, a.batches)}))
        return
    found = {'infer': [], 'gather': [], 'torch': []}
    with tempfile.TemporaryDirectory(dir=a.folder) as folder:
        store, model, out = (os.path.join(folder, x) for x in ('g.h5', 'm.safetensors', 'e.h5'))
        run(a.gnnrun, 'generate', 'rmat', store, '--scale', a.scale, '--edge-factor',
            a.edge_factor, '--feat-dim', dims[0])
        run(a.gnnrun, 'model', '--seeded', 'gcn', '--dims', a.dims, '--out', model)
        for _ in range(a.repeats):
            drop(store)
            found['infer'].append(limited(a.limit, [
                a.gnnrun, 'infer', store, '--model', model, '--out', out, '--json', '--progress',
                'never'])['stream_s'])
            drop(store)
            layer, = limited(a.limit, [
                a.gnnrun, 'bench', 'infer', store, '--model', model, '--batch-size', str(a.batch),
                '--batches', str(a.batches), '--json', '--progress', 'never'])['layers']
            found['gather'].append(layer['extrapolated_s'])
            drop(store)
            found['torch'].append(limited(a.limit, [
                sys.executable, '-B', __file__, a.gnnrun, '--torch', store, '--dims', a.dims,
                '--batch', str(a.batch), '--batches', str(a.batches)])['seconds'])
    os.rmdir(GROUP)
    ours = statistics.median(found['infer'])
    for name, s in found.items():
        print(f'{name:8} {statistics.median(s):8.2f} s [{min(s):.2f} .. {max(s):.2f}]  '
              f'{statistics.median(s) / ours:.1f}')


if __name__ == '__main__':
    main()
