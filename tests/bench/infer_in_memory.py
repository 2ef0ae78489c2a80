#!/usr/bin/env python3
"""A store that fits in memory: gnnrun beside PyTorch Geometric's full batch, from files to a file.

usage: infer_in_memory.py GNNRUN [--folder DIR] [--scale 18] [--edge-factor 16]
                          [--dims 256,128,64] [--archs gcn,sage,gin,gat] [--repeats 3] [--json FILE]

Both read what lies in the page cache (or in a tmpfs: --folder /dev/shm) and write the embeddings:
gnnrun a store by --io map; PyG (--python, with torch and torch_geometric) the same features and
edges as npy files, on as many threads, once over the edges (scatter) and once over a CSR matrix,
whose making counts. Seconds are of whole processes without importing torch; `cpu` is their
processor time, which other work on the machine disturbs least; `embed` leaves loading and writing
out of PyG's. Runs are interleaved. Needs h5py.
"""
import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile

PEER = r"""
import json, sys, time
import numpy as np, torch
from torch_geometric.nn import GATConv, GCNConv, GINConv, SAGEConv
from torch_geometric.utils import to_torch_csr_tensor
arch, way, folder, dims, threads = sys.argv[1:6]
dims = [int(d) for d in dims.split(',')]
torch.set_num_threads(int(threads))
pairs = list(zip(dims, dims[1:]))
start, cpu = time.perf_counter(), time.process_time()
x = torch.from_numpy(np.load(folder + '/x.npy'))
edges = torch.from_numpy(np.load(folder + '/edges.npy'))
if arch == 'gat':
    convs = [GATConv(a, b // 4, heads=4) for a, b in pairs[:-1]] + [GATConv(*pairs[-1], heads=1)]
elif arch == 'gin':
    convs = [GINConv(torch.nn.Sequential(torch.nn.Linear(a, b), torch.nn.ReLU(),
                                         torch.nn.Linear(b, b))) for a, b in pairs]
else:
    convs = [{'gcn': GCNConv, 'sage': SAGEConv}[arch](a, b) for a, b in pairs]
begin = time.perf_counter()
with torch.no_grad():
    if way == 'csr':
        edges = to_torch_csr_tensor(edges, size=(len(x), len(x))).t().to_sparse_csr()
    for i, conv in enumerate(convs):
        x = conv(x, edges)
        if i + 1 < len(convs):
            x = torch.relu(x)
embed = time.perf_counter() - begin
np.save(folder + '/peer.npy', x.numpy())
print(json.dumps({'wall': time.perf_counter() - start, 'cpu': time.process_time() - cpu,
                  'embed': embed}))
"""

parser = argparse.ArgumentParser(description=__doc__,
                                 formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument('gnnrun')
parser.add_argument('--folder')
parser.add_argument('--scale', type=int, default=18)
parser.add_argument('--edge-factor', type=int, default=16)
parser.add_argument('--dims', default='256,128,64')
parser.add_argument('--archs', default='gcn,sage,gin,gat')
parser.add_argument('--repeats', type=int, default=3)
parser.add_argument('--python', default='python3')
parser.add_argument('--json')
args = parser.parse_args()


def run(*command):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f'{" ".join(map(str, command))[:300]}\n{done.stderr}')
    return done.stdout


def make_files(folder):
    """The store, and what the peer loads: features and edges of the same graph."""
    import h5py
    import numpy as np
    store = os.path.join(folder, 'g.h5')
    run(args.gnnrun, 'generate', 'rmat', store, '--scale', args.scale, '--edge-factor',
        args.edge_factor, '--feat-dim', args.dims.split(',')[0])
    with h5py.File(store) as f:
        offsets, to = f['topology/out/offsets'][:], f['topology/out/neighbors'][:]
        source = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets.astype(np.int64)))
        np.save(os.path.join(folder, 'edges.npy'), np.stack([source, to.astype(np.int64)]))
        np.save(os.path.join(folder, 'x.npy'), f['features'][:])
    return store


def once(arch, way, folder, store, threads):
    if way != 'gnnrun':
        return json.loads(run(args.python, '-c', PEER, arch, way, folder, args.dims, threads))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    report = json.loads(run(args.gnnrun, 'infer', store, '--model',
                            os.path.join(folder, f'{arch}.st'), '--out',
                            os.path.join(folder, 'e.h5'), '--json', '--backend', 'cpu', '--io',
                            'map', '--threads', threads))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {'wall': report['wall_s'], 'embed': report['stream_s'],
            'cpu': sum(after[:2]) - sum(before[:2])}


def main():
    results, threads = {}, len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        store = make_files(folder)
        dims = [int(d) for d in args.dims.split(',')]
        for arch in args.archs.split(','):
            heads = ()
            told = dims
            if arch == 'gat':
                told = [dims[0], *(d // 4 for d in dims[1:-1]), dims[-1]]
                heads = ('--heads', ','.join(['4'] * (len(dims) - 2) + ['1']))
            run(args.gnnrun, 'model', '--seeded', arch, '--dims', ','.join(map(str, told)),
                *heads, '--out', os.path.join(folder, f'{arch}.st'))
            ways = ('gnnrun', 'coo') if arch == 'gat' else ('gnnrun', 'coo', 'csr')
            runs = {w: [] for w in ways}
            for _ in range(args.repeats):
                for way in ways:
                    runs[way].append(once(arch, way, folder, store, threads))
            for way in ways:
                took = [r['wall'] for r in runs[way]]
                over = [[r[k] / g[k] for r, g in zip(runs[way], runs['gnnrun'])]
                        for k in ('wall', 'cpu')]
                embed, cpu = (statistics.median(r[k] for r in runs[way])
                              for k in ('embed', 'cpu'))
                print(f'{arch:5s} {way:7s} {statistics.median(took):7.2f} s [{min(took):.2f} .. '
                      f'{max(took):.2f}]  embed {embed:7.2f} s  cpu {cpu:7.2f} s  over gnnrun '
                      f'{statistics.median(over[0]):5.2f}, cpu {statistics.median(over[1]):5.2f} '
                      f'[{min(over[1]):.2f} .. {max(over[1]):.2f}]', flush=True)
            results[arch] = runs
    if args.json:
        with open(args.json, 'w') as f:
            json.dump(results, f, indent=1)


if __name__ == '__main__':
    main()
