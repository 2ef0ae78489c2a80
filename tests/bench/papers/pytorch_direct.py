#!/usr/bin/env python3
"""Figures of the paper on GPUs that read features in host memory, run by this program.

usage: pytorch_direct.py GNNRUN FIGURE [--scale tiny|small|large] [--runs N] [--epochs N]
       [--quick] [--out DIR] [-- --backend cuda|cpu]

FIGURE: fig1 fig3 rates alignment blocks training, or all. Each writes DIR/FIGURE.json,
DIR/FIGURE.dat and DIR/FIGURE.gp, with gnuplot DIR/FIGURE.svg. README.md beside this says what each
one shows. All but training are of one `gnnrun bench gather`, which is run once for all of them;
without a GPU it has what the CPU does, and `blocks` nothing.
"""
import argparse
import json
import os
import resource
import shutil
import subprocess
import sys

SCALES = {  # table; vertices, edges, features and training vertices of the graph
    'tiny': ('4M', 3000, 30000, 32, 600),
    'small': ('1G', 200000, 4000000, 100, 20000),
    'large': ('8G', 2449029, 123718280, 100, 196615),
}
SIZES = [64 << i for i in range(8)]  # bytes of a row; also with 4 bytes more, which start anywhere
DMA, PLAIN, SHIFTED = 'staged', 'zero-copy', 'zero-copy, shifted'
PLOTS = {  # the columns that are drawn over the first
    'fig1': ('row bytes', 'GB/s'), 'fig3': ('row bytes', 'CPU s/GB'),
    'rates': ('row bytes', 'share of a copy'), 'alignment': ('row bytes', 'GB/s'),
    'blocks': ('blocks', 'time of a step, times'), 'training': ('', 's an epoch'),
}


class Lab:
    def __init__(self, a):
        self.a, self.told = a, None
        self.gpu = a.backend == 'cuda'
        os.makedirs(a.out, exist_ok=True)

    def run(self, *args):
        p = subprocess.run([self.a.gnnrun, *map(str, args)], capture_output=True, text=True,
                           check=False)
        if p.returncode != 0:
            raise SystemExit(f'gnnrun {" ".join(map(str, args))}: exit {p.returncode}\n{p.stderr}')
        return p.stdout

    def bench(self):
        """What `bench gather` says; run once."""
        if self.told is None:
            sizes = (SIZES[0], SIZES[-1]) if self.a.quick else SIZES
            self.told = json.loads(self.run(
                'bench', 'gather', '--backend', self.a.backend, '--bytes', SCALES[self.a.scale][0],
                '--runs', self.a.runs, '--row-bytes', ','.join(map(str, sizes)), '--json'))
        return self.told

    def methods(self):
        """Rows of the bench by method and row size, the plain copy left out."""
        rows = {}
        for row in self.bench()['rows'][1:]:
            rows.setdefault(row['method'], {})[row['row_bytes']] = row
        return rows

    def copy_rate(self):
        return self.bench()['rows'][0]['bytes_s']


def table(lab, value, keep, methods=None):
    """One line a row size, one column a method."""
    rows = {m: r for m, r in lab.methods().items() if methods is None or m in methods}
    sizes = sorted({n for r in rows.values() for n in r if keep(n)})
    return (['row_bytes', *(m.replace(', ', '_') for m in rows)],
            [[n, *(value(r[n]) for r in rows.values())] for n in sizes])


def aligned(n):
    return n in SIZES


def fig1(lab):
    """A block at once, beside rows that lie anywhere."""
    head, rows = table(lab, lambda r: r['bytes_s'] / 1e9, aligned)
    return [*head, 'copy'], [[*row, lab.copy_rate() / 1e9] for row in rows]


def fig3(lab):
    """What the CPU and its memory do for a gigabyte that arrives."""
    head, cpu = table(lab, lambda r: r['cpu_s_byte'] * 1e9, aligned)
    _, memory = table(lab, lambda r: r['memory_bytes_byte'], aligned)
    return ([head[0], *(f'{m}_cpu_s' for m in head[1:]), *(f'{m}_memory_bytes' for m in head[1:])],
            [[*c, *m[1:]] for c, m in zip(cpu, memory)])


def rates(lab):
    """Of the bandwidth of a copy, rows that start on a line."""
    return table(lab, lambda r: r['bytes_s'] / lab.copy_rate(), aligned)


def alignment(lab):
    """Rows that start anywhere, as they are read and with lanes moved to whole lines."""
    wanted = (PLAIN, SHIFTED) if lab.gpu else ('cpu',)
    return table(lab, lambda r: r['bytes_s'] / 1e9, lambda n: True, wanted)


def blocks(lab):
    """What a step loses beside a kernel that reads in place."""
    return (['blocks', 'step_times', 'GB_s'],
            [[b['blocks'], b['step_s'] / b['step_alone_s'], b['bytes_s'] / 1e9]
             for b in lab.bench()['beside']])


def training(lab):
    """Epochs by each gather, features in host memory."""
    _, vertices, edges, dim, train = SCALES[lab.a.scale]
    store, model = (os.path.join(lab.a.out, name) for name in ('g.h5', 'm.safetensors'))
    ways = [('--orchestration', 'step-gpu', '--gather', g) for g in ('zero-copy', 'both')]
    ways = [('--orchestration', 'step-gpu-sample'), *ways] if lab.gpu else [
        ('--orchestration', 'step-cpu')]
    rows = []
    lab.run('generate', 'power', store, '--vertices', vertices, '--edges', edges, '--feat-dim',
            dim, '--classes', 16, '--train-count', train)
    for way in ways:
        shutil.rmtree(model + '.ckpt', ignore_errors=True)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        report = json.loads(lab.run(
            'train', store, '--out', model, '--backend', lab.a.backend, '--arch', 'sage',
            '--fanout', '10,10', '--hidden', 128, '--batch-size', 1024, '--epochs', lab.a.epochs,
            '--eval-every', 1000000, '--json', *way))
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(report['epochs'], key=lambda e: e['wall_s'] - e['eval_s'])
        rows.append([way[-1], best['wall_s'] - best['eval_s'], best['collect_s'],
                     best['transfer_s'], best['compute_s'], best['h2d_bytes'] / 1e9,
                     after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime])
    os.remove(store)
    return ['run', 'seconds', 'collect_s', 'transfer_s', 'compute_s', 'h2d_GB', 'cpu_s'], rows


def script(figure, head):
    x, y = PLOTS[figure]
    lines = ['set terminal svg size 900,420', f"set output '{figure}.svg'", 'set grid y',
             f'set ylabel "{y}"']
    if figure == 'training':
        return '\n'.join([*lines, 'unset key', 'set style fill solid .6', 'set boxwidth .7',
                          f"plot '{figure}.dat' using 2:xtic(1) with boxes", ''])
    return '\n'.join([*lines, 'set key outside', 'set logscale x 2', f'set xlabel "{x}"', 'plot ' +
                      ', '.join(f"'{figure}.dat' using 1:{i + 2} with linespoints title "
                                f'"{name}" noenhanced' for i, name in enumerate(head[1:])), ''])


def make(lab, figure):
    head, rows = globals()[figure](lab)
    path = os.path.join(lab.a.out, figure)
    with open(path + '.json', 'w') as f:
        json.dump({'figure': figure, 'scale': lab.a.scale, 'backend': lab.a.backend,
                   'rows': [dict(zip(head, row)) for row in rows]}, f, indent=1)
    with open(path + '.dat', 'w') as f:
        f.write('# ' + ' '.join(head) + '\n')
        f.writelines(' '.join(str(x) for x in row) + '\n' for row in rows)
    with open(path + '.gp', 'w') as f:
        f.write(script(figure, head))
    print(f'== {figure}: scale {lab.a.scale}')
    for row in (head, *rows):
        print(' '.join(f'{x:>14.5g}' if isinstance(x, float) else f'{x!s:>14}' for x in row))
    sys.stdout.flush()
    if rows and shutil.which('gnuplot'):
        subprocess.run(['gnuplot', f'{figure}.gp'], cwd=lab.a.out, check=True)


def main():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('gnnrun')
    p.add_argument('figure', choices=[*PLOTS, 'all'])
    p.add_argument('--scale', choices=SCALES, default='small')
    p.add_argument('--runs', type=int, default=5)
    p.add_argument('--epochs', type=int, default=3)
    p.add_argument('--quick', action='store_true', help='the ends of a sweep')
    p.add_argument('--out', default='papers-out')
    argv, more = sys.argv[1:], []
    if '--' in argv:
        argv, more = argv[:argv.index('--')], argv[argv.index('--') + 1:]
    a = p.parse_args(argv)
    told = argparse.ArgumentParser()
    told.add_argument('--backend', choices=['cpu', 'cuda'], default='cpu')
    a.backend = told.parse_args(more).backend
    a.gnnrun = os.path.realpath(a.gnnrun)
    lab = Lab(a)
    for figure in PLOTS if a.figure == 'all' else [a.figure]:
        make(lab, figure)


if __name__ == '__main__':
    main()
