#!/usr/bin/env python3
"""Figures and tables of the paper on layer-based orchestration of training, run by this program.

usage: neutronorch.py GNNRUN FIGURE [--scale tiny|small|large] [--graphs a,b] [--epochs N]
       [--train-count N] [--device-share X] [--data DIR] [--quick] [--out DIR] [-- train options]

FIGURE: graphs table1 table2 fig2 fig5 fig6 fig7 fig10 fig12 fig13 fig14 fig15 fig16 depth batch, or
all. Each writes DIR/FIGURE.json (every run's report and the rows), DIR/FIGURE.dat and, but for
tables, DIR/FIGURE.gp, with gnuplot DIR/FIGURE.svg. README.md beside this says what each one shows.
On a GPU (--backend cuda behind --) the paper's four cases are there; without one step-cpu stands
for them.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys

GRAPHS = {  # thousands of vertices, thousands of edges, features, classes, hidden: the paper's
    'reddit': (233, 114610, 602, 41, 256),
    'lj-large': (10690, 224610, 400, 60, 256),
    'orkut': (3100, 117000, 600, 20, 160),
    'wikipedia': (13600, 437200, 600, 16, 128),
    'products': (2400, 61900, 100, 47, 64),
    'papers100m': (111000, 1600000, 128, 172, 64),
}
SCALES = {'tiny': (20000, 8, 40), 'small': (200, 2, 1000), 'large': (8, 1, 20000)}
# vertices and edges divided by, features and hidden divided by, training vertices at most in 100s
FANOUT = (25, 10, 5, 5, 5)  # next to the seeds first
LAYER = ('--orchestration', 'layer')
DEVICE_LEAST = 256 << 20  # of device memory; below it a share of the features is no GPU's
HOT = ('--hot-ratio', .2)  # as the paper's 10 to 30 %; labels of these runs are random
EMBED = (*LAYER, '--reuse', 'embeddings', *HOT)


class Lab:
    """Stores and runs of one scale, kept under DIR/work and made once."""

    def __init__(self, a):
        self.a, self.runs, self.limit = a, [], {}
        self.work = os.path.join(a.out, 'work')
        os.makedirs(self.work, exist_ok=True)
        self.gpu = 'cuda' in a.options
        self.base = 'step-gpu-sample' if self.gpu else 'step-cpu'
        self.cases = (('step-cpu', 'step-gpu-sample', 'step-gpu-gather', 'step-gpu') if self.gpu
                      else ('step-cpu',))
        self.batch = 1024 if a.scale != 'tiny' else 32

    def sweep(self, points):
        """The points of a sweep; with --quick its ends."""
        return (points[0], points[-1]) if self.a.quick else points

    def graphs(self, *few):
        wanted = self.a.graphs.split(',') if self.a.graphs else few or list(GRAPHS)
        return self.sweep(wanted) if len(wanted) > 2 else wanted

    def start(self, *args):
        return subprocess.run([self.a.gnnrun, *map(str, args), '--json', '--progress', 'never'],
                              capture_output=True, text=True, check=False)

    def call(self, *args):
        p = self.start(*args)
        if p.returncode != 0:
            sys.exit(f'{" ".join(map(str, args))}: exit {p.returncode}\n{p.stderr}')
        return json.loads(p.stdout) if p.stdout else {}

    def shape(self, name):
        vertices, edges, features, classes, hidden = GRAPHS[name]
        factor, thin, _ = SCALES[self.a.scale]
        return (max(1500, vertices * 1000 // factor), max(12000, edges * 1000 // factor),
                features // thin, classes, hidden // thin)

    def store(self, name):
        """Hubs by powers of uniform numbers, as many vertices and edges as the scale leaves."""
        vertices, edges, features, classes, _ = self.shape(name)
        path = os.path.join(self.work, f'{self.a.scale}-{name}-{self.train_count(name)}.h5')
        if not os.path.exists(path):
            self.call('generate', 'power', path, '--vertices', vertices, '--edges', edges,
                      '--feat-dim', features, '--classes', classes, '--train-count',
                      self.train_count(name))
        return path

    def train_count(self, name):
        most = self.a.train_count or SCALES[self.a.scale][2] * 100
        return min(self.shape(name)[0] * 65 // 100, most)

    def settling(self, name, n):
        """Epochs that the hybrid takes to settle, 40 super-batches, and the asked-for at least."""
        steps = -(-self.train_count(name) // self.batch)
        return max(self.a.epochs, -(-40 * n // steps))

    def within(self, name, *args):
        """A run whose device has a share of the graph's features, or, where batches take more than
        that, as much as they do: that is the graph's limit from there on."""
        if not self.gpu or name is None:
            return self.call(*args)
        vertices, _, features, _, _ = self.shape(name)
        limit = self.limit.setdefault(
            name, int(max(DEVICE_LEAST, self.a.device_share * vertices * features * 4)) >> 20)
        while True:
            p = self.start(*args, '--gpu-memory', f'{limit}M')
            more = re.search(r'([0-9.]+) MiB more of --gpu-memory would suffice', p.stderr)
            if p.returncode == 0:
                self.limit[name] = limit
                return json.loads(p.stdout)
            if p.returncode != 71 or limit > 8 * self.limit[name] + (4 << 10):
                sys.exit(f'{" ".join(map(str, args))}: exit {p.returncode}\n{p.stderr}')
            limit = int(limit + float(more[1]) * 1.05 + 64) if more else limit + limit // 2

    def train(self, label, store, hidden, *options, layers=3, arch='gcn', batch=None, epochs=None,
              name=None):
        """The report of a run, with the last epoch's figures and the machine's use."""
        out, metrics = (os.path.join(self.work, x) for x in ('m.safetensors', 'm.jsonl'))
        shutil.rmtree(out + '.ckpt', ignore_errors=True)
        epochs = epochs or self.a.epochs
        r = self.within(name, 'train', store, '--out', out, '--arch', arch, '--layers', layers,
                        '--hidden', hidden, '--fanout', ','.join(map(str, FANOUT[:layers])),
                        '--batch-size', batch or self.batch, '--epochs', epochs,
                        '--eval-every', epochs, '--dropout', 0, '--metrics', metrics, *options,
                        *self.a.options)
        with open(metrics) as f:
            use = [x for x in map(json.loads, f) if x['event'] == 'usage']
        last = r['epochs'][-1]
        r.update(label=label, options=[str(x) for x in options],
                 cores=sum(x['cpu_cores'] for x in use) / max(1, len(use)),
                 gpu=sum(x['gpu_busy'] or 0 for x in use) / max(1, len(use)),
                 epoch_s=min(e['wall_s'] - e['eval_s'] for e in r['epochs']), last=last,
                 device_MiB=self.limit.get(name, 0))
        self.runs.append(r)
        return r

    def run(self, name, label, *options, **more):
        return self.train(f'{name} {label}', self.store(name), self.shape(name)[4], *options,
                          name=name, **more)


def super_batch(lab):
    return 4 if lab.a.scale != 'tiny' else 2


# --- figures: each gives the head of its columns, and rows ---


def graphs(lab):
    rows = []
    for name in lab.graphs():
        i = lab.call('info', lab.store(name))
        rows.append((name, i['vertices'], i['edges'], i['feature_dim'], i['classes'],
                     lab.shape(name)[4], i['max_in_degree'],
                     GRAPHS[name][0] * 1000 / i['vertices']))
    return ('graph', 'vertices', 'edges', 'features', 'classes', 'hidden', 'max_in_degree',
            'scaled_by'), rows


def fig2(lab):
    rows = []
    for case in (*lab.cases, 'layer'):
        more = () if case != 'layer' else EMBED[2:]
        r = lab.run(lab.graphs('reddit')[0], case, '--orchestration', case, *more)
        rows.append((case, r['epoch_s'], r['cores'], r['gpu'], r['last']['gpu_idle_s'],
                     r['last']['h2d_bytes'] / 1e6))
    return ('case', 'seconds', 'cores', 'gpu', 'idle_s', 'h2d_MB'), rows


def table1(lab):
    """Sampling and gathering by the CPU, one after the other: seconds, and shares of the epoch."""
    rows = []
    for name in lab.graphs():
        e = lab.run(name, 'step-cpu', '--orchestration', 'step-cpu', '--pipeline', 'off')['last']
        total = e['wall_s'] - e['eval_s']
        rows.append((name, e['sample_s'], e['collect_s'], e['transfer_s'], e['compute_s'], total,
                     *(e[key] / total for key in ('sample_s', 'collect_s', 'transfer_s'))))
    return ('run', 'sample_s', 'collect_s', 'transfer_s', 'train_s', 'seconds', 'sample_share',
            'collect_share', 'transfer_share'), rows


def table2(lab):
    """Sampling by either side without a pipeline, and what a pipeline takes off."""
    rows = []
    name = lab.graphs('reddit')[0]
    batch = 10000 if lab.a.scale != 'tiny' else lab.batch
    for case in lab.cases[:2]:
        apart, piped = (lab.run(name, f'{case} pipeline {x}', '--orchestration', case, '--pipeline',
                                x, batch=batch) for x in ('off', 'on'))
        e = apart['last']
        rows.append((case, e['sample_s'], e['collect_s'] + e['transfer_s'], e['compute_s'],
                     apart['epoch_s'], piped['epoch_s'], 1 - piped['epoch_s'] / apart['epoch_s']))
    return ('run', 'sample_s', 'gather_s', 'train_s', 'seconds', 'pipelined_s', 'less'), rows


STAGES = {'sample': 'sample', 'collect': 'gather', 'place': 'gather', 'transfer': 'gather',
          'deliver': 'gather', 'compute': 'train'}
LANES = ('sample', 'gather', 'train')


def fig5(lab):
    """A pipeline as it ran: when each stage was at work on some batches of the last epoch."""
    rows = []
    name, trace = lab.graphs('reddit')[0], os.path.join(lab.work, 'trace.json')
    for case in lab.cases[:2]:
        lab.run(name, f'{case} traced', '--orchestration', case, '--pipeline', 'on', '--trace',
                trace, batch=max(32, lab.batch // 4))
        with open(trace) as f:
            spans = [(e['ts'], e['ts'] + e['dur'], STAGES[e['name']]) for e in json.load(f)
                     if e['ph'] == 'X' and e['name'] in STAGES]
        steps = sorted(x for x in spans if x[2] == 'train')[-8:]
        first, last = steps[0][0], steps[-1][1]
        for start, end, stage in sorted(spans):
            if end > first and start < last:
                rows.append((f'{case}-{stage}', LANES.index(stage) + 1,
                             (max(start, first) - first) / 1e3, (min(end, last) - first) / 1e3))
    return ('run', 'lane', 'start_ms', 'end_ms'), rows


def fig6(lab):
    rows = []
    for batch in lab.sweep((256, 1024, 4096, 10000) if lab.a.scale != 'tiny' else (16, 64, 256)):
        r = lab.run(lab.graphs('reddit')[0], f'batch {batch}', '--orchestration', lab.base,
                    batch=batch)
        rows.append((batch, r['epoch_s'], r['gpu'], r['last']['h2d_bytes'] / 1e6))
    return ('batch', 'seconds', 'gpu', 'h2d_MB'), rows


def fig7(lab):
    """Rows of each kind and the bytes that come in: two layers, as the paper's example."""
    rows = []
    name = lab.graphs('reddit')[0]
    for label, options in (('step', ('--orchestration', lab.base)), ('layer', LAYER)):
        e = lab.run(name, label, *options, layers=2)['last']
        rows.append((label, e['input_vertices'], e['aggregated_vertices'],
                     e['gathered_bytes'] / 1e6, e['h2d_bytes'] / 1e6))
    return ('run', 'input_vertices', 'bottom_vertices', 'gathered_MB', 'h2d_MB'), rows


def fig10(lab):
    rows = []
    for name in lab.graphs():
        for arch in lab.sweep(('gcn', 'sage', 'gat')):
            hidden = max(4, lab.shape(name)[4] // (4 if arch == 'gat' else 1))
            more = ('--heads', 4) if arch == 'gat' else ()
            times = []
            for case in (*lab.cases, 'layer'):
                reuse = EMBED[2:] if case == 'layer' else ()
                r = lab.train(f'{name} {arch} {case}', lab.store(name), hidden, '--orchestration',
                              case, *reuse, *more, arch=arch, name=name)
                times.append(r['epoch_s'])
                rows.append((f'{name}-{arch}-{case}', r['epoch_s'], times[0] / r['epoch_s']))
    return ('run', 'seconds', 'gain_over_first'), rows


def gains(lab):
    """Label, options: each with what came before, and the last with everything overlapped."""
    n = ('--super-batch', super_batch(lab))
    off, on = ('--pipeline', 'off'), ('--pipeline', 'on')
    return (('base', ('--orchestration', lab.base, *off)), ('L', (*LAYER, *off)),
            ('HE', (*EMBED, *n, *off)), ('HH', (*EMBED, *n, '--hybrid', 'on', *off)),
            ('S', (*EMBED, *n, '--hybrid', 'on', *on)),
            ('base-pipelined', ('--orchestration', lab.base, *on)),
            ('aggregates', (*LAYER, '--reuse', 'aggregates', *n, *on)),
            ('precomputed', ('--bottom', 'precomputed', *on)),
            ('auto', ('--reuse', 'auto', *n, *on)))


def fig12(lab):
    rows = []
    for name in lab.graphs():
        before = base = None
        for label, options in gains(lab):
            r = lab.run(name, label, *options, epochs=lab.settling(name, super_batch(lab))
                        if '--hybrid' in options else None)
            base, before = base or r['epoch_s'], before or r['epoch_s']
            e = r['last']
            rows.append((f'{name}-{label}', r['epoch_s'], before / r['epoch_s'],
                         base / r['epoch_s'], e['gathered_bytes'] / 1e6, e['h2d_bytes'] / 1e6,
                         e['cpu_embed_s'], e['gpu_idle_s'], e['max_staleness'], r['cores'],
                         r['gpu'], r['device_MiB'], f"{r['orchestration']}/{r['reuse']}"))
            before = r['epoch_s']
    return ('run', 'seconds', 'gain', 'gain_over_base', 'gathered_MB', 'h2d_MB', 'cpu_embed_s',
            'idle_s', 'max_staleness', 'cores', 'gpu', 'device_MiB', 'way'), rows


def hot_runs(lab, ratios):
    name = lab.graphs('wikipedia')[0]
    for policy in ('degree', 'presample'):
        for ratio in lab.sweep(ratios):
            yield policy, ratio, lab.run(name, f'{policy} {ratio}', *EMBED, '--super-batch',
                                         super_batch(lab), '--hot-ratio', ratio, '--hot-policy',
                                         policy)


def fig13(lab):
    rows = []
    for policy, ratio, r in hot_runs(lab, (0, .05, .1, .2, .3)):
        e = r['last']
        rows.append((f'{policy}-{ratio}', e['gathered_bytes'] / 1e6, e['h2d_bytes'] / 1e6,
                     e['aggregated_vertices'], e['reused_vertices']))
    return ('run', 'gathered_MB', 'h2d_MB', 'made', 'used'), rows


def fig14(lab):
    base = lab.run(lab.graphs('wikipedia')[0], lab.base, '--orchestration', lab.base)
    runs = [(lab.base, base)] + [(f'{policy}-{ratio}', r)
                                 for policy, ratio, r in hot_runs(lab, (0, .1, .2, .3))]
    rows = [(label, r['last']['compute_s'], r['epoch_s'], r['last']['cpu_embed_s'])
            for label, r in runs]
    return ('run', 'train_s', 'seconds', 'cpu_embed_s'), rows


def fig15(lab):
    rows = []
    for name in lab.graphs('lj-large', 'orkut'):
        for case in (*lab.cases, 'layer'):
            more = EMBED[2:] if case == 'layer' else ()
            r = lab.run(name, case, '--orchestration', case, *more)
            rows.append((f'{name}-{case}', r['cores'], r['gpu'], r['epoch_s']))
    return ('run', 'cores', 'gpu', 'seconds'), rows


def fig16(lab):
    """Validation accuracy over epochs; real data where --data has them, else communities."""
    path = os.path.join(lab.work, 'accuracy.h5')
    source = os.path.join(lab.a.data or '', 'amazon_photo')
    if not os.path.exists(path):
        if os.path.isdir(source) and lab.a.scale != 'tiny':
            lab.call('import', source, path)
        else:
            lab.call('generate', 'sbm', path, '--vertices', 3000, '--edge-factor', 10,
                     '--feat-dim', 24, '--classes', 6, '--train-count', 800)
    epochs = 4 if lab.a.quick else 20
    ways = (('step', ('--orchestration', lab.base)), ('L', LAYER),
            ('embeddings', (*LAYER, '--reuse', 'embeddings', '--super-batch', super_batch(lab))),
            ('a fifth hot', (*EMBED, '--super-batch', super_batch(lab))),
            ('aggregates', (*LAYER, '--reuse', 'aggregates')),
            ('precomputed', ('--bottom', 'precomputed')))
    valid = [[e['valid'] for e in lab.train(label, path, 64, *options, '--eval-every', 1, layers=2,
                                            batch=512 if lab.a.scale != 'tiny' else 100,
                                            epochs=epochs)['epochs']] for label, options in ways]
    return ('epoch', *(label for label, _ in ways)), [
        (i + 1, *values) for i, values in enumerate(zip(*valid))]


def depth(lab):
    rows = []
    for name in lab.graphs('products', 'wikipedia'):
        for layers in lab.sweep((3, 4, 5)):
            for label, options in (('base', ('--orchestration', lab.base)), ('S', EMBED)):
                r = lab.run(name, f'{layers} layers {label}', *options, layers=layers)
                rows.append((f'{name}-{layers}-{label}', r['epoch_s'],
                             r['last']['input_vertices']))
    return ('run', 'seconds', 'input_vertices'), rows


def batch(lab):
    rows = []
    sizes = (256, 1024, 4096, 10000) if lab.a.scale != 'tiny' else (16, 64, 256)
    for name in lab.graphs('products', 'wikipedia'):
        for size in lab.sweep(sizes):
            for label, options in (('base', ('--orchestration', lab.base)), ('S', EMBED)):
                r = lab.run(name, f'batch {size} {label}', *options, batch=size)
                rows.append((f'{name}-{size}-{label}', r['epoch_s'],
                             r['last']['input_vertices']))
    return ('run', 'seconds', 'input_vertices'), rows


PLOTS = {'fig2': 2, 'fig5': 0, 'fig6': 2, 'fig7': 2, 'fig10': 3, 'fig12': 4, 'fig13': 2, 'fig14': 2,
         'fig15': 2, 'fig16': 0}
TABLES = ('graphs', 'table1', 'table2', 'depth', 'batch')


def script(figure, head):
    lines = ['set terminal svg size 900,420', f"set output '{figure}.svg'", 'set grid y']
    if figure == 'fig5':
        lines += ['unset key', 'set xlabel "ms"', 'set yrange [0.5:3.5]',
                  'set ytics (' + ', '.join(f"'{x}' {i + 1}" for i, x in enumerate(LANES)) + ')',
                  "plot 'fig5.dat' using 3:2:($4-$3):(0) with vectors nohead linewidth 12"]
    elif figure == 'fig16':
        lines += ['set key bottom right', 'set xlabel "epoch"', 'set ylabel "valid"', 'plot ' +
                  ', '.join(f"'{figure}.dat' using 1:{i + 2} with linespoints title '{name}'"
                            for i, name in enumerate(head[1:]))]
    else:
        column = PLOTS[figure]
        lines += ['unset key', 'set style fill solid .6', 'set boxwidth .7',
                  'set xtics rotate by -40', f'set ylabel "{head[column - 1]}" noenhanced',
                  f"plot '{figure}.dat' using {column}:xtic(1) with boxes"]
    return '\n'.join([*lines, ''])


def make(lab, figure):
    lab.runs = []
    head, rows = globals()[figure](lab)
    path = os.path.join(lab.a.out, figure)
    with open(path + '.json', 'w') as f:
        json.dump({'figure': figure, 'scale': lab.a.scale, 'base': lab.base,
                   'rows': [dict(zip(head, row)) for row in rows], 'runs': lab.runs}, f, indent=1)
    with open(path + '.dat', 'w') as f:
        f.write('# ' + ' '.join(head) + '\n')
        f.writelines(' '.join(str(x) for x in row) + '\n' for row in rows)
    print(f'== {figure}: scale {lab.a.scale}')
    for row in (head, *rows):
        print(' '.join(f'{x:>14.5g}' if isinstance(x, float) else f'{x!s:>14}' for x in row))
    sys.stdout.flush()
    if figure not in PLOTS:
        return
    with open(path + '.gp', 'w') as f:
        f.write(script(figure, head))
    if shutil.which('gnuplot'):
        subprocess.run(['gnuplot', f'{figure}.gp'], cwd=lab.a.out, check=True)


def main():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('gnnrun')
    p.add_argument('figure', choices=[*TABLES, *PLOTS, 'all'])
    p.add_argument('--scale', choices=SCALES, default='small')
    p.add_argument('--graphs', help='some of them: ' + ','.join(GRAPHS))
    p.add_argument('--epochs', type=int, default=2)
    p.add_argument('--train-count', type=int, help='training vertices, instead of the scale\'s')
    p.add_argument('--device-share', type=float, default=.25, help='of the features, on a GPU')
    p.add_argument('--data', help='folder with amazon_photo, for fig16')
    p.add_argument('--quick', action='store_true')
    p.add_argument('--out', default='papers-out')
    argv, more = sys.argv[1:], []
    if '--' in argv:
        argv, more = argv[:argv.index('--')], argv[argv.index('--') + 1:]
    a = p.parse_args(argv)
    a.options = more
    a.gnnrun = os.path.realpath(a.gnnrun)
    lab = Lab(a)
    for figure in [*TABLES, *PLOTS] if a.figure == 'all' else [a.figure]:
        make(lab, figure)


if __name__ == '__main__':
    main()
