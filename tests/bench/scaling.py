#!/usr/bin/env python3
"""Strong and weak scaling over 1..P ranks: medians of interleaved runs, JSON, and a figure.

usage: scaling.py GNNRUN [--job infer|train] [--kinds strong,weak] [--ranks 1,2,4] [--runs 3]
                  [--folder DIR] [--vertices 262144] [--edge-factor 16] [--feat-dim 256]
                  [--dims 256,64] [--arch gcn] [--backend auto] [--launch 'mpirun ...']
                  [--out scaling] [-- OPTIONS OF infer OR train ...]

strong: one graph, `--vertices` large, on every number of ranks. weak: as many vertices for each
rank. Of infer the stream phase counts (first read to sealed result), of train the median epoch but
the first, its batch growing with the ranks. Ranks are started by `LAUNCH -np N`; where LAUNCH has
{}, that is N. Writes OUT.json, OUT.dat and OUT.gp, and with gnuplot OUT.svg: the ideal beside what
was measured. Stores are made under --folder (default: a temporary folder), for ranks with GPUs best
in /dev/shm with --io map.
"""
import argparse
import json
import os
import platform
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile

parser = argparse.ArgumentParser(description=__doc__,
                                 formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument('gnnrun')
parser.add_argument('--job', choices=('infer', 'train'), default='infer')
parser.add_argument('--kinds', default='strong,weak')
parser.add_argument('--ranks', default='1,2,4')
parser.add_argument('--runs', type=int, default=3)
parser.add_argument('--folder')
parser.add_argument('--vertices', type=int, default=1 << 18)
parser.add_argument('--edge-factor', type=int, default=16)
parser.add_argument('--feat-dim', type=int, default=256)
parser.add_argument('--dims')
parser.add_argument('--arch', default='gcn')
parser.add_argument('--batch-size', type=int, default=1024, help='of a rank, for train')
parser.add_argument('--backend', default='auto')
parser.add_argument('--launch', default='mpirun --oversubscribe --bind-to none' + (
    ' --allow-run-as-root' if os.geteuid() == 0 else ''))
parser.add_argument('--out', default='scaling')
end = sys.argv.index('--') if '--' in sys.argv else len(sys.argv)
options = sys.argv[end + 1:]
args = parser.parse_args(sys.argv[1:end])
ranks = [int(n) for n in args.ranks.split(',')]
kinds = args.kinds.split(',')
if ranks[0] != 1 or sorted(set(ranks)) != ranks or not set(kinds) <= {'strong', 'weak'}:
    sys.exit('--ranks ascend from 1, --kinds are strong and weak')


def run(*words):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f'{shlex.join(map(str, words))}: {done.returncode}\n{done.stderr}')
    return done.stdout


def make_store(folder, vertices):
    path = os.path.join(folder, f'g{vertices}.h5')
    if not os.path.exists(path):
        kind = 'rmat' if args.job == 'infer' else 'sbm'
        run(args.gnnrun, 'generate', kind, path, '--vertices', vertices, '--edge-factor',
            args.edge_factor, '--feat-dim', args.feat_dim)
    return path


def measure(folder, kind, count):
    """One run: its seconds, and what else its report says of it."""
    store = make_store(folder, args.vertices * (count if kind == 'weak' else 1))
    out = os.path.join(folder, 'out')
    launch = args.launch if '{}' in args.launch else f'{args.launch} -np {{}}'
    command = [*shlex.split(launch.replace('{}', str(count))), args.gnnrun, args.job, store,
               '--json', '--backend', args.backend, *options]
    if args.job == 'infer':
        report = json.loads(run(*command, '--model', os.path.join(folder, 'm.safetensors'),
                                '--out', f'{out}.h5'))
        seconds = report['stream_s']
    else:
        shutil.rmtree(f'{out}.ckpt', ignore_errors=True)
        report = json.loads(run(*command, '--arch', args.arch, '--out', f'{out}.safetensors',
                                '--batch-size', args.batch_size * count))
        epochs = [e['wall_s'] for e in report['epochs']]
        seconds = statistics.median(epochs[1:] or epochs)
    return seconds, {k: report[k] for k in ('backend', 'read_bytes', 'peak_host_bytes',
                                            'startup_s', 'feature_s') if k in report}


def table(folder):
    taken = {(kind, n): [] for kind in kinds for n in ranks}
    about = {}
    for kind, n in taken:  # stores are made, and warm, before anything counts
        about[kind, n] = measure(folder, kind, n)[1]
    for _ in range(args.runs):
        for kind, n in taken:
            taken[kind, n].append(measure(folder, kind, n)[0])
    rows = []
    for (kind, n), seconds in taken.items():
        one, here = statistics.median(taken[kind, 1]), statistics.median(seconds)
        speedup = one / here if kind == 'strong' else n * one / here
        rows.append({'kind': kind, 'ranks': n, 'median_s': here, 'min_s': min(seconds),
                     'max_s': max(seconds), 'speedup': speedup, 'efficiency': speedup / n,
                     **about[kind, n]})
        print(f'{kind:6} {n:3} ranks  {here:8.3f} s [{min(seconds):.3f} .. {max(seconds):.3f}]  '
              f'speed-up {speedup:5.2f}  efficiency {speedup / n:4.2f}', flush=True)
    return rows


def plot(rows):
    with open(f'{args.out}.dat', 'w', encoding='utf-8') as f:
        for kind in kinds:  # blocks, two empty lines between
            f.write(f'# {kind}: ranks speed-up least most seconds\n')
            one = next(r['median_s'] for r in rows if r['kind'] == kind and r['ranks'] == 1)
            for r in (r for r in rows if r['kind'] == kind):
                work = 1 if kind == 'strong' else r['ranks']
                f.write(f'{r["ranks"]} {r["speedup"]} {work * one / r["max_s"]} '
                        f'{work * one / r["min_s"]} {r["median_s"]}\n')
            f.write('\n\n')
    name = os.path.basename(args.out)
    what = {'strong': 'the same graph', 'weak': 'as many vertices for each rank'}
    curves = ', '.join(
        f"'{name}.dat' index {i} using 1:2:3:4 with yerrorlines pointtype {5 + 2 * i} "
        f"title '{kind}: {what[kind]}'" for i, kind in enumerate(kinds))
    with open(f'{args.out}.gp', 'w', encoding='utf-8') as f:
        f.write(f"""set terminal svg size 640,480
set output '{name}.svg'
set logscale xy 2
set xlabel 'ranks'
set ylabel 'speed-up over one rank'
set xrange [{ranks[0]}:{ranks[-1] * 1.1}]
set xtics ({', '.join(map(str, ranks))})
set key top left
set grid
set title '{args.job} {args.arch}, {rows[0].get("backend", args.backend)}, {args.vertices} \
vertices, {args.feat_dim} features; median and range of {args.runs}'
plot x with lines dashtype 2 linecolor 'gray' title 'ideal', {curves}
""")
    if shutil.which('gnuplot'):
        run('env', '-C', os.path.dirname(os.path.abspath(args.out)), 'gnuplot', f'{name}.gp')


def main():
    with tempfile.TemporaryDirectory(prefix='gnnrun-scaling-', dir=args.folder) as folder:
        dims = args.dims or f'{args.feat_dim},{max(args.feat_dim // 4, 1)}'
        run(args.gnnrun, 'model', '--seeded', args.arch, '--dims', dims, '--out',
            os.path.join(folder, 'm.safetensors'))
        rows = table(folder)
    with open(f'{args.out}.json', 'w', encoding='utf-8') as f:
        json.dump({'job': args.job, 'arch': args.arch, 'vertices': args.vertices,
                   'edge_factor': args.edge_factor, 'feature_dim': args.feat_dim, 'dims': dims,
                   'runs': args.runs, 'launch': args.launch, 'options': options,
                   'host': platform.node(), 'cores': len(os.sched_getaffinity(0)),
                   'version': json.loads(run(args.gnnrun, '--version', '--json'))['version'],
                   'rows': rows}, f, indent=1)
    plot(rows)


main()
