#!/usr/bin/env python3
"""Figures and tables of the paper on source-centric inference, run by this program.

usage: taurus.py GNNRUN FIGURE [--scale tiny|small|large] [--vertices N] [--degree N] [--dims F,H,C]
       [--graph sbm|rmat] [--design own|published] [--repeats N] [--quick] [--out DIR]
       [-- infer options]

FIGURE: fig1 fig2 fig5 fig6 fig7 fig8 fig9 fig10 fig11 fig12 fig13 fig14 table1, or all. Each writes
DIR/FIGURE.json (what was run, every run's report, the rows of the figure), DIR/FIGURE.dat and
DIR/FIGURE.gp, and with gnuplot DIR/FIGURE.svg. README.md beside this says what each one shows.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys

SCALES = {  # vertices, edges of each, dims, chunk
    'tiny': (3000, 8, '32,16,4', '32K'),
    'small': (100000, 16, '256,128,16', '1M'),
    'large': (4194304, 16, '1024,128,16', '8M'),
}
ORDERS = ('original', 'random', 'atlas', 'rcm', 'taurus')
POLICIES = ('belady', 'pending', 'fifo', 'lru', 'random')
CONVS = ('gcn', 'sage', 'gin', 'gat')


class Lab:
    """Stores, models and runs of one scale, kept under DIR/work and made once."""

    def __init__(self, a):
        self.a = a
        vertices, degree, dims, chunk = SCALES[a.scale]
        self.vertices = a.vertices or vertices
        self.degree = a.degree or degree
        self.dims = [int(x) for x in (a.dims or dims).split(',')]
        self.chunk = a.chunk_bytes or chunk
        self.work = os.path.join(a.out, 'work')
        self.runs = []
        os.makedirs(self.work, exist_ok=True)

    def sweep(self, points):
        """The points of a sweep; with --quick its ends."""
        return (points[0], points[-1]) if self.a.quick else points

    def call(self, *args):
        p = subprocess.run([self.a.gnnrun, *map(str, args), '--progress', 'never', '--json'],
                           capture_output=True, text=True, check=False)
        if p.returncode != 0:
            sys.exit(f'{" ".join(map(str, args))}: exit {p.returncode}\n{p.stderr}')
        return json.loads(p.stdout) if p.stdout else {}

    def once(self, name, *args):
        """A file of the work folder, made by a command unless it is there; with its report."""
        key = '-'.join(str(x) for x in (self.a.graph, self.vertices, self.degree, self.dims[0]))
        path = os.path.join(self.work, f'{key}-{name}')
        if not os.path.exists(path):
            report = self.call(*[path if x is None else x for x in args])
            with open(path + '.json', 'w') as f:
                json.dump(report, f)
        with open(path + '.json') as f:
            return path, json.load(f)

    def store(self):
        """In random order, as a graph comes: ids of generated vertices are shuffled."""
        communities = ['--communities', max(2, self.vertices // 200)]
        return self.once('graph.h5', 'generate', self.a.graph, None, '--vertices', self.vertices,
                         '--edges', self.vertices * self.degree, '--feat-dim', self.dims[0],
                         *(communities if self.a.graph == 'sbm' else []))[0]

    def ordered(self, order, *more):
        """The store in an order, and the report of the reordering."""
        if order == 'original':
            return self.store(), {}
        name = '-'.join([order, *map(str, more)]).replace('--', '') + '.h5'
        return self.once(name, 'reorder', self.store(), None, '--order', order, *more)

    def model(self, arch):
        dims = ','.join(map(str, self.dims))
        return self.once(f'{arch}-{dims}.safetensors', 'model', '--seeded', arch, '--dims', dims,
                         '--out', None)[0]

    def infer(self, label, store, arch='gcn', *options, design=None):
        """Repeats of one run; the one of the median time, with the range of all."""
        reports = []
        for _ in range(self.a.repeats):
            out = os.path.join(self.work, 'e.h5')
            metrics = os.path.join(self.work, 'm.jsonl')
            r = self.call('infer', store, '--model', self.model(arch), '--out', out,
                          '--chunk-bytes', self.chunk, '--design', design or self.a.design,
                          '--metrics', metrics, *options, *self.a.options)
            with open(metrics) as f:
                r['usage'] = [x for x in map(json.loads, f) if x['event'] == 'usage']
            reports.append(r)
        reports.sort(key=lambda x: x['stream_s'])
        r = reports[len(reports) // 2]
        r.update(label=label, options=[str(x) for x in options],
                 stream_s_range=[reports[0]['stream_s'], reports[-1]['stream_s']])
        self.runs.append(r)
        return r

    def state_bytes(self, arch='gcn'):
        """Of the states of layer 1, as the design has them."""
        r = self.call('infer', self.store(), '--model', self.model(arch), '--design',
                      self.a.design, '--plan', 'resident', '--explain')
        return r['layers'][0]['state_dim'] * 4 * self.vertices

    def tiered(self, label, store, share, *options, design=None):
        """A tiered run whose store holds a share of the states of layer 1."""
        return self.infer(label, store, 'gcn', '--plan', 'tiered', '--hot-store',
                          int(self.state_bytes() * share), *options, design=design)


# --- figures: each gives the head of its columns, and rows ---

def reloads(r):
    return sum(x['reloads'] for x in r['layers'])


def cold_mb(r):
    return sum(x['cold_read_bytes'] + x['cold_written_bytes'] for x in r['layers']) / 1e6


def table1(lab):
    info = lab.call('info', lab.store())
    gib = lab.vertices * info['feature_dim'] * 4 / 2**30
    return ('graph', 'vertices', 'edges', 'features', 'GiB', 'max_in_degree'), [
        (lab.a.graph, info['vertices'], info['edges'], info['feature_dim'], round(gib, 3),
         info['max_in_degree'])]


def gathered(lab, baseline, arch='gcn'):
    """What others fetch: all batches, or some of them and the time extrapolated."""
    batch = max(64, lab.vertices // 32)
    some = [] if baseline == 'gather' else ['--batches', 4]
    r = lab.call('bench', 'infer', lab.store(), '--model', lab.model(arch), '--baseline',
                 baseline, '--batch-size', batch, *some)
    lab.runs.append(dict(r, label=f'{baseline} {arch}'))
    return r['layers']


def fig1(lab):
    rows = []
    for baseline in ('gather', 'vertex-wise'):
        for layer in gathered(lab, baseline):
            rows.append((f'{baseline}-L{layer["index"]}', layer['access_density_median'],
                         layer['redundancy_factor'],
                         layer['requested_block_bytes'] / max(1, layer['requested_bytes']),
                         layer['loaded_bytes'] / 1e6, layer['extrapolated_s']))
    return ('run', 'access_density', 'redundancy_factor', 'block_amplification', 'loaded_MB',
            'seconds'), rows


def against_others(lab, arch):
    """Seconds of each system for one conv; this program samples ten in-edges of each vertex."""
    r = lab.infer(arch, lab.store(), arch, '--fanout', 10)
    ours = [x['wall_s'] for x in r['layers']]
    rows = [(f'{arch}-own-L{i + 1}', s, 1.0) for i, s in enumerate(ours)]
    for baseline in ('gather', 'vertex-wise'):
        theirs = [x['extrapolated_s'] for x in gathered(lab, baseline, arch)]
        if len(theirs) == len(ours):
            rows += [(f'{arch}-{baseline}-L{i + 1}', s, s / ours[i])
                     for i, s in enumerate(theirs)]
        rows.append((f'{arch}-{baseline}-all', sum(theirs), sum(theirs) / sum(ours)))
    return rows


def fig2(lab):
    return ('run', 'seconds', 'of_own'), against_others(lab, 'gcn')


def fig6(lab):
    return ('run', 'seconds', 'of_own'), [row for arch in lab.sweep(CONVS)
                                          for row in against_others(lab, arch)]


def orders_of(lab, iterations):
    """Intermediate orders: (name, bootstrap, iterations, store, span, dispersion)."""
    for bootstrap in ('rcm', 'original'):
        for k in lab.sweep(iterations):
            store, said = lab.ordered('taurus', '--bootstrap', bootstrap, '--iterations', k)
            yield (f'{bootstrap}-{k}', bootstrap, k, store, said['span_after'],
                   said['after']['dispersion'])


def r2(x, y):
    if len(set(x)) < 2 or len(set(y)) < 2:
        return float('nan')
    return statistics.correlation(x, y) ** 2


def fig5(lab):
    rows = []
    for name, _, _, store, span, dispersion in orders_of(lab, (1, 2, 3, 5)):
        r = lab.tiered(name, store, .25)
        rows.append((name, span, dispersion, r['stream_s'], reloads(r), cold_mb(r)))
    for order in lab.sweep(('random', 'rcm', 'atlas')):
        store, said = lab.ordered(order)
        r = lab.tiered(order, store, .25)
        rows.append((order, said['span_after'], said['after']['dispersion'],
                     r['stream_s'], reloads(r), cold_mb(r)))
    span, dispersion, seconds, count = zip(*(x[1:5] for x in rows))
    lab.found = {'r2_seconds_over_span': r2(span, seconds), 'r2_reloads_over_span':
                 r2(span, count), 'r2_span_over_dispersion': r2(dispersion, span)}
    return ('order', 'span', 'dispersion', 'seconds', 'reloads', 'cold_MB'), rows


def fig7(lab):
    rows = []
    for name, bootstrap, k, store, span, _ in orders_of(lab, (1, 2, 3, 4, 5, 10)):
        r = lab.tiered(name, store, .25)
        rows.append((name, bootstrap, k, span, r['stream_s']))
    return ('order', 'bootstrap', 'iterations', 'span', 'seconds'), rows


def fig8(lab):
    rows = []
    for order in lab.sweep(ORDERS):
        r = lab.tiered(order, lab.ordered(order)[0], .25, '--evict', 'pending')
        first = r['layers'][0]
        new, back = lab.vertices - first['pinned_vertices'], first['reloads']
        stays = first['pairs'] - first['pinned_pairs'] - new - back
        rows.append((order, r['stream_s'], cold_mb(r), reloads(r), stays / first['pairs'],
                     first['pinned_pairs'] / first['pairs'], new / first['pairs'],
                     back / first['pairs'], stays / max(1, stays + back)))
    return ('order', 'seconds', 'cold_MB', 'reloads', 'hot', 'pinned', 'not_started', 'evicted',
            'reuse'), rows


def fig9(lab):
    rows, store = [], lab.ordered('taurus')[0]
    for policy in lab.sweep(POLICIES):
        r = lab.tiered(policy, store, .1, '--evict', policy)
        bins = [sum(x['reloaded_vertices'][i] for x in r['layers']) for i in range(16)]
        rows.append((policy, r['stream_s'], cold_mb(r), reloads(r), *bins))
    return ('policy', 'seconds', 'cold_MB', 'reloads',
            *[f'vertices_{i}' for i in range(1, 16)], 'vertices_16_and_more'), rows


def fig10(lab):
    rows = []
    for order in lab.sweep(ORDERS):
        for share in lab.sweep((.1, .2, .3, .5, .75)):
            r = lab.tiered(f'{order} {share}', lab.ordered(order)[0], share)
            rows.append((f'{order}-{share}', order, share, r['stream_s'], cold_mb(r),
                         reloads(r)))
    return ('run', 'order', 'store_share', 'seconds', 'cold_MB', 'reloads'), rows


def fig11(lab):
    rows, store = [], lab.ordered('taurus')[0]
    for share in lab.sweep((.05, .1, .2, .3, .4, .5, .75, 1.0)):
        r = lab.tiered(f'{share}', store, share)
        rows.append((share, cold_mb(r), reloads(r), r['stream_s']))
    return ('store_share', 'cold_MB', 'reloads', 'seconds'), rows


def fig12(lab):
    rows, store, states = [], lab.ordered('taurus')[0], lab.state_bytes()
    for share in lab.sweep((0, .02, .05, .1, .15, .2)):
        pinned = 'min' if share == 0 else int(states * share)
        r = lab.tiered(f'{share}', store, .25, '--gpu-store', pinned)
        first = r['layers'][0]
        rows.append((share, r['stream_s'], cold_mb(r), reloads(r),
                     first['pinned_messages'] / max(1, first['messages']),
                     first['pinned_vertices'] / lab.vertices))
    return ('pinned_share', 'seconds', 'cold_MB', 'reloads', 'messages', 'vertices'), rows


def fig13(lab):
    """Sums first in either; the older system orders as atlas and evicts by age."""
    rows = []
    for share in lab.sweep((.1, .2, .3, .5)):
        for name, order, policy in (('taurus', 'taurus', 'pending'), ('atlas', 'atlas', 'fifo')):
            r = lab.tiered(f'{name} {share}', lab.ordered(order)[0], share, '--evict', policy,
                           '--gpu-store', 'min' if name == 'atlas' else
                           int(lab.state_bytes() * share / 4), design='published')
            rows.append((f'{name}-{share}', name, share, r['stream_s'], cold_mb(r), reloads(r)))
    return ('run', 'system', 'store_share', 'seconds', 'cold_MB', 'reloads'), rows


def fig14(lab):
    r = lab.tiered('utilisation', lab.ordered('taurus')[0], .25)
    rows = [(u['time_s'], u['cpu_cores'], (u['rss_bytes'] or 0) / 1e6,
             (u['read_bytes_s'] or 0) / 1e6, (u['written_bytes_s'] or 0) / 1e6,
             'nan' if u['gpu_busy'] is None else u['gpu_busy'],
             'nan' if u['gpu_memory_bytes'] is None else u['gpu_memory_bytes'] / 1e6)
            for u in r['usage']]
    return ('time_s', 'cpu_cores', 'rss_MB', 'read_MB_s', 'written_MB_s', 'gpu_busy',
            'gpu_memory_MB'), rows


# --- results ---

PLOTS = {  # columns from 1: what is plotted over what; bars over names, or lines
    'fig1': ('bars', ((2, 'access density'), (3, 'redundancy factor'))),
    'fig2': ('bars', ((2, 'seconds'),)),
    'fig5': ('points', ((2, 4, 'seconds over C'), (2, 5, 'reloads over C'))),
    'fig6': ('bars', ((2, 'seconds'),)),
    'fig7': ('bars', ((5, 'seconds'), (4, 'C'))),
    'fig8': ('bars', ((2, 'seconds'), (4, 'reloads'))),
    'fig9': ('bars', ((2, 'seconds'), (4, 'reloads'))),
    'fig10': ('bars', ((4, 'seconds'), (6, 'reloads'))),
    'fig11': ('points', ((1, 2, 'MB to and from the cold store'), (1, 3, 'reloads'))),
    'fig12': ('points', ((1, 2, 'seconds'), (1, 4, 'reloads'))),
    'fig13': ('bars', ((4, 'seconds'), (6, 'reloads'))),
    'fig14': ('points', ((1, 2, 'cores busy'), (1, 3, 'resident MB'), (1, 4, 'read MB/s'),
                         (1, 5, 'written MB/s'))),
}


def script(figure):
    """One panel for each column, above one another."""
    kind, panels = PLOTS[figure]
    lines = [f"set terminal svg size 760,{320 * len(panels)}", f"set output '{figure}.svg'",
             f'set multiplot layout {len(panels)},1 title "{figure}"', 'unset key', 'set grid y']
    if kind == 'bars':
        lines += ['set style fill solid .6', 'set boxwidth .7', 'set xtics rotate by -40']
    for panel in panels:
        lines.append(f'set ylabel "{panel[-1]}"')
        if kind == 'bars':
            lines.append(f"plot '{figure}.dat' using {panel[0]}:xtic(1) with boxes")
        else:
            lines.append(f"plot '{figure}.dat' using {panel[0]}:{panel[1]} with "
                         + ('linespoints' if figure != 'fig5' else 'points pt 7'))
    return '\n'.join(lines + ['unset multiplot', ''])


def make(lab, figure):
    lab.runs, lab.found = [], {}
    head, rows = globals()[figure](lab)
    path = os.path.join(lab.a.out, figure)
    with open(path + '.json', 'w') as f:
        json.dump({'figure': figure, 'graph': lab.a.graph, 'vertices': lab.vertices,
                   'edges': lab.vertices * lab.degree, 'dims': lab.dims, 'design': lab.a.design,
                   'repeats': lab.a.repeats, 'found': lab.found,
                   'rows': [dict(zip(head, row)) for row in rows], 'runs': lab.runs}, f, indent=1)
    with open(path + '.dat', 'w') as f:
        f.write('# ' + ' '.join(head) + '\n')
        f.writelines(' '.join(str(x) for x in row) + '\n' for row in rows)
    if figure in PLOTS:
        with open(path + '.gp', 'w') as f:
            f.write(script(figure))
    print(f'== {figure}: {lab.a.graph}, {lab.vertices} vertices, {lab.degree} edges each, '
          f'dims {lab.dims}, {lab.a.design} design')
    for row in (head, *rows):
        print(' '.join(f'{x:>14.5g}' if isinstance(x, float) else f'{x!s:>14}' for x in row[:9]))
    for name, value in lab.found.items():
        print(f'{name} {value:.3f}')
    if figure in PLOTS and shutil.which('gnuplot'):
        subprocess.run(['gnuplot', f'{figure}.gp'], cwd=lab.a.out, check=True)


def main():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('gnnrun')
    p.add_argument('figure', choices=['table1', *PLOTS, 'all'])
    p.add_argument('--scale', choices=SCALES, default='small')
    p.add_argument('--vertices', type=int)
    p.add_argument('--degree', type=int)
    p.add_argument('--dims')
    p.add_argument('--chunk-bytes')
    p.add_argument('--graph', choices=('sbm', 'rmat'), default='sbm')
    p.add_argument('--design', choices=('own', 'published'), default='published')
    p.add_argument('--repeats', type=int, default=1)
    p.add_argument('--quick', action='store_true')
    p.add_argument('--out', default='papers-out')
    p.add_argument('options', nargs='*', help='of infer, behind --')
    argv, more = sys.argv[1:], []
    if '--' in argv:
        argv, more = argv[:argv.index('--')], argv[argv.index('--') + 1:]
    a = p.parse_args(argv)
    a.options = more
    a.gnnrun = os.path.realpath(a.gnnrun)
    lab = Lab(a)
    for figure in ['table1', *PLOTS] if a.figure == 'all' else [a.figure]:
        make(lab, figure)


if __name__ == '__main__':
    main()
