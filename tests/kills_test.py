#!/usr/bin/env python3
"""Kill -9 of any rank in any phase: all end, nothing is torn, and --resume ends with equal bits.

usage: kills_test.py GNNRUN [--runs 20] [--seed 8]

Each run is drawn from the seed: infer in one of its plans or train, the rank, and when: at one of
the program's crash points, or some time after all ranks listen to signals. Another number of ranks
goes on with some runs of infer, to a result within rounding, or is told that nothing is sealed yet.
In a build with a sanitizer there are 4 runs unless told.
"""
import argparse
import array
import os
import random
import shutil
import signal
import sys
import time

from launcher import disturb, finish, launch
from program import SANITIZED, FolderCase, read, run

RANKS = 3
PLANS = (('--plan', 'resident'), ('--plan', 'partitioned', '--shards', 2),
         ('--plan', 'tiered', '--hot-store', '3K'))
TRAIN = ('--hidden', 16, '--fanout', '4,6', '--batch-size', 40, '--epochs', 6, '--eval-every', 3,
         '--log', 'warn')
TRAINED = ('.safetensors', '.last.safetensors')
POINTS = {'infer': ('infer.', 'pub.'), 'train': ('step', 'checkpoint', 'pub.')}
ENDS_WITHIN = 30  # seconds


def floats(npy):
    """What a file of f32 holds."""
    values = array.array('f')
    values.frombytes(npy[10 + int.from_bytes(npy[8:10], 'little'):])
    return values


class Kills(FolderCase):
    def prepare(self):
        self.setUpClass()
        run('generate', 'rmat', self.path('g.h5'), '--vertices', 3000, '--edges', 60000,
            '--feat-dim', 20)
        run('model', '--seeded', 'gat', '--dims', '20,8,9', '--out', self.path('gat.st'))
        run('generate', 'sbm', self.path('t.h5'), '--vertices', 1500, '--edge-factor', 12,
            '--feat-dim', 24, '--classes', 5, '--train-count', 601)
        self.points = run('infer', 'x', '--list-crash-points').split()
        self.whole = {}
        for command in ('infer', 'train'):
            p = finish(launch(RANKS, *self.words(command, 'whole')))
            self.assertEqual(p.returncode, 0, p.stderr)
            self.whole[command] = self.result(command, 'whole')

    def words(self, command, name, *options):
        if command == 'train':
            return ['train', self.path('t.h5'), '--out', self.path(name + TRAINED[0]), *TRAIN,
                    *options]
        return ['infer', self.path('g.h5'), '--model', self.path('gat.st'), '--out',
                self.path(name + '.h5'), '--chunk-bytes', '40K', *options]

    def result(self, command, name):
        if command == 'train':
            return [read(self.path(name + end)) for end in TRAINED]
        run('export', self.path(name + '.h5'), self.path(name + '.npy'), '--dataset', 'embeddings')
        return read(self.path(name + '.npy'))

    def clear(self):
        for name in os.listdir(self.dir):
            if name.startswith('k.'):
                path = self.path(name)
                shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)

    def draw(self, r):
        """What is run, and what kills which rank: a crash point, or a delay in seconds."""
        command = 'train' if r.random() < .3 else 'infer'
        options = () if command == 'train' else r.choice(PLANS)
        points = [p for p in self.points if p.startswith(POINTS[command])]
        when = f'crash:{r.choice(points)}@{r.randrange(1, 5)}'
        if r.random() < .5:
            when = r.random() * .8
        others = r.choice((None, None, 1, 2, 4))
        return command, options, r.randrange(RANKS), when, others if command == 'infer' else None

    def kill(self, command, options, rank, when):
        if isinstance(when, str):
            return finish(launch(RANKS, *self.words(command, 'k', *options),
                                 apart={rank: ('--faults', when)}))
        slow = ('--faults', 'read:slow%3=1')
        return disturb(self, launch(RANKS, *self.words(command, 'k', *options, *slow)), RANKS,
                       signal.SIGKILL, rank, when)

    def others_go_on(self, ranks, options):
        """Whether they could."""
        q = finish(launch(ranks, *self.words('infer', 'k', *options, '--resume')))
        if q.returncode == 78:
            self.assertRegex(q.stderr, 'before it had sealed a layer|seals no layer')
            return False
        self.assertEqual(q.returncode, 0, q.stderr)
        got, want = (floats(x) for x in (self.result('infer', 'k'), self.whole['infer']))
        self.assertEqual(len(got), len(want))
        self.assertLess(max(abs(a - b) for a, b in zip(got, want)),
                        2e-5 * max(map(abs, want)))
        return True

    def once(self, command, options, rank, when, others):
        """Whether a rank was killed before the end."""
        p = self.kill(command, options, rank, when)
        self.assertLess(p.took, ENDS_WITHIN)
        if command == 'infer' and os.path.exists(self.path('k.h5')):
            run('info', self.path('k.h5'), '--verify')
        if others is None or not self.others_go_on(others, options):
            q = finish(launch(RANKS, *self.words(command, 'k', *options, '--resume')))
            self.assertEqual(q.returncode, 0, q.stderr)
            self.assertEqual(self.result(command, 'k'), self.whole[command])
        self.clear()
        return p.returncode != 0, p.took


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--runs', type=int, default=4 if SANITIZED else 20)
    parser.add_argument('--seed', type=int, default=8)
    o = parser.parse_args(sys.argv[2:])
    kills, r, hit, longest, failed = Kills(), random.Random(o.seed), 0, 0, 0
    begin = time.monotonic()
    kills.prepare()
    try:
        for i in range(o.runs):
            what = kills.draw(r)
            try:
                killed, took = kills.once(*what)
                hit += killed
                longest = max(longest, took if killed else 0)
            except AssertionError as e:
                failed += 1
                print(f'FAILED: run {i}, {what}: {e}', flush=True)
                kills.clear()
    finally:
        kills.tearDownClass()
    print(f'{o.runs} runs of seed {o.seed}: {hit} killed, the longest took {longest:.1f} s to end, '
          f'{failed} failed; {time.monotonic() - begin:.0f} s in all')
    return failed > 0 or hit < o.runs // 4


sys.exit(main())
