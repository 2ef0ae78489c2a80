#!/usr/bin/env python3
"""Inference under a memory limit of a quarter of its states: a cgroup's, where one can be made.

usage: cgroup_test.py GNNRUN
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

from program import PROGRAM, SANITIZED, run, skip

if SANITIZED:
    skip('the memory of a sanitizer is not that of the program')

VERTICES, WIDTH = 200000, 256
STATES = VERTICES * WIDTH * 4
ROOTS = ((  # folder, its limit, its peak
    '/sys/fs/cgroup/memory', 'memory.limit_in_bytes', 'memory.max_usage_in_bytes'),
    ('/sys/fs/cgroup', 'memory.max', 'memory.peak'))


def make_group(limit):
    """The folder of a new group with that limit and the name of its peak, or why there is none."""
    why = 'no cgroups here'
    for root, name, peak in ROOTS:
        if not os.path.exists(os.path.join(root, 'cgroup.procs')):
            continue
        folder = os.path.join(root, f'gnnrun-test-{os.getpid()}')
        try:
            os.mkdir(folder)
        except OSError as e:
            why = str(e)
            continue
        try:
            with open(os.path.join(folder, name), 'w') as f:
                f.write(str(limit))
            return folder, peak
        except OSError as e:
            why = str(e)
            os.rmdir(folder)
    return None, why


class Limit(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        run('generate', 'sbm', cls.path('g.h5'), '--vertices', VERTICES, '--edges', 8 * VERTICES,
            '--feat-dim', WIDTH, '--dtype', 'u8', '--communities', 200, '--no-shuffle')
        run('generate', 'sbm', cls.path('small.h5'), '--vertices', 300, '--edges', 900,
            '--feat-dim', WIDTH, '--dtype', 'u8')
        run('model', '--seeded', 'gcn', '--dims', f'{WIDTH},{WIDTH},{WIDTH}', '--out',
            cls.path('m.st'))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder.name, name)

    def command(self, *options, store='g.h5'):
        return [PROGRAM, 'infer', self.path(store), '--model', self.path('m.st'), '--out',
                self.path('e.h5'), '--json', *map(str, options)]

    def infer(self, *options, store='g.h5', before=None):
        p = subprocess.run(self.command(*options, store=store), capture_output=True, text=True,
                           preexec_fn=before)
        self.assertEqual(p.returncode, 0, p.stderr)
        return json.loads(p.stdout)

    def check(self, report):
        self.assertGreater(sum(l['cold_written_bytes'] for l in report['layers']), 0)

    def test_a_quarter_of_the_states_in_a_cgroup(self):
        folder, peak = make_group(STATES // 4)
        if folder is None:
            self.skipTest(f'no memory cgroup can be made: {peak}')

        def enter():
            with open(os.path.join(folder, 'cgroup.procs'), 'w') as f:
                f.write(str(os.getpid()))
        try:
            self.check(self.infer('--plan', 'tiered', before=enter))
            if os.path.exists(os.path.join(folder, peak)):
                with open(os.path.join(folder, peak)) as f:
                    self.assertLessEqual(int(f.read()), STATES // 4)
        finally:
            os.rmdir(folder)

    def test_the_peak_is_the_budget_and_the_base(self):
        base = self.infer(store='small.h5')['peak_host_bytes']
        for evict in ('belady', 'lru'):
            report = self.infer('--plan', 'tiered', '--evict', evict, '--host-memory',
                                STATES // 4)
            self.check(report)
            self.assertLessEqual(report['peak_host_bytes'], STATES // 4 + base)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
