#!/usr/bin/env python3
"""Long runs: killed at each named point, stopped by signals, gone on with to equal bits.

usage: resume_test.py GNNRUN [Resume.test_name ...]
"""
import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import unittest

from program import PROGRAM, ModelsCase, numpy_or_skip, run, run_fails, share, start

np = numpy_or_skip()
import h5py  # noqa: E402  (after the check)


class Resume(ModelsCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        run('generate', 'rmat', cls.path('g.h5'), '--vertices', 3001, '--edges', 20000,
            '--feat-dim', 20)
        cls.want = {arch: cls.bits(cls.infer(arch, name='want.h5')) for arch in cls.ARCHES}

    @classmethod
    def command(cls, arch, *options, name='e.h5', store='g.h5'):
        return ('infer', cls.path(store), '--model', cls.path(f'{arch}.st'), '--out',
                cls.path(name), '--json', *options)

    @classmethod
    def infer(cls, arch, *options, name='e.h5'):
        return json.loads(run(*cls.command(arch, *options, name=name))) and cls.path(name)

    @staticmethod
    def bits(path):
        with h5py.File(path) as f:
            return {name: f[name][:].tobytes() for name in ('embeddings', 'layer/1') if name in f}

    def setUp(self):
        self.scratch = self.path('e.h5.gnnrun-scratch')
        for name in ('e.h5', 'e.h5.gnnrun-lock', 'e.h5.gnnrun-tmp'):
            if os.path.exists(self.path(name)):
                os.remove(self.path(name))
        shutil.rmtree(self.scratch, ignore_errors=True)

    def goes_on(self, arch, options, resumed=('yes',)):
        report = json.loads(run(*self.command(arch, *options, '--resume')))
        self.assertIn(report['resumed'], resumed)
        self.assertEqual(self.bits(self.path('e.h5'))['embeddings'],
                         self.want[arch]['embeddings'])
        self.assertFalse(os.path.exists(self.scratch))
        return report

    def test_killed_at_each_point(self):
        points = [p for p in run('infer', 'x', '--list-crash-points').split()
                  if p.startswith(('infer.', 'pub.'))]
        self.assertIn('infer.manifest_written', points)
        options = ('--plan', 'partitioned', '--shards', 2, '--chunk-bytes', '40K')
        hit = {}
        for i, point in enumerate(points):
            for n in (1, 3):
                arch = list(self.ARCHES)[(i + n) % 4]
                p = start(*self.command(arch, *options, '--faults', f'crash:{point}@{n}'))
                self.assertIn(p.returncode, (-signal.SIGKILL, 0), p.stderr)
                hit[point] = hit.get(point, 0) + (p.returncode != 0)
                with self.subTest(point=point, n=n, arch=arch):
                    self.goes_on(arch, options, ('yes', 'no', 'finished'))
        self.assertEqual([p for p in points if hit[p] == 0], [])

    def stop(self, arch, options, number, read, store='g.h5'):
        """Stops the run by a signal while its `read`-th read is slow; whether it was in time."""
        p = subprocess.Popen([PROGRAM, *map(str, self.command(arch, *options, '--faults',
                              f'read:slow@{read}-{read + 12}', store=store))],
                             stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        while p.poll() is None and not self.is_busy(p.pid):
            pass
        try:
            p.send_signal(number)
        except ProcessLookupError:
            pass
        text = p.communicate(timeout=60)[1]
        self.assertIn(p.returncode, (75, 0, -number), text)
        return p.returncode == 75

    @staticmethod
    def is_busy(pid):
        """It listens to SIGUSR1 already."""
        try:
            with open(f'/proc/{pid}/status') as f:
                caught = next(x for x in f if x.startswith('SigCgt:')).split()[1]
        except (OSError, StopIteration):
            return False
        return int(caught, 16) >> (signal.SIGUSR1 - 1) & 1

    def test_stopped_by_signals(self):
        stopped = 0
        for arch in self.ARCHES:
            for plan in (('--plan', 'resident'), ('--plan', 'partitioned', '--shards', 3)):
                for number, read in ((signal.SIGUSR1, 12), (signal.SIGTERM, 30)):
                    options = (*plan, '--chunk-bytes', '20K', '--io', 'pread')
                    with self.subTest(arch=arch, plan=plan, read=read):
                        if self.stop(arch, options, number, read):
                            stopped += 1
                            self.assertTrue(os.path.exists(self.scratch))
                            self.assertEqual(os.stat(self.scratch).st_mode & 0o777, 0o700)
                        self.goes_on(arch, options, ('yes', 'no', 'finished'))
        self.assertGreater(stopped, 4)

    def test_a_tiered_run_goes_on_within_a_layer(self):
        stopped = 0
        policies = ('belady', 'pending', 'lru', 'fifo', 'random')
        cuts = share(itertools.product(self.ARCHES, ((12, 'min'), (30, '20K'), (70, '80K'))), 2)
        for i, (arch, (read, store)) in enumerate(cuts):
            options = ('--plan', 'tiered', '--chunk-bytes', '20K', '--io', 'pread', '--evict',
                       policies[i % 5], '--hot-store', store)
            with self.subTest(arch=arch, read=read, store=store):
                if self.stop(arch, options, (signal.SIGTERM, signal.SIGUSR1)[i % 2], read):
                    stopped += 1
                    if i % 2: # into a store of another size, and stopped once more
                        options = (*options[:-3], policies[i % 3], *('--hot-store', '33K'))
                        self.stop(arch, (*options, '--resume'), signal.SIGTERM, 30)
                self.goes_on(arch, options, ('yes', 'no', 'finished'))
        self.assertGreater(stopped, 2)

    def test_a_tiered_run_without_in_lists_goes_on(self):
        """They are larger than a quarter of the budget: next uses come from scratch."""
        run('generate', 'rmat', self.path('many.h5'), '--vertices', 9001, '--edges', 1300000,
            '--feat-dim', 20)
        want = self.bits(self.infer_many())
        stopped = 0
        for read in (30, 90):
            options = ('--plan', 'tiered', '--chunk-bytes', '20K', '--io', 'pread',
                       '--hot-store', '200K', '--host-memory', '17M')
            stopped += self.stop('sage', options, signal.SIGTERM, read, store='many.h5')
            report = json.loads(run(*self.command('sage', *options, '--resume',
                                                  store='many.h5')))
            self.assertGreater(sum(l['evictions'] for l in report['layers']), 0)
            self.assertEqual(self.bits(self.path('e.h5')), want)
            os.remove(self.path('e.h5'))
        self.assertGreater(stopped, 0)

    def infer_many(self):
        run(*self.command('sage', name='many-want.h5', store='many.h5'))
        return self.path('many-want.h5')

    def test_a_tiered_run_killed_at_each_point(self):
        points = [p for p in run('infer', 'x', '--list-crash-points').split()
                  if p.startswith(('infer.', 'pub.'))]
        hits = 0
        for i, point in enumerate(points):
            arch, n = list(self.ARCHES)[i % 4], (1, 2)[i % 2]
            options = ('--plan', 'tiered', '--chunk-bytes', '40K', '--hot-store', '30K',
                       '--seal-after', i // 4 % 2 * 30)
            p = start(*self.command(arch, *options, '--faults', f'crash:{point}@{n}'))
            self.assertIn(p.returncode, (-signal.SIGKILL, 0), p.stderr)
            hits += p.returncode != 0
            with self.subTest(point=point, n=n, arch=arch):
                self.goes_on(arch, options, ('yes', 'no', 'finished'))
        self.assertGreater(hits, 6)

    def test_little_work_is_not_sealed(self):
        """Rows in memory are written down when a signal comes, not behind a short layer."""
        options = ('--plan', 'tiered', '--chunk-bytes', '40K', '--hot-store', '30K')
        for arch in self.ARCHES:
            with self.subTest(arch=arch):
                self.killed(arch, options, 'infer.rows_copied@1')
                self.assertEqual([n for n in os.listdir(self.scratch) if n.startswith(
                    ('manifest', 'layer2-input'))], [])
                self.goes_on(arch, options, ('no',))
                self.setUp()
                for key, explain in (('predicted_written_bytes', ('--explain',)),
                                     ('written_bytes', ())):
                    spared, sealed = (json.loads(run(*self.command(
                        arch, *options, '--seal-after', s, *explain, name=f's{s}.h5')))
                        ['layers'][0][key] for s in (30, 0))
                    self.assertGreater(sealed - spared, 60000, key)

    def test_rows_in_memory_leave_the_point_before_them(self):
        """The last layer's are not sealed: what the layer came from is there until the end."""
        options = ('--plan', 'tiered', '--chunk-bytes', '40K', '--hot-store', '30K',
                   '--seal-after', 0)
        for arch in self.ARCHES:
            with self.subTest(arch=arch):
                self.killed(arch, options, 'infer.rows_copied@1')
                self.assertNotIn('layer2-out.runs', os.listdir(self.scratch))
                self.goes_on(arch, options)

    def test_a_tiered_run_killed_at_random(self):
        draw = random.Random(5)
        for arch in self.ARCHES:
            options = ('--plan', 'tiered', '--chunk-bytes', '20K', '--hot-store', '30K',
                       '--seal-after', 0)
            for _ in range(3):
                p = subprocess.Popen([PROGRAM, *map(str, self.command(
                    arch, *options, '--resume', '--faults', 'read:slow%9'))],
                    stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
                try:
                    p.wait(draw.uniform(.02, .5))
                except subprocess.TimeoutExpired:
                    p.kill()
                    p.wait()
            with self.subTest(arch=arch):
                self.goes_on(arch, options, ('yes', 'no', 'finished'))

    def test_damaged_scratch_of_a_tiered_run_is_named(self):
        options = ('--plan', 'tiered', '--hot-store', '30K', '--seal-after', 0)
        for damage, at in (('flip', 8200), ('flip', 16), ('cut', 0)):
            with self.subTest(damage=damage, at=at):
                self.setUp()
                self.killed('sage', options, 'infer.manifest_written@1')
                self.damage(os.path.join(self.scratch, 'layer2-input.runs'), damage, at)
                run_fails(self, 65, 'layer2-input.runs', *self.command('sage', *options,
                                                                       '--resume'))
                self.assertFalse(os.path.exists(self.path('e.h5')))

    @staticmethod
    def damage(path, damage, at):
        with open(path, 'r+b') as f:
            if damage == 'cut':
                f.truncate(4096)
                return
            f.seek(at)
            byte = f.read(1)
            f.seek(at)
            f.write(bytes([byte[0] ^ 4]))

    def killed(self, arch, options, point='infer.manifest_written@2'):
        p = start(*self.command(arch, *options, '--faults', f'crash:{point}'))
        self.assertEqual(p.returncode, -signal.SIGKILL, p.stderr)

    def test_what_changed_is_named(self):
        options = ('--plan', 'partitioned', '--shards', 3)
        self.killed('sage', options)
        run_fails(self, 78, 'model', *self.command('gcn', *options, '--resume'))
        run_fails(self, 78, 'message-order', *self.command(
            'sage', *options, '--resume', '--message-order', 'aggregate-first'))
        run_fails(self, 78, '--shards', *self.command(
            'sage', '--plan', 'partitioned', '--shards', 2, '--resume'))
        run_fails(self, 78, '--plan', *self.command('sage', '--plan', 'resident', '--resume'))
        run('generate', 'rmat', self.path('other.h5'), '--vertices', 3001, '--edges', 20000,
            '--feat-dim', 20, '--seed', 3)
        run_fails(self, 78, 'store', *self.command('sage', *options, '--resume',
                                                   store='other.h5'))
        self.goes_on('sage', ('--threads', 1, '--chunk-bytes', '1M'))

    def test_damaged_scratch_is_named(self):
        options = ('--plan', 'partitioned', '--shards', 3)
        for damage in ('flip', 'cut', 'manifest'):
            with self.subTest(damage=damage):
                self.setUp()
                self.killed('sage', options)
                name = 'manifest.json' if damage == 'manifest' else 'layer1-messages.rows'
                path = os.path.join(self.scratch, name)
                with open(path, 'r+b') as f:
                    if damage == 'cut':
                        f.truncate(8192)
                    else:
                        f.seek(300)
                        byte = f.read(1)
                        f.seek(300)
                        f.write(bytes([byte[0] ^ 4]))
                run_fails(self, 65, name if damage != 'flip' else 'layer1-messages',
                          *self.command('sage', *options, '--resume'))
                self.assertFalse(os.path.exists(self.path('e.h5')))

    def test_finished_and_without_a_manifest(self):
        report = self.goes_on('gcn', (), ('no',))
        self.assertGreater(report['read_bytes'], 0)
        report = self.goes_on('gcn', (), ('finished',))
        self.assertEqual(report['read_bytes'], 0)
        self.infer('gcn', '--message-order', 'aggregate-first')
        self.goes_on('gcn', (), ('no',))

    def test_a_full_disk_is_gone_on_with(self):
        options = ('--plan', 'partitioned', '--shards', 3)
        said = run_fails(self, 74, 'free', *self.command('gat', *options, '--faults',
                                                         'reserve:enospc@4'))
        self.assertIn('needs', said)
        self.goes_on('gat', options, ('yes', 'no'))

    def test_saved_layers_survive(self):
        want = self.bits(self.infer('sage', '--save-layers', name='w.h5'))
        options = ('--save-layers', '--plan', 'partitioned', '--shards', 2)
        self.killed('sage', options, 'infer.manifest_written@3')
        self.goes_on('sage', options)
        self.assertEqual(self.bits(self.path('e.h5')), want)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
