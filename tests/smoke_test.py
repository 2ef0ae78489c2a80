#!/usr/bin/env python3
"""The first run of the README, small: generate, info, model, infer, export; against float64.

usage: smoke_test.py GNNRUN
"""
import json
import os
import sys
import tempfile
import unittest

from program import numpy_or_skip, run

np = numpy_or_skip()
import h5py  # noqa: E402
import infer_test  # noqa: E402


def read_safetensors(path):
    with open(path, 'rb') as f:
        header = json.loads(f.read(int.from_bytes(f.read(8), 'little')))
        header.pop('__metadata__', None)
        data = f.read()
    return {name: np.frombuffer(data[t['data_offsets'][0]:t['data_offsets'][1]],
                                np.float32).reshape(t['shape']) for name, t in header.items()}


def reference(arch, path, x, src, dst):
    """The model of the file, run by the float64 reference of the inference tests."""
    model = infer_test.Model.__new__(infer_test.Model)
    model.arch, model.layers = arch, []
    for name, tensor in sorted(read_safetensors(path).items()):
        _, layer, key = name.split('.', 2)
        if int(layer) == len(model.layers):
            model.layers.append({})
        model.layers[int(layer)][key] = tensor
    return model.reference(x, src, dst)


class SmokeTest(unittest.TestCase):
    def line(self, arch, *, dtype='f32', heads=()):
        """The whole line for one architecture; what it must say of itself on the way."""
        with tempfile.TemporaryDirectory() as folder:
            store, model, result, array = (os.path.join(folder, n) for n in
                                           ('g.h5', 'm.safetensors', 'e.h5', 'e.npy'))
            run('generate', 'sbm', store, '--scale', 11, '--edge-factor', 9, '--feat-dim', 24,
                '--classes', 6, '--dtype', dtype)
            self.assertIn('verified', run('info', store, '--verify'))
            run('model', '--seeded', arch, '--dims', '24,16,6', '--out', model, *heads)
            self.assertIn('to be told: nothing', run('model', model))
            report = json.loads(run('infer', store, '--model', model, '--out', result,
                                    '--predict', '--json'))
            self.assertIn('verified', run('info', result, '--verify'))
            run('export', result, array)
            with h5py.File(store, 'r') as f:
                x, label = f['features'][()], f['labels'][()]
                degrees = np.diff(f['topology/in/offsets'][()].astype(np.int64))
                src, dst = f['topology/in/neighbors'][()], np.repeat(np.arange(2048), degrees)
                split = {name: f[f'split/{name}'][()] for name in ('train', 'valid', 'test')}
            got, want = np.load(array), reference(arch, model, x, src, dst)
            self.assertEqual((got.shape, got.dtype), ((2048, 6), np.float32))
            self.assertLess(np.abs(got - want).max() / np.abs(want).max(), 2e-6)
            with h5py.File(result, 'r') as f:
                self.assertTrue((f['embeddings'][()] == got).all())
                self.assertTrue((f['prediction'][()] == got.argmax(1)).all())
            self.assertEqual(report['metric'], 'accuracy')
            for name, rows in split.items():
                self.assertAlmostEqual(report[name], (got.argmax(1) == label)[rows].mean())
            self.assertEqual((report['vertices'], report['edges']), (2048, 9 * 2048))

    def test_gcn(self):
        self.line('gcn')

    def test_sage(self):
        self.line('sage', dtype='f16')

    def test_gin(self):
        self.line('gin', dtype='u8')

    def test_gat(self):
        self.line('gat', heads=('--heads', '3,2'))


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
