#!/usr/bin/env python3
"""Lines of --metrics: what every long command says of the machine while it runs.

usage: metrics_test.py GNNRUN
"""
import json
import os
import shutil
import tempfile
import unittest

from program import numpy_or_skip, run, run_fails

np = numpy_or_skip()

USAGE = {'interval_s', 'cpu_cores', 'rss_bytes', 'read_bytes_s', 'written_bytes_s',
         'disk_read_bytes_s', 'disk_written_bytes_s', 'gpu_busy', 'gpu_memory_bytes'}
FRAME = {'schema', 'run_id', 'event', 'time_s'}


class Metrics(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix='gnnrun-metrics-')
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def lines(self):
        with open(self.path('m.jsonl')) as f:
            return [json.loads(line) for line in f]

    def measured(self, *args):
        """The usage lines of a command that succeeds."""
        run(*args, '--metrics', self.path('m.jsonl'))
        lines = self.lines()
        self.assertEqual(lines[0]['event'], 'start')
        self.assertEqual(lines[-1]['event'], 'end')
        self.assertEqual(len({line['run_id'] for line in lines}), 1)
        times = [line['time_s'] for line in lines]
        self.assertEqual(times, sorted(times))
        usage = [line for line in lines if line['event'] == 'usage']
        self.assertGreater(len(usage), 0, args)
        for line in usage:
            self.assertEqual(set(line), USAGE | FRAME)
            self.assertGreater(line['rss_bytes'], 1e6)
            self.assertGreaterEqual(line['cpu_cores'], 0)
            self.assertIsNone(line['gpu_busy'])  # no backend with a GPU was asked for
        self.assertAlmostEqual(sum(line['interval_s'] for line in usage),
                               lines[-1]['wall_s'], delta=.5)
        return usage

    def test_every_long_command(self):
        g = self.path('g.h5')
        self.measured('generate', 'sbm', g, '--vertices', 3000, '--edges', 30000,
                      '--feat-dim', 16, '--classes', 4)
        edges = np.random.default_rng(0).integers(0, 500, (2, 5000))
        os.mkdir(self.path('in'))
        np.save(self.path('in/edges.npy'), edges)
        np.save(self.path('in/feat.npy'), np.ones((500, 8), np.float32))
        self.measured('import', self.path('in'), self.path('i.h5'))
        self.measured('reorder', g, self.path('r.h5'), '--order', 'taurus')
        self.measured('train', g, '--arch', 'sage', '--epochs', 2, '--out', self.path('m.st'),
                      '--hidden', 8, '--fanout', '5,5', '--layers', 2)
        usage = self.measured('infer', g, '--model', self.path('m.st'), '--out',
                              self.path('e.h5'), '--plan', 'tiered', '--hot-store', 'min')
        self.assertGreater(max(line['cpu_cores'] for line in usage), 0)

    def test_a_command_that_fails_ends_its_lines(self):
        run_fails(self, 66, 'none.h5', 'info', self.path('none.h5'), '--metrics',
                  self.path('m.jsonl'))
        lines = self.lines()
        self.assertEqual(lines[-1]['event'], 'end')
        self.assertEqual(lines[-1]['exit_code'], 66)


if __name__ == '__main__':
    unittest.main(argv=['metrics_test'])
