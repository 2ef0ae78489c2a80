#!/usr/bin/env python3
"""Public bug reports of other programs, each as a small graph: what went wrong there is right here.

usage: reports_test.py GNNRUN

A test has the number of the report in its name. Reports whose place is one box are unit tests.
"""
import os
import subprocess
import sys
import unittest

from program import FolderCase, numpy_or_skip, run, run_fails, write_safetensors

np = numpy_or_skip()


class Reports(FolderCase):
    def setUp(self):
        for name in os.listdir(self.dir):
            os.remove(self.path(name))

    def store(self, edges, x, *options):
        np.save(self.path('e.npy'), np.asarray(edges, np.int64))
        np.save(self.path('x.npy'), x)
        run('import', self.path('e.npy'), self.path('g.h5'), '--edge-layout', '2xE', '--vertices',
            len(x), '--features', self.path('x.npy'), *options)

    def sums(self, width, mean=False, *options):
        """One layer that adds up, or averages, what comes in, and nothing else."""
        one = np.eye(width, dtype=np.float32)
        write_safetensors(self.path('m.st'), {'convs.0.lin_rel.weight': one,
                                              'convs.0.lin_rel.bias': 0 * one[0],
                                              'convs.0.lin_root.weight': 0 * one},
                          {'gnnrun.aggregator': 'mean' if mean else 'sum'})
        run('infer', self.path('g.h5'), '--model', self.path('m.st'), '--out', self.path('o.h5'),
            *options)
        run('export', self.path('o.h5'), self.path('o.npy'))
        return np.load(self.path('o.npy'))

    def star(self, leaves):
        return [np.arange(1, leaves + 1), np.zeros(leaves)]

    def test_b13_sums_of_half_precision_do_not_stick(self):
        for leaves, dtype in ((4096, 'f16'), (70000, 'f16'), (512, 'bf16'), (70000, 'bf16')):
            with self.subTest(leaves=leaves, dtype=dtype):
                ones = np.full(leaves + 1, 0x3c00 if dtype == 'f16' else 0x3f80, np.uint16)
                with open(self.path('x.bin'), 'wb') as f:
                    f.write(ones.tobytes())
                np.save(self.path('e.npy'), np.array(self.star(leaves), np.int64))
                run('import', self.path('e.npy'), self.path('g.h5'), '--features',
                    self.path('x.bin'), '--shape', f'{leaves + 1}x1', '--dtype', dtype)
                self.assertEqual(self.sums(1)[0, 0], leaves)
                self.assertEqual(self.sums(1, mean=True)[0, 0], 1.0)

    def test_s09_a_mean_of_half_precision_is_that_of_its_values(self):
        x = np.random.default_rng(9).normal(size=(10001, 8)).astype(np.float16)
        self.store(self.star(10000), x)
        np.testing.assert_allclose(self.sums(8, mean=True)[0], x[1:].astype(float).mean(0), 0, 1e-7)

    def test_b14_the_same_bits_in_every_run(self):
        random = np.random.default_rng(14)
        x = random.normal(size=(2000, 16)).astype(np.float32)
        self.store([random.integers(0, 2000, 100000), random.integers(0, 10, 100000)], x)
        first = self.sums(16)
        for threads in (1, 2, 3, 3):
            np.testing.assert_array_equal(self.sums(16, False, '--threads', threads), first)

    def test_b15_messages_go_along_the_edges(self):
        self.store([[0, 1], [1, 2]], np.eye(3, dtype=np.float32))
        np.testing.assert_array_equal(self.sums(3), [[0, 0, 0], [1, 0, 0], [0, 1, 0]])

    def test_b28_a_full_disk_leaves_no_store(self):
        small = self.path('small')
        os.mkdir(small)
        self.addCleanup(os.rmdir, small)
        mount = subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=1M', 'tmpfs', small],
                               capture_output=True, check=False)
        if mount.returncode != 0:
            self.skipTest('a small tmpfs cannot be mounted here')
        self.addCleanup(subprocess.run, ['umount', '--lazy', small], check=True)
        np.save(self.path('x.npy'), np.ones((20000, 50), np.float32))
        np.save(self.path('e.npy'), np.zeros((2, 3), np.int64))
        text = run_fails(self, 74, 'free', 'import', self.path('e.npy'), small + '/g.h5',
                         '--features', self.path('x.npy'), '--edge-layout', '2xE')
        self.assertRegex(text, r'needs \d+ bytes \(4\.\d MiB\).*\(1\.0 MiB\) are free')
        self.assertEqual(os.listdir(small), [])


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
