#!/usr/bin/env python3
"""gnnrun model: the reference cases, what is refused, seeded models.

usage: model_test.py GNNRUN
"""
import glob
import json
import os
import pathlib
import tempfile
import unittest

from program import SHARED, numpy_or_skip, run, run_fails, start, write_safetensors

np = numpy_or_skip()

PLAIN = {'layers.0.weight': np.ones((6, 4), np.float32), 'layers.0.bias': np.ones(4, np.float32)}


def read_safetensors(path):
    data = pathlib.Path(path).read_bytes()
    size = int.from_bytes(data[:8], 'little')
    header = json.loads(data[8:8 + size])
    metadata = header.pop('__metadata__', {})
    data = data[8 + size:]
    return {name: np.frombuffer(data[slice(*t['data_offsets'])], '<f4').reshape(t['shape'])
            for name, t in header.items()}, metadata


class Model(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = os.path.join(self.folder.name, 'm.safetensors')

    def settings(self, *args):
        found = json.loads(run('model', self.path, '--json', *args))
        return {s['name']: (s['value'], s['from']) for s in found['settings']}

    def test_reference_cases_are_understood_or_refused(self):
        specs = glob.glob(os.path.join(SHARED, 'cases', '*', 'case.json'))
        if not specs:
            self.skipTest(f'no reference cases in {SHARED}')
        for spec in specs:
            case = json.loads(pathlib.Path(spec).read_text())
            p = start('model', os.path.join(os.path.dirname(spec), 'model.safetensors'), '--json')
            found = json.loads(p.stdout)
            if not case['needs']:
                self.assertEqual(p.returncode, 0, p.stderr)
                self.assertEqual(len(found['layers']), len(case['dims']) - 1)
                self.assertEqual(found['layers'][0]['dim_in'], case['dims'][0])
                self.assertEqual(found['layers'][-1]['dim_out'], case['dims'][-1])
            else:
                self.assertIn(p.returncode, (0, 78), p.stderr)

    def test_each_tensor_and_each_source_is_shown(self):
        tensors = {'gnn.conv2.lin.weight': np.ones((5, 6), np.float32),
                   'gnn.conv7.lin.weight': np.ones((3, 5), np.float32),
                   'gnn.conv7.bias': np.ones(3, np.float32)}
        write_safetensors(self.path, tensors, {'gnnrun.activation': 'elu', 'format': 'pt'})
        text = run('model', self.path, '--model-set', 'final_activation=relu')
        for row in (['gnn.conv2.lin.weight', 'F32', '[5,', '6]', '0', 'weight', '(out,', 'in)'],
                    ['gnn.conv7.bias', 'F32', '[3]', '1', 'bias', 'of', 'the', 'layer'],
                    ['gnnrun.library', 'pyg', 'keys'], ['gnnrun.arch', 'gcn', 'keys'],
                    ['gnnrun.activation', 'elu', '__metadata__'],
                    ['gnnrun.final_activation', 'relu', '--model-set'],
                    ['gnnrun.self_loops', 'replace', 'default'],
                    ['to', 'be', 'told:', 'nothing']):
            self.assertIn(row, [line.split() for line in text.splitlines()])

    def test_the_command_line_wins_over_metadata(self):
        write_safetensors(self.path, {'lin.weight': np.ones((5, 6), np.float32)},
                          {'gnnrun.self_loops': 'none'})
        self.assertEqual(self.settings()['gnnrun.self_loops'], ('none', '__metadata__'))
        self.assertEqual(self.settings('--model-set', 'gnnrun.self_loops=replace')
                         ['gnnrun.self_loops'], ('replace', '--model-set'))

    def test_what_must_be_told_is_listed(self):
        write_safetensors(self.path, PLAIN, {})
        p = start('model', self.path)
        self.assertEqual(p.returncode, 78)
        self.assertIn('to be told: gnnrun.library=pyg|dgl', p.stdout)
        self.assertIn('must be told', p.stderr)
        found = start('model', self.path, '--json')
        self.assertEqual(found.returncode, 78)
        self.assertIn('gnnrun.library', json.loads(found.stdout)['missing'])
        self.assertEqual(self.settings('--model-set', 'library=pyg')['gnnrun.arch'],
                         ('gcn', 'keys'))

    def test_refusals(self):
        missing = os.path.join(self.folder.name, 'none')
        run_fails(self, 66, 'none', 'model', missing)
        run_fails(self, 64, 'model takes one M.safetensors', 'model')
        write_safetensors(self.path, PLAIN, {})
        run_fails(self, 64, 'wanted key=value', 'model', self.path, '--model-set', 'library')
        run_fails(self, 78, 'the nearest is gnnrun.library', 'model', self.path, '--model-set',
                  'libary=pyg')
        run_fails(self, 78, 'the keys are those of', 'model', self.path, '--model-set', 'arch=gat')
        data = pathlib.Path(self.path).read_bytes()
        for bad in (data[:-1], data[:20], data + b'x', b'\xff' * 16, b''):
            pathlib.Path(self.path).write_bytes(bad)
            run_fails(self, 65, self.path, 'model', self.path)

    def test_seeded_models_are_models(self):
        for arch, more, widths in (('gcn', [], [(64, 32), (32, 8)]),
                                   ('sage', [], [(64, 32), (32, 8)]),
                                   ('gin', [], [(64, 32), (32, 8)]),
                                   ('gat', ['--heads', '4,2'], [(64, 128), (128, 8)])):
            args = ['model', '--seeded', arch, '--dims', '64,32,8', *more, '--out', self.path]
            found = json.loads(run(*args, '--json'))
            self.assertEqual([(x['dim_in'], x['dim_out']) for x in found['layers']], widths)
            tensors, metadata = read_safetensors(self.path)
            self.assertEqual(metadata['gnnrun.arch'], arch)
            self.assertEqual('gnnrun.heads' in metadata, arch == 'gat')
            for name, t in tensors.items():
                if t.ndim == 2:
                    limit = (6 / sum(t.shape)) ** 0.5
                    self.assertLess(np.abs(t).max(), limit)
                    self.assertGreater(np.abs(t).max(), 0.9 * limit)
                    self.assertLess(abs(t.mean()), 0.1 * limit)
            first = pathlib.Path(self.path).read_bytes()
            run(*args)
            self.assertEqual(pathlib.Path(self.path).read_bytes(), first)
            run(*args, '--seed', '1')
            self.assertNotEqual(pathlib.Path(self.path).read_bytes(), first)

    def test_seeded_refusals(self):
        ask = ['model', '--seeded', 'gcn', '--out', self.path]
        run_fails(self, 64, '--dims', *ask)
        run_fails(self, 64, 'no file to read', *ask, '--dims', '6,4', self.path)
        run_fails(self, 64, 'gcn has no heads', *ask, '--dims', '6,4', '--heads', '2')
        for dims in ('6', '', '6,', '6,0', '6,x', '6,-4', '6,99999999', ','.join(['2'] * 65)):
            run_fails(self, 64, '', *ask, '--dims', dims)
        run_fails(self, 64, 'heads for 1 layers', 'model', '--seeded', 'gat', '--dims', '6,4',
                  '--heads', '2,2', '--out', self.path)
        run_fails(self, 64, 'wants', 'model', '--seeded', 'mlp', '--dims', '6,4', '--out',
                  self.path)
        run_fails(self, 64, '', 'model', self.path, '--dims', '6,4')
        run_fails(self, 73, '', 'model', '--seeded', 'gcn', '--dims', '6,4', '--out',
                  os.path.join(self.folder.name, 'no', 'folder'))
        self.assertEqual(os.listdir(self.folder.name), [])


if __name__ == '__main__':
    unittest.main(argv=['model_test'])
