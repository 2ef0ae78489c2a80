#!/usr/bin/env python3
"""./quickstart in a fresh clone, as a new user runs it, in an awkward place: no terminal, no HOME,
umask 077, a space in the path; then again, then with a folder of the user's own.

usage: quickstart_test.py GNNRUN SOURCE CMAKE
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from program import SHARED, numpy_or_skip, skip

np = numpy_or_skip()
SOURCE, CMAKE = sys.argv[2:4]


class PackagesTest(unittest.TestCase):
    """need() of .ci/packages.sh, with stand-ins for dpkg-query and apt-get."""

    def need(self, *packages, uid):
        with tempfile.TemporaryDirectory() as bin_folder:
            for name, text in (('dpkg-query', '[ "$4" = have ] && echo install ok installed'),
                               ('apt-get', 'echo apt-get "$@"'), ('id', f'echo {uid}'),
                               ('sudo', 'exit 1')):
                path = os.path.join(bin_folder, name)
                with open(path, 'w', encoding='utf-8') as f:
                    f.write(f'#!/bin/sh\n{text}\n')
                os.chmod(path, 0o755)
            return subprocess.run(
                ['bash', '-c', '. .ci/packages.sh; need "$@"', 'bash', *packages], cwd=SOURCE,
                env={**os.environ, 'PATH': f'{bin_folder}:{os.environ["PATH"]}'}, text=True,
                stdin=subprocess.DEVNULL, capture_output=True, check=False)

    def test_root_installs_what_is_missing(self):
        p = self.need('have', 'this', 'that', uid=0)
        self.assertEqual(p.returncode, 0, p.stderr)
        self.assertRegex(p.stdout, r'apt-get install -y .* this that\n')
        self.assertEqual(self.need('have', uid=0).stdout, '')

    def test_others_are_told_what_to_ask_for(self):
        p = self.need('have', 'this', uid=1000)
        self.assertEqual((p.returncode, p.stdout), (69, ''))
        self.assertIn('  apt-get install this\n', p.stderr)
        self.assertEqual(self.need('have', uid=1000).returncode, 0)


class QuickstartTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix='gnnrun é ')
        cls.addClassCleanup(cls.folder.cleanup)
        cls.clone = os.path.join(cls.folder.name, 'a clone')
        subprocess.run(['git', 'clone', '-q', SOURCE, cls.clone], check=True)
        cls.env = {k: v for k, v in os.environ.items() if k not in ('HOME', 'TERM')}
        cls.env['CCACHE_BASEDIR'], cls.env['CCACHE_NOHASHDIR'] = cls.folder.name, '1'
        # The GPU has tests of its own; without it a clone builds in half the time.
        subprocess.run([CMAKE, '--preset', 'default', '-DGNN_WITH_CUDA=OFF'], cwd=cls.clone,
                       check=True, env=cls.env, stdout=subprocess.DEVNULL)

    def quickstart(self, *args, code=0):
        p = subprocess.run(['./quickstart', *args], cwd=self.clone, env=self.env, text=True,
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, umask=0o077,
                           stderr=subprocess.STDOUT, timeout=1500, check=False)
        self.assertEqual(p.returncode, code, p.stdout)
        return p.stdout

    def result(self):
        return np.load(os.path.join(self.clone, 'build', 'quickstart', 'embeddings.npy'))

    def test_1_the_embedded_graph_twice(self):
        out = self.quickstart()
        for line in ('$ build/gnnrun generate sbm build/quickstart/graph.h5 --scale 16',
                     '$ build/gnnrun infer build/quickstart/graph.h5', 'vertices    65536',
                     'accuracy', '== Done'):
            self.assertIn(line, out)
        first = self.result()
        self.assertEqual(first.shape, (65536, 16))
        self.assertTrue(np.isfinite(first).all() and first.std() > 0)
        self.assertIn('no work to do', self.quickstart())
        self.assertTrue(np.array_equal(first, self.result()))

    def test_2_a_folder_of_the_user(self):
        data = os.path.join(self.folder.name, 'my data')
        os.mkdir(data)
        random = np.random.default_rng(0)
        np.save(os.path.join(data, 'edges.npy'), random.integers(0, 500, (2, 3000)))
        np.save(os.path.join(data, 'feat.npy'), random.normal(size=(500, 12)).astype('f4'))
        np.save(os.path.join(data, 'label.npy'), random.integers(0, 3, 500))
        self.assertIn('vertices    500', self.quickstart('--data', data))
        self.assertEqual(self.result().shape, (500, 3))
        os.remove(os.path.join(data, 'feat.npy'))
        self.assertIn('has no features', self.quickstart('--data', data, code=65))

    def test_3_a_real_folder(self):
        cora = os.path.join(SHARED, 'data', 'cora')
        if not os.path.isdir(cora):
            self.skipTest('cora is not beside the checkout')
        self.assertIn('vertices    2708', self.quickstart(f'--data={cora}'))
        self.assertEqual(self.result().shape, (2708, 7))

    def test_4_what_cannot_be_meant(self):
        self.assertIn('--nothing', self.quickstart('--nothing', code=64))
        self.assertIn('not a folder', self.quickstart('--data', '/nowhere', code=66))
        self.assertIn('--data wants', self.quickstart('--data', code=64))
        self.assertIn('usage:', self.quickstart('--help'))


if __name__ == '__main__':
    if shutil.which('git') is None or not os.path.exists(os.path.join(SOURCE, '.git')):
        skip('not a git checkout')
    unittest.main(argv=sys.argv[:1])
