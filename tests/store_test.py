#!/usr/bin/env python3
"""Stores and results of the whole program: read by h5py, told by info, exported, damaged.

usage: store_test.py GNNRUN
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from program import numpy_or_skip, run, run_fails, start

np = numpy_or_skip()
import h5py  # noqa: E402  (after the check)

V, E, F = 5000, 40000, 33


def write_folder(path, rng):
    """A folder to import, and what it holds."""
    shuffled = rng.permutation(V)
    data = {
        'edges': rng.integers(0, V - 10, (2, E)),  # the last ten vertices have no edge
        'feat': rng.standard_normal((V, F)).astype(np.float32),
        'label': rng.integers(-1, 7, V),
        'train_idx': shuffled[:300],
        'valid_idx': shuffled[300:400],
        'test_idx': np.arange(0),
    }
    os.mkdir(path)
    for name, a in data.items():
        np.save(os.path.join(path, name + '.npy'), a)
    return data


class StoreTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.mkdtemp(prefix='gnnrun-store-')
        cls.folder, cls.store = os.path.join(cls.dir, 'in'), os.path.join(cls.dir, 'g.h5')
        cls.data = write_folder(cls.folder, np.random.default_rng(1))
        run('import', cls.folder, cls.store)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.dir)

    def path(self, name):
        return os.path.join(self.dir, name)

    def spoiled(self, change):
        """A copy of the store, its bytes changed."""
        with open(self.store, 'rb') as f:
            b = bytearray(f.read())
        change(b)
        with open(self.path('bad.h5'), 'wb') as f:
            f.write(b)
        return self.path('bad.h5')

    def offset(self, name):
        with h5py.File(self.store, 'r') as f:
            return f[name].id.get_offset()

    def test_h5py_reads_what_was_imported(self):
        src, dst = self.data['edges']
        with h5py.File(self.store, 'r') as f:
            self.assertEqual(f.attrs['format'], b'gnnrun-store')
            self.assertEqual((f.attrs['version'], f.attrs['vertices'], f.attrs['edges']), (1, V, E))
            json.loads(f.attrs['provenance'].decode())
            np.testing.assert_array_equal(f['features'][:], self.data['feat'])
            np.testing.assert_array_equal(f['labels'][:], self.data['label'])
            for split in ('train', 'valid', 'test'):
                np.testing.assert_array_equal(f['split/' + split][:], self.data[split + '_idx'])
            for way, row, other in (('out', src, dst), ('in', dst, src)):
                order = np.lexsort((other, row))
                offsets = np.r_[0, np.cumsum(np.bincount(row, minlength=V))]
                np.testing.assert_array_equal(f[f'topology/{way}/offsets'][:], offsets)
                np.testing.assert_array_equal(f[f'topology/{way}/neighbors'][:], other[order])

    def test_layout_is_that_of_the_contract(self):
        arrays = []
        with h5py.File(self.store, 'r') as f:
            f.visititems(lambda _, o: isinstance(o, h5py.Dataset) and arrays.append(o) or None)
            self.assertEqual(f.id.get_create_plist().get_version()[0], 3)
            for a in arrays:
                self.assertEqual(a.id.get_create_plist().get_layout(), h5py.h5d.CONTIGUOUS)
                if a.size:
                    self.assertEqual(a.id.get_offset() % 4096, 0, a.name)
                if not a.name.startswith('/checksum'):
                    blocks = -(-a.size * a.id.get_type().get_size() // (8 << 20))
                    self.assertEqual(f['checksum' + a.name].shape, (blocks,), a.name)

    def test_info_tells_what_numpy_counts(self):
        src, dst = self.data['edges']
        for flags in ((), ('--verify',)):
            told = json.loads(run('info', self.store, '--json', *flags))
            loops = int((src == dst).sum())
            out, into = np.bincount(src, minlength=V), np.bincount(dst, minlength=V)
            wanted = {
                'vertices': V, 'edges': E, 'feature_dim': F, 'feature_dtype': 'f32', 'classes': 7,
                'order': 'original', 'max_in_degree': int(into.max()),
                'max_out_degree': int(out.max()), 'isolated': int((out + into == 0).sum()),
                'self_loops': loops,
                'duplicates': E - len(np.unique(src * V + dst)),
                'splits': {'train': 300, 'valid': 100, 'test': 0},
            }
            self.assertGreater(loops, 0)
            self.assertEqual({k: told[k] for k in wanted}, wanted)
        self.assertIn('vertices     5000', run('info', self.store))

    def test_export_is_what_numpy_loads(self):
        out = self.path('a.npy')
        for name in ('features', '/topology/in/offsets', 'labels', 'split/test'):
            run('export', self.store, out, '--dataset', name)
            with h5py.File(self.store, 'r') as f:
                got = np.load(out)
                self.assertEqual((got.dtype, got.shape), (f[name].dtype, f[name].shape))
                np.testing.assert_array_equal(got, f[name][:])

    def test_bf16_is_read_by_h5py_and_exported(self):
        npy, features = self.path('b.npy'), {}
        for dtype in ('f32', 'bf16'):
            store = self.path(dtype + '.h5')
            run('generate', 'sbm', store, '--vertices', 2000, '--edges', 8000, '--feat-dim', 9,
                '--dtype', dtype)
            run('export', store, npy, '--dataset', 'features')
            features[dtype] = np.load(npy)
            with h5py.File(store, 'r') as f:
                size = f['features'].id.get_type().get_size()
                self.assertEqual(size, 2 if dtype == 'bf16' else 4)
                self.assertEqual(f['features'].dtype, np.float32)
                np.testing.assert_array_equal(f['features'][:], features[dtype])
        rounded = np.abs(features['bf16'] - features['f32']) / np.abs(features['f32'])
        self.assertGreater(rounded.max(), 2 ** -10)
        self.assertLessEqual(rounded.max(), 2 ** -8)

    def test_export_refuses(self):
        out = self.path('no.npy')
        run_fails(self, 66, 'features labels', 'export', self.store, out, '--dataset', 'nope')
        run_fails(self, 66, 'No such file', 'export', self.path('none.h5'), out)
        run_fails(self, 73, 'the output is the input', 'export', self.store, self.store,
                  '--dataset', 'labels')
        run_fails(self, 73, 'no folder', 'export', self.store, self.path('no/x.npy'), '--dataset',
                  'labels')
        bad = self.spoiled(lambda b: b.__setitem__(self.offset('features') + 5, 77))
        run_fails(self, 65, 'array features, block 0', 'export', bad, out, '--dataset', 'features')
        self.assertFalse(os.path.exists(out))

    def test_verify_sees_a_flip_in_every_array(self):
        names = []
        with h5py.File(self.store, 'r') as f:
            f.visititems(lambda n, o: isinstance(o, h5py.Dataset) and o.size and names.append(n)
                         or None)
        for name in names:
            at = self.offset(name)
            bad = self.spoiled(lambda b: b.__setitem__(at, b[at] ^ 1))
            run_fails(self, 65, name.removeprefix('checksum/'), 'info', bad, '--verify')

    def test_other_files_are_refused(self):
        size = os.path.getsize(self.store)
        for text, change in (
                ('made longer', lambda b: b.extend(b'x')),
                ('damaged', lambda b: b.__delitem__(slice(size - 1, None))),
                ('damaged', lambda b: b.__delitem__(slice(size // 2, None))),
                ('not an HDF5 file', lambda b: b.clear()),
                ('not an HDF5 file', lambda b: b.__setitem__(slice(0, 9), b'#!/bin/sh'))):
            run_fails(self, 65, text, 'info', self.spoiled(change))
        with h5py.File(self.path('plain.h5'), 'w') as f:
            f['x'] = np.arange(10)
        run_fails(self, 65, 'none of gnnrun', 'info', self.path('plain.h5'))
        run_fails(self, 66, 'none.h5', 'info', self.path('none.h5'))

    def test_one_store_is_read_without_locks_and_left_as_it_is(self):
        before = os.stat(self.store)
        os.chmod(self.store, 0o444)
        with h5py.File(self.store, 'r'):
            run('info', self.store, '--verify')
        os.chmod(self.store, before.st_mode)
        after = os.stat(self.store)
        self.assertEqual((before.st_mtime_ns, before.st_size), (after.st_mtime_ns, after.st_size))

    def test_a_full_disk_is_said_at_once(self):
        small = self.path('small')
        os.mkdir(small)
        mount = subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=256K', 'tmpfs', small],
                               capture_output=True, check=False)
        if mount.returncode != 0:
            self.skipTest('a small tmpfs cannot be mounted here')
        try:
            for args in (('import', self.folder, small + '/g.h5', '--scratch', self.dir),
                         ('export', self.store, small + '/x.npy', '--dataset', 'features')):
                text = run_fails(self, 74, 'free', *args)
                self.assertRegex(text, r'[0-9.]+ KiB|[0-9.]+ MiB|[0-9]+ bytes')
                self.assertEqual(os.listdir(small), [])
        finally:
            subprocess.run(['umount', small], check=True)

    def test_two_writers_of_one_name(self):
        out = self.path('two.npy')
        with open(out + '.gnnrun-lock', 'w') as lock:
            import fcntl
            fcntl.flock(lock, fcntl.LOCK_EX)
            run_fails(self, 73, 'being written', 'export', self.store, out, '--dataset', 'labels')
        self.assertEqual(start('export', self.store, out, '--dataset', 'labels').returncode, 0)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
