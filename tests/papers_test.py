#!/usr/bin/env python3
"""Each figure of tests/bench/papers at its smallest: it runs, and its rows make sense.

usage: papers_test.py GNNRUN
"""
import json
import math
import os
import subprocess
import sys
import tempfile
import unittest

from program import PROGRAM

PAPERS = os.path.join(os.path.dirname(os.path.realpath(__file__)), 'bench', 'papers')
SCRIPT = os.path.join(PAPERS, 'taurus.py')
TRAINING = ('graphs', 'table1', 'table2', 'depth', 'batch', 'fig2', 'fig5', 'fig6', 'fig7', 'fig10',
            'fig12', 'fig13', 'fig14', 'fig15', 'fig16')
FIGURES = ('table1', 'fig1', 'fig2', *(f'fig{i}' for i in range(5, 15)))


class Papers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix='gnnrun-papers-')
        cls.addClassCleanup(cls.folder.cleanup)
        p = subprocess.run([sys.executable, '-B', SCRIPT, PROGRAM, 'all', '--scale', 'tiny',
                            '--vertices', '1500', '--quick', '--out', cls.folder.name],
                           capture_output=True, text=True, check=False)
        if p.returncode != 0:
            raise AssertionError(p.stdout[-2000:] + p.stderr)

    def rows(self, figure):
        with open(os.path.join(self.folder.name, figure + '.json')) as f:
            return json.load(f)

    def test_each_figure_has_rows_of_numbers(self):
        for figure in FIGURES:
            with self.subTest(figure):
                result = self.rows(figure)
                self.assertGreater(len(result['rows']), 0)
                for row in result['rows']:
                    for key, value in row.items():
                        self.assertTrue(isinstance(value, str) or math.isfinite(value), key)
                        if key == 'seconds':
                            self.assertGreater(value, 0)
                with open(os.path.join(self.folder.name, figure + '.dat')) as f:
                    self.assertEqual(len(f.readlines()), 1 + len(result['rows']))
                self.assertEqual(figure == 'table1', not os.path.exists(
                    os.path.join(self.folder.name, figure + '.gp')))

    def test_the_readme_names_each(self):
        with open(os.path.join(os.path.dirname(SCRIPT), 'README.md')) as f:
            text = f.read()
        for figure in FIGURES:
            self.assertIn(figure, text)

    def test_counts(self):
        for row in self.rows('fig8')['rows']:
            self.assertAlmostEqual(row['hot'] + row['pinned'] + row['not_started'] +
                                   row['evicted'], 1)
        for row in self.rows('fig9')['rows']:
            bins = [v for k, v in row.items() if k.startswith('vertices_')]
            self.assertEqual(len(bins), 16)
            self.assertLessEqual(sum((i + 1) * n for i, n in enumerate(bins)), row['reloads'])
            if bins[-1] == 0:
                self.assertEqual(sum((i + 1) * n for i, n in enumerate(bins)), row['reloads'])
        whole = self.rows('fig11')['rows'][-1]
        self.assertEqual((whole['store_share'], whole['reloads']), (1.0, 0))
        none, most = (self.rows('fig12')['rows'][i] for i in (0, -1))
        self.assertEqual(none['vertices'], 0)
        self.assertGreater(most['messages'], most['vertices'])


class GatherPapers(unittest.TestCase):
    FIGURES = ('fig1', 'fig3', 'rates', 'alignment', 'blocks', 'training')

    def test_each_figure_has_rows_of_numbers(self):
        with open(os.path.join(PAPERS, 'README.md')) as f:
            text = f.read()
        with tempfile.TemporaryDirectory(prefix='gnnrun-papers-') as folder:
            p = subprocess.run([sys.executable, '-B', os.path.join(PAPERS, 'pytorch_direct.py'),
                                PROGRAM, 'all', '--scale', 'tiny', '--runs', '1', '--epochs', '1',
                                '--quick', '--out', folder, '--', '--backend', 'cpu'],
                               capture_output=True, text=True, check=False)
            self.assertEqual(p.returncode, 0, p.stdout[-2000:] + p.stderr)
            for figure in self.FIGURES:
                with self.subTest(figure):
                    self.assertIn(f'pytorch_direct.py build/gnnrun {figure}`', text)
                    with open(os.path.join(folder, figure + '.json')) as f:
                        rows = json.load(f)['rows']
                    self.assertEqual(len(rows) > 0, figure != 'blocks')  # that takes a GPU
                    for row in rows:
                        for key, value in row.items():
                            self.assertTrue(isinstance(value, str) or math.isfinite(value), key)
                    self.assertTrue(os.path.exists(os.path.join(folder, figure + '.gp')))
                    with open(os.path.join(folder, figure + '.dat')) as f:
                        self.assertEqual(len(f.readlines()), 1 + len(rows))


class TrainingPapers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix='gnnrun-papers-')
        cls.addClassCleanup(cls.folder.cleanup)
        p = subprocess.run([sys.executable, '-B', os.path.join(PAPERS, 'neutronorch.py'), PROGRAM,
                            'all', '--scale', 'tiny', '--graphs', 'products', '--quick', '--out',
                            cls.folder.name, '--', '--backend', 'cpu'],
                           capture_output=True, text=True, check=False)
        if p.returncode != 0:
            raise AssertionError(p.stdout[-2000:] + p.stderr)

    def rows(self, figure):
        with open(os.path.join(self.folder.name, figure + '.json')) as f:
            return json.load(f)['rows']

    def test_each_figure_has_rows_of_numbers(self):
        with open(os.path.join(PAPERS, 'README.md')) as f:
            text = f.read()
        for figure in TRAINING:
            with self.subTest(figure):
                self.assertIn(f'neutronorch.py build/gnnrun {figure}`', text)
                rows = self.rows(figure)
                self.assertGreater(len(rows), 0)
                for row in rows:
                    for key, value in row.items():
                        self.assertTrue(isinstance(value, str) or math.isfinite(value), key)
                        if key == 'seconds':
                            self.assertGreater(value, 0)

    def test_each_step_of_the_gains_is_what_it_says(self):
        runs = {row['run'].split('-', 1)[1]: row for row in self.rows('fig12')}
        self.assertEqual([runs[x]['max_staleness'] for x in ('base', 'L', 'HE')],
                         [0, 0, 3])
        self.assertEqual(runs['base']['cpu_embed_s'], 0)
        for name in ('L', 'HE', 'aggregates'):
            self.assertGreater(runs[name]['cpu_embed_s'], 0)
        self.assertLess(runs['precomputed']['gathered_MB'], runs['base']['gathered_MB'])
        for row in self.rows('fig13'):
            self.assertEqual(row['used'] > 0, not row['run'].endswith('-0'))
        shares = self.rows('table1')[0]
        self.assertLess(sum(shares[f'{x}_share'] for x in ('sample', 'collect', 'transfer')), 1)
        self.assertEqual({row['run'] for row in self.rows('fig5')},
                         {f'step-cpu-{x}' for x in ('sample', 'gather', 'train')})
        for row in self.rows('fig5'):
            self.assertLess(row['start_ms'], row['end_ms'])
        step, layer = self.rows('fig7')
        self.assertEqual(step['bottom_vertices'], 0)
        self.assertGreater(layer['bottom_vertices'], 0)

    STAND_IN = """#!{python}
# As a program on a GPU whose batches take 300 MiB.
import os, sys
args = ['step-cpu' if x.startswith('step-gpu') else 'cpu' if x == 'cuda' else x
        for x in sys.argv[1:]]
if '--gpu-memory' in args:
    at = args.index('--gpu-memory')
    limit = int(args[at + 1][:-1])
    del args[at:at + 2]
    if limit < 300:
        print(f'are left: {{300 - limit}}.0 MiB more of --gpu-memory would suffice',
              file=sys.stderr)
        sys.exit(71)
os.execv({program!r}, [{program!r}, *args])
"""

    def test_on_a_gpu_there_are_four_cases_within_a_limit_of_memory(self):
        name = os.path.join(self.folder.name, 'stand-in')
        with open(name, 'w') as f:
            f.write(self.STAND_IN.format(python=sys.executable, program=PROGRAM))
        os.chmod(name, 0o755)
        for figure in ('fig2', 'fig12'):
            p = subprocess.run([sys.executable, '-B', os.path.join(PAPERS, 'neutronorch.py'), name,
                                figure, '--scale', 'tiny', '--graphs', 'products', '--train-count',
                                '96', '--out', os.path.join(self.folder.name, 'gpu'), '--',
                                '--backend', 'cuda'], capture_output=True, text=True, check=False)
            self.assertEqual(p.returncode, 0, p.stderr)
        with open(os.path.join(self.folder.name, 'gpu', 'fig2.json')) as f:
            self.assertEqual([x['case'] for x in json.load(f)['rows']],
                             ['step-cpu', 'step-gpu-sample', 'step-gpu-gather', 'step-gpu',
                              'layer'])
        with open(os.path.join(self.folder.name, 'gpu', 'fig12.json')) as f:
            result = json.load(f)
        self.assertEqual(result['base'], 'step-gpu-sample')
        for row, run in zip(result['rows'], result['runs']):
            self.assertEqual(row['device_MiB'], 300 + 2 + 64)
            # 40 super-batches of two steps, three an epoch.
            self.assertEqual(len(run['epochs']), 27 if '--hybrid' in run['options'] else 2)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
