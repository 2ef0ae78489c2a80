#!/usr/bin/env python3
"""Ranks on devices: the bits are those of ranks on cores, whatever the chunks, shards and samples.

usage: devices_test.py GNNRUN PROBE STUB   (tests/mpi/device_probe.c: a device in host memory)

STUB is the folder of a stub of NCCL (tests/mpi/nccl_stub.c), or "none" in builds without NCCL.
"""
import os
import re
import subprocess
import sys
import tempfile
import unittest

PROBE, STUB = sys.argv.pop(2), sys.argv.pop(2)

from launcher import ENVIRONMENT, MPIRUN  # noqa: E402  (reads the arguments)
from program import PROGRAM, SANITIZED, ModelsCase, numpy_or_skip, run  # noqa: E402

np = numpy_or_skip()
import h5py  # noqa: E402  (after the check)


class Devices(ModelsCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        run('generate', 'rmat', cls.path('g.h5'), '--vertices', 3000, '--edges', 60000,
            '--feat-dim', 20)
        run('reorder', cls.path('g.h5'), cls.path('r.h5'), '--order', 'random')

    def start(self, ranks, *words, stub=''):
        with tempfile.TemporaryDirectory() as messages:
            environment = dict(ENVIRONMENT, LD_LIBRARY_PATH=STUB, GNN_STUB=stub,
                               GNN_STUB_FOLDER=messages)
            p = subprocess.run([*MPIRUN, '-np', str(ranks), *map(str, words)], timeout=120,
                               capture_output=True, text=True, env=environment)
            p.left = os.listdir(messages)  # that nobody took
        return p

    def launch(self, ranks, *words):
        p = self.start(ranks, *words)
        self.assertEqual(p.returncode, 0, f'{ranks} ranks: {words}\n{p.stderr}')
        self.assertEqual(p.left, [])
        self.said = p.stderr
        return self.rows()

    def rows(self):
        with h5py.File(self.path('e.h5')) as f:
            return f['embeddings'][:]

    def on_cores(self, ranks, store, arch, *options):
        return self.launch(ranks, PROGRAM, 'infer', self.path(store), '--model',
                           self.path(f'{arch}.st'), '--out', self.path('e.h5'),
                           '--backend', 'cpu', *options)

    def on_devices(self, ranks, store, arch, *words):
        return self.launch(ranks, PROBE, self.path(store), self.path(f'{arch}.st'),
                           self.path('e.h5'), *words)

    def test_bits_of_ranks_on_cores(self):
        for i, arch in enumerate(self.ARCHES):
            ranks, store = (2, 3, 4, 2)[i], ('g.h5', 'r.h5')[i % 2]
            want = self.on_cores(ranks, store, arch)
            for words in ((), ('chunk=1',), ('shards=3', 'chunk=40000'), ('room=80000000',)):
                with self.subTest(arch=arch, words=words):
                    got = self.on_devices(ranks, store, arch, *words)
                    self.assertTrue(np.array_equal(got, want))

    def test_samples(self):
        for arch, ranks in (('sage', 3), ('gin', 2), ('gat', 2)):
            want = self.on_cores(ranks, 'r.h5', arch, '--fanout', 3)
            with self.subTest(arch=arch):
                got = self.on_devices(ranks, 'r.h5', arch, 'fanout=3', 'chunk=1')
                self.assertTrue(np.array_equal(got, want))

    def test_tiered(self):
        """Stores of a device take rows of all ranks: two of them and a spill, or what is free."""
        cells = (('gcn', 2, 'g.h5', ('tiered=belady', 'top=1', 'host=1', 'chunk=1')),
                 ('sage', 3, 'r.h5', ('tiered=lru', 'top=1', 'host=60000', 'chunk=1')),
                 ('gin', 4, 'g.h5', ('tiered=pending', 'top=1', 'host=1', 'chunk=1')),
                 ('gat', 2, 'r.h5', ('tiered=belady', 'top=40000', 'host=1', 'chunk=40000')),
                 ('gcn', 3, 'r.h5', ('tiered=random', 'top=1', 'host=1', 'chunk=1', 'fanout=3')),
                 ('sage', 4, 'g.h5', ('tiered=fifo',)))
        for arch, ranks, store, words in cells[:2] if SANITIZED else cells:
            fanout = ('--fanout', 3) if 'fanout=3' in words else ()
            want = self.on_cores(ranks, store, arch, *fanout)
            for link in ((), ('link=1',))[:1 if STUB == 'none' else 2]:
                with self.subTest(arch=arch, ranks=ranks, words=words, link=link):
                    got = self.on_devices(ranks, store, arch, *words, *link)
                    self.assertTrue(np.array_equal(got, want))
                    evicted = int(re.search(r'^evictions (\d+)$', self.said, re.M)[1])
                    self.assertEqual(evicted > 0, len(words) > 1)

    def test_more_ranks_than_panels(self):
        want = self.on_cores(16, 'g.h5', 'gcn')
        self.assertTrue(np.array_equal(self.on_devices(16, 'g.h5', 'gcn'), want))

    def probe(self, ranks, store, arch, *words, stub=''):
        return self.start(ranks, PROBE, self.path(store), self.path(f'{arch}.st'),
                          self.path('e.h5'), *words, stub=stub)

    @unittest.skipIf(STUB == 'none', 'built without NCCL')
    def test_by_link(self):
        for arch, ranks, words in (('gcn', 2, ('chunk=1',)), ('gat', 3, ()),
                                   ('sage', 4, ('shards=3', 'chunk=40000')),
                                   ('gin', 2, ('fanout=3',))):
            with self.subTest(arch=arch, ranks=ranks):
                fanout = ('--fanout', 3) if 'fanout=3' in words else ()
                want = self.on_cores(ranks, 'r.h5', arch, *fanout)
                got = self.on_devices(ranks, 'r.h5', arch, 'link=1', *words)
                self.assertTrue(np.array_equal(got, want))
                self.assertRegex(self.said, f'NCCL .* between {ranks} ranks')

    @unittest.skipIf(STUB == 'none', 'built without NCCL')
    def test_a_link_that_does_not_start(self):
        """On one rank alone: all go through host memory, to the same bits."""
        want = self.on_cores(3, 'g.h5', 'gat')
        p = self.probe(3, 'g.h5', 'gat', 'link=1', stub='init:1')
        self.assertEqual(p.returncode, 0, p.stderr)
        self.assertRegex(p.stderr, "NCCL: the ranks do not connect: a stub's error: .*: rows of "
                         'other ranks go through host memory')
        self.assertTrue(np.array_equal(self.rows(), want))

    @unittest.skipIf(STUB == 'none', 'built without NCCL')
    def test_a_link_that_breaks(self):
        for number in (1, 3):  # of a resident plan, of a tiered one
            if os.path.exists(self.path('e.h5')):
                os.remove(self.path('e.h5'))
            tiered = ('tiered=belady', 'top=1', 'host=1')[:3 * (number > 1)]
            p = self.probe(3, 'g.h5', 'gcn', 'link=1', 'chunk=1', *tiered,
                           stub=f'async:1:{number}')
            self.assertEqual(p.returncode, 71, p.stderr)
            self.assertRegex(p.stderr, 'gnnrun: rank 1 on .*NCCL: .*remote process exited')
            self.assertFalse(os.path.exists(self.path('e.h5')))


if __name__ == '__main__':
    sys.argv[1:] = sys.argv[2:]
    unittest.main()
