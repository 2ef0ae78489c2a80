#!/usr/bin/env python3
"""Inference of several ranks: results, equal bits, sampling, what each reads, and failures of one.

usage: ranks_test.py GNNRUN [Ranks.test_name ...]

GNN_KILLS=100 kills ranks a hundred times instead of twenty, or five in a build with a sanitizer;
each is drawn from a seed.
"""
import json
import os
import random
import re
import shutil
import signal
import sys
import unittest

from launcher import MPIRUN, disturb, finish, launch, said
from program import PROGRAM, SANITIZED, ModelsCase, numpy_or_skip, run, start

np = numpy_or_skip()
import h5py  # noqa: E402  (after the check)


class Ranks(ModelsCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        run('generate', 'sbm', cls.path('g.h5'), '--vertices', 5001, '--edges', 40000,
            '--feat-dim', 20, '--classes', 9)
        run('generate', 'rmat', cls.path('hubs.h5'), '--vertices', 3000, '--edges', 60000,
            '--feat-dim', 20)
        run('reorder', cls.path('hubs.h5'), cls.path('r.h5'), '--order', 'random')

    @classmethod
    def words(cls, arch, store='g.h5', name='e.h5'):
        return ['infer', cls.path(store), '--model', cls.path(f'{arch}.st'), '--out',
                cls.path(name), '--json', '--predict']

    def infer(self, ranks, arch, *options, store='g.h5', name='e.h5'):
        words = [*self.words(arch, store, name), *options]
        p = finish(launch(ranks, *words)) if ranks > 0 else start(*words)
        self.assertEqual(p.returncode, 0, f'{ranks} ranks, {arch} {options}\n{p.stderr}')
        return json.loads(p.stdout)

    def rows(self, name='e.h5', array='embeddings'):
        with h5py.File(self.path(name)) as f:
            return f[array][:]

    def close(self, got, want):
        self.assertEqual(got.shape, want.shape)
        self.assertLess(np.abs(got - want).max(initial=0.0),
                        2e-5 * (np.abs(want).max(initial=0.0) or 1.0))

    def nothing_stays(self, there=()):
        left = [n for n in os.listdir(self.folder.name) if n.startswith('e.h5')]
        self.assertEqual(sorted(left), sorted(there))

    def setUp(self):
        for name in os.listdir(self.folder.name):
            if name.startswith('e.h5'):
                shutil.rmtree(self.path(name), ignore_errors=True)
                if os.path.exists(self.path(name)):
                    os.remove(self.path(name))

    def test_results(self):
        for store in ('g.h5', 'hubs.h5', 'r.h5'):
            for i, arch in enumerate(self.ARCHES):
                one = self.infer(0, arch, '--save-layers', store=store, name='one.h5')
                for ranks in ((7,), (3,), (4,), (2,))[i]:
                    with self.subTest(arch=arch, ranks=ranks, store=store):
                        many = self.infer(ranks, arch, '--save-layers', store=store)
                        self.close(self.rows(), self.rows('one.h5'))
                        self.close(self.rows(array='layer/1'), self.rows('one.h5', 'layer/1'))
                        same = self.rows(array='prediction') == self.rows('one.h5', 'prediction')
                        self.assertGreater(same.mean(), 0.999)
                        self.assertEqual(many['ranks'], ranks)
                        self.assertEqual([x['messages'] for x in many['layers']],
                                         [x['messages'] for x in one['layers']])
                        if store == 'g.h5':
                            self.assertAlmostEqual(many['test'], one['test'], delta=0.01)
                        self.nothing_stays(['e.h5'])
                        run('info', self.path('e.h5'), '--verify')

    def test_equal_bits(self):
        """At one number of ranks nothing else shows in the result."""
        ways = [('--chunk-bytes', '40K'), ('--chunk-bytes', '100K', '--threads', 3),
                ('--plan', 'partitioned', '--shards', 3, '--chunk-bytes', '60K'),
                ('--host-memory', '24M'), ('--io', 'pread', '--queue-depth', 4)]
        for i, arch in enumerate(self.ARCHES):
            for ranks in (2, 3) if arch == 'gat' else (3,):
                self.infer(ranks, arch, store='hubs.h5', name='one.h5')
                want = self.rows('one.h5').tobytes()
                for way in ways:
                    with self.subTest(arch=arch, ranks=ranks, way=way):
                        self.infer(ranks, arch, *way, store='hubs.h5')
                        self.assertEqual(self.rows().tobytes(), want)

    def test_sampled_edges(self):
        """Other edges would give other rows by far more than rounding."""
        for store in ('hubs.h5', 'r.h5'):
            for arch in ('sage', 'gin', 'gat'):
                self.infer(0, arch, '--fanout', 3, '--seed', 5, store=store, name='one.h5')
                for ranks in (2, 7):
                    with self.subTest(store=store, arch=arch, ranks=ranks):
                        self.infer(ranks, arch, '--fanout', 3, '--seed', 5, store=store)
                        self.close(self.rows(), self.rows('one.h5'))

    def test_read_once(self):
        """All ranks together read what one does; each holds less."""
        run('generate', 'sbm', self.path('big.h5'), '--vertices', 150000, '--edge-factor', 8,
            '--feat-dim', 200)
        run('model', '--seeded', 'sage', '--dims', '200,16,4', '--out', self.path('big.st'))
        self.addCleanup(os.remove, self.path('big.h5'))
        words = ('--host-memory', '1G', '--threads', 1)
        one = self.infer(0, 'big', *words, store='big.h5', name='one.h5')
        for ranks in (2, 4):
            many = self.infer(ranks, 'big', *words, store='big.h5')
            self.close(self.rows(), self.rows('one.h5'))
            self.assertLess(many['read_bytes'], 1.02 * one['read_bytes'])
            plan = self.infer(ranks, 'big', *words, '--explain', store='big.h5')
            self.assertEqual(plan['ranks'], ranks)
            self.assertLess(abs(plan['predicted_read_bytes'] / many['read_bytes'] - 1), 0.02)

    def test_empty_ranks(self):
        for vertices, edges in ((1, 0), (3, 5), (300, 0), (300, 900)):
            run('generate', 'rmat', self.path('few.h5'), '--vertices', vertices, '--edges', edges,
                '--feat-dim', 20)
            for arch in ('sage', 'gat'):
                for plan in ('resident', 'partitioned'):
                    with self.subTest(vertices=vertices, edges=edges, arch=arch, plan=plan):
                        self.infer(0, arch, store='few.h5', name='one.h5')
                        self.infer(7, arch, '--plan', plan, store='few.h5')
                        self.close(self.rows(), self.rows('one.h5'))

    def test_user_ids(self):
        """Ids of the user come along, in import order, from any rank's share."""
        with open(self.path('edges.txt'), 'w') as f:
            f.writelines(f'{i * 7 + 3} {(i * 31 % 2000) * 7 + 3}\n' for i in range(2000))
        np.save(self.path('feat.npy'), np.arange(2000 * 20, dtype=np.float32).reshape(2000, 20))
        run('import', self.path('edges.txt'), self.path('ids.h5'), '--remap', '--features',
            self.path('feat.npy'))
        run('reorder', self.path('ids.h5'), self.path('mixed.h5'), '--order', 'random')
        for store in ('ids.h5', 'mixed.h5'):
            self.infer(3, 'gin', store=store)
            self.assertEqual(self.rows(array='external_id').tolist(),
                             [i * 7 + 3 for i in range(2000)])

    def test_one_rank_fails(self):
        """Wherever it is: all end, one of them says which and why; a checkpoint may stay."""
        for rule, codes in (('alloc:fail', {71}), ('open:eio', {66, 73, 74}),
                            ('read:eio', {65, 74}), ('write:eio', {73, 74})):
            n, failures, passes = 1, 0, 0
            while n < 4000:
                rank = n % 3
                words = self.words('sage', 'r.h5') + ['--plan', 'partitioned']
                p = finish(launch(3, *words, apart={rank: ('--faults', f'{rule}@{n}')}))
                with self.subTest(rule=rule, n=n, rank=rank):
                    self.assertIn(p.returncode, {0} | codes, p.stderr)
                    if p.returncode != 0:
                        failures += 1
                        self.assertEqual(len(said(p)), 1, p.stderr)
                        if rank > 0:
                            self.assertIn(f'gnnrun: rank {rank} on ', p.stderr)
                        self.assertFalse(os.path.exists(self.path('e.h5')))
                        self.nothing_stays(n for n in os.listdir(self.folder.name)
                                           if re.fullmatch(r'e\.h5\.rank\d\.gnnrun-scratch', n))
                        self.setUp()
                        self.assertLess(p.took, 30)
                    else:
                        self.setUp()
                        passes += 1
                if passes == 3:
                    break
                n += 1 if rule == 'write:eio' and not SANITIZED else 1 + n // 2
            self.assertGreater(failures, 1, rule)

    def test_a_result_is_there_for_all_ranks_or_for_none(self):
        """A rank that cannot tell, for want of memory, leaves no other waiting."""
        options = ('--chunk-bytes', '40K', '--resume')
        self.infer(3, 'gat', *options[:2], store='hubs.h5')
        self.assertEqual(self.infer(3, 'gat', *options, store='hubs.h5')['resumed'], 'finished')
        words = [*self.words('gat', 'hubs.h5'), *options]
        for n in range(20, 200, 40 if SANITIZED else 9):
            p = finish(launch(3, *words, apart={1: ('--faults', f'alloc:fail@{n}')}), timeout=60)
            self.assertIn(p.returncode, (0, 71), p.stderr)
            run('info', self.path('e.h5'), '--verify')

    def disturb(self, number, rank, delay, *options, ranks=3, arch='gat'):
        """Sends a signal to a rank of a slowed run."""
        words = [*self.words(arch, 'hubs.h5'), '--chunk-bytes', '40K', *options,
                 '--faults', 'read:slow%3=1']
        return disturb(self, launch(ranks, *words), ranks, number, rank, delay)

    def test_killed_ranks(self):
        draw = random.Random(8)
        hit = 0
        kills = int(os.environ.get('GNN_KILLS', 5 if SANITIZED else 20))
        for i in range(kills):
            rank, delay = draw.randrange(3), draw.random() * 1.5
            plan = draw.choice(('resident', 'partitioned'))
            with self.subTest(i=i, rank=rank, delay=delay, plan=plan):
                p = self.disturb(signal.SIGKILL, rank, delay, '--plan', plan)
                self.assertLess(p.took, 30)
                hit += p.returncode != 0
                if p.returncode != 0 and os.path.exists(self.path('e.h5')):
                    run('info', self.path('e.h5'), '--verify')
                if p.returncode != 0:
                    self.goes_on('gat', '--plan', plan)
        self.assertGreater(hit, kills // 4)

    def test_silent_rank(self):
        for rank in (0, 2):
            p = self.disturb(signal.SIGSTOP, rank, 0.3, '--peer-timeout', 2)
            self.assertEqual(p.returncode, 74, p.stderr)
            self.assertLess(p.took, 2 + 10)
            self.assertEqual(len(said(p)), 1, p.stderr)
            self.assertIn(f'gnnrun: rank {rank} on ', p.stderr)

    def goes_on(self, arch, *options, wanted=('yes', 'no', 'finished')):
        """--resume ends with the bits of a run that nobody disturbed, and leaves nothing."""
        options = ('--chunk-bytes', '40K', *options)
        self.infer(3, arch, *options, store='hubs.h5', name='one.h5')
        report = self.infer(3, arch, '--resume', *options, store='hubs.h5')
        self.assertIn(report['resumed'], wanted)
        self.assertEqual(self.rows().tobytes(), self.rows('one.h5').tobytes())
        if report['resumed'] != 'finished':  # an earlier result: the next writer tidies up
            self.nothing_stays(['e.h5'])

    def test_stopped_by_a_signal(self):
        draw = random.Random(9)
        stopped = 0
        for arch in ('gat', 'sage'):
            for plan in (('--plan', 'resident'), ('--plan', 'partitioned', '--shards', 2)):
                for rank in (0, 2):
                    self.setUp()
                    p = self.disturb(signal.SIGUSR1, rank, draw.random() * .6, *plan, arch=arch)
                    self.assertIn(p.returncode, (75, 0), p.stderr)
                    stopped += p.returncode == 75
                    if p.returncode == 75:
                        self.assertIn('stopped by a signal', p.stderr)
                        other = finish(launch(2, *self.words(arch, 'hubs.h5'), '--resume',
                                              '--chunk-bytes', '40K', *plan))
                        self.assertEqual(other.returncode, 78, other.stderr)
                        self.assertIn('ranks has changed', other.stderr)
                    self.goes_on(arch, *plan, wanted=('yes',) if p.returncode == 75 else
                                 ('finished',))
        self.assertGreater(stopped, 3)

    def test_other_options(self):
        words = self.words('gcn')
        for option, apart in (('--fanout', {1: ('--fanout', 3)}),
                              ('--chunk-bytes', {0: ('--chunk-bytes', '1M')}),
                              ('--model-set', {2: ('--model-set', 'activation=relu')})):
            p = finish(launch(3, *words, apart=apart))
            self.assertEqual(p.returncode, 78, p.stderr)
            self.assertEqual(len(said(p)), 1, p.stderr)
            self.assertIn(f'another {option} than rank 0', p.stderr)
            self.nothing_stays()
        p = finish(launch(3, *words, apart={1: ('--threads', 1, '--host-memory', '1G')}))
        self.assertEqual(p.returncode, 0, p.stderr)

    def test_other_files(self):
        """A store that one rank does not see, or sees as another."""
        for name, code, text in (('none.h5', 66, 'none.h5'), ('hubs.h5', 78, 'rank 1 ')):
            words, other = self.words('gcn'), self.words('gcn', name)
            command = [*MPIRUN, '-np', '1', PROGRAM, *words, ':', '-np', '1', PROGRAM, *other]
            p = finish(command)
            self.assertEqual(p.returncode, code, p.stderr)
            self.assertIn(text, p.stderr)
            self.assertEqual(len(said(p)), 1, p.stderr)
            self.nothing_stays()

    def test_refused(self):
        for option, text in ((('--plan', 'tiered'), '--plan tiered'),
                             (('--host-memory', '1M'), 'memory')):
            p = finish(launch(2, *self.words('gcn'), *option))
            self.assertIn(p.returncode, (71, 78), p.stderr)
            self.assertIn(text, p.stderr)
            self.assertEqual(len(said(p)), 1, p.stderr)
            self.nothing_stays()
        p = finish(launch(2, 'info', self.path('g.h5')))
        self.assertEqual(p.returncode, 78, p.stderr)


if __name__ == '__main__':
    sys.argv[1:] = sys.argv[2:]
    unittest.main()
