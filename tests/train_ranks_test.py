#!/usr/bin/env python3
"""Training by several ranks: what one rank of the same batch learns, equal bits, failures of one.

usage: train_ranks_test.py GNNRUN [TrainRanks.test_name ...]

Ranks that are killed: kills_test.py. In a build with a sanitizer each sweep has a part of its
cells.
"""
import json
import os
import shutil
import signal
import sys
import unittest

from launcher import MPIRUN, disturb, finish, launch, said
from program import PROGRAM, SANITIZED, TrainCase, numpy_or_skip, read, run, start

np = numpy_or_skip()

SMALL = ('--hidden', 16, '--fanout', '4,6', '--batch-size', 100, '--epochs', 2, '--log', 'warn')
SIX = ('--epochs', 6, '--eval-every', 2)
LONG = ('--epochs', 5, '--batch-size', 20, '--eval-every', 3)


def floats(path):
    """All weights of a model, one behind the other."""
    data = read(path)
    head = int.from_bytes(data[:8], 'little')
    return np.frombuffer(data[8 + head:], dtype=np.float32)


class TrainRanks(TrainCase):
    # The last step of an epoch has one seed: all ranks but one are empty in it.
    SBM = (*TrainCase.SBM[:-1], 601)

    def words(self, name, *args, store=None):
        return ['train', store or self.store, '--out', self.path(name + '.safetensors'), '--json',
                *SMALL, *args]

    def train(self, ranks, name, *args, store=None):
        """The report of a training; ranks 0: without mpirun."""
        words = self.words(name, *args, store=store)
        p = finish(launch(ranks, *words)) if ranks > 0 else start(*words)
        self.assertEqual(p.returncode, 0, f'{ranks} ranks: {args}\n{p.stderr}')
        return json.loads(p.stdout)

    def models(self, name):
        return [read(self.path(name + end)) for end in ('.safetensors', '.last.safetensors')]

    def remove(self, name):
        for end in ('.safetensors', '.last.safetensors'):
            if os.path.exists(self.path(name + end)):
                os.remove(self.path(name + end))
        shutil.rmtree(self.path(name + '.safetensors.ckpt'), ignore_errors=True)

    def agree(self, one, many, tolerance=2e-5):
        """Losses and weights are those of one rank within rounding; so are the figures."""
        for a, b in zip(one['epochs'], many['epochs']):
            self.assertAlmostEqual(a['loss'], b['loss'], delta=tolerance * abs(a['loss']))
            for split in ('train', 'valid'):
                self.assertAlmostEqual(a[split], b[split], delta=0.008)
        self.assertEqual(len(one['epochs']), len(many['epochs']))

    def compare(self, ranks, *args, store=None):
        one = self.train(0, 'one', *args, store=store)
        w = floats(self.path('one.last.safetensors'))
        for n in ranks:
            with self.subTest(ranks=n, args=args):
                many = self.train(n, 'many', *args, store=store)
                self.assertEqual(many['ranks'], n)
                self.agree(one, many)
                off = np.abs(floats(self.path('many.last.safetensors')) - w).max()
                # Adam's first steps are of the gradient's sign: tiny ones may flip.
                self.assertLess(off, 0.02 * np.abs(w).max())

    def test_agrees_with_one_rank(self):
        for arch, ranks, extra in (('gcn', (1, 4), ()), ('sage', (2, 4), ()), ('gin', (3,), ()),
                                   ('gat', (2, 3), ('--heads', 4))):
            self.compare(ranks[:1] if SANITIZED else ranks, '--arch', arch, *extra)

    def test_every_option_agrees_with_one_rank(self):
        for i, args in enumerate((
                ('--sampler', 'labor', '--batch-dependency', 2), ('--dropout', .5),
                ('--clip', .05, '--weight-decay', '1e-2,0', '--schedule', 'cosine'),
                ('--optimizer', 'sgd', '--lr', .1), ('--layers', 3, '--fanout', '2,all,3'),
                ('--arch', 'gin', '--layers', 3, '--fanout', '3,2,2', '--optimizer', 'sgd'),
                ('--pipeline', 'off', '--orchestration', 'step-cpu'),
                ('--orchestration', 'layer'), ('--arch', 'gin', '--orchestration', 'layer'),
                ('--orchestration', 'layer', '--reuse', 'aggregates', '--super-batch', 3),
                ('--arch', 'gcn', '--orchestration', 'layer', '--reuse', 'aggregates',
                 '--hot-policy', 'degree'),
                ('--bottom', 'precomputed'), ('--arch', 'gin', '--bottom', 'precomputed'),
                ('--batch-size', 2), ('--layers', 1, '--fanout', 3))):
            if SANITIZED and i % 4 != 1:
                continue
            self.compare((3 - i % 2,), *args, *(('--epochs', 1) if '--batch-size' in args else ()))

    def test_many_labels_narrow_features_and_edge_weights(self):
        folder = self.path('cells')
        os.makedirs(folder)
        draw = np.random.default_rng(1)
        np.save(os.path.join(folder, 'edges.npy'), draw.integers(0, 800, (2, 6000)))
        np.save(os.path.join(folder, 'weight.npy'), draw.random(6000, np.float32) + .1)
        np.save(os.path.join(folder, 'feat.npy'),
                draw.standard_normal((800, 20)).astype(np.float16))
        np.save(os.path.join(folder, 'label.npy'), draw.integers(0, 2, (800, 4), np.uint8))
        np.save(os.path.join(folder, 'train_idx.npy'), np.arange(0, 800, 2))
        np.save(os.path.join(folder, 'valid_idx.npy'), np.arange(1, 800, 4))
        run('import', folder, self.path('cells.h5'))
        for arch in ('sage', 'gcn'):
            self.compare((3,), '--arch', arch, store=self.path('cells.h5'))

    def test_counts_are_those_of_all_ranks(self):
        one = self.train(0, 'one', '--fanout', 'all', '--batch-size', 601)
        many = self.train(2, 'many', '--fanout', 'all', '--batch-size', 601)
        for a, b in zip(one['epochs'], many['epochs']):
            # Both halves of the seeds need most of the graph.
            self.assertGreater(b['input_vertices'], a['input_vertices'])
            self.assertLessEqual(b['input_vertices'], 2 * a['input_vertices'])

    def test_ranks_of_a_host_hold_features_once(self):
        store = self.path('wide.h5')
        run('generate', 'sbm', store, '--vertices', 16000, '--edge-factor', 4, '--feat-dim', 512,
            '--train-count', 300)
        words = ('--batch-size', 50, '--epochs', 1, '--log', 'info', '--threads', 1)
        for ranks, budget, outside in ((1, '44M', True), (2, '44M', False), (2, '30M', True)):
            with self.subTest(ranks=ranks, budget=budget):
                p = finish(launch(ranks, *self.words('w', *words, '--host-memory', budget,
                                                     store=store)))
                self.assertEqual(p.returncode, 0, p.stderr)
                self.assertEqual('stay in the store' in p.stderr, outside, p.stderr)
                self.assertNotIn('holds a copy', p.stderr)
                if ranks == 2:
                    last = read(self.path('w.last.safetensors'))
                    self.assertEqual(last, getattr(self, 'inside', last))
                    self.inside = last

    def test_equal_bits_at_one_number_of_ranks(self):
        cells = ('gin', 3), ('gat', 2), ('gcn', 2), ('sage', 3)
        for arch, ranks in cells[:2] if SANITIZED else cells:
            with self.subTest(arch=arch):
                a = self.train(ranks, 'a', '--arch', arch, '--threads', 1, '--pipeline', 'off')
                b = self.train(ranks, 'b', '--arch', arch, '--threads', 5)
                self.assertEqual(self.models('a'), self.models('b'))
                self.assertEqual([e['loss'] for e in a['epochs']],
                                 [e['loss'] for e in b['epochs']])

    def test_auto_takes_one_way_for_all(self):
        """The rank that is slow in two of three ways decides."""
        p = finish(launch(2, *self.words('a', '--reuse', 'auto', '--epochs', 1),
                          apart={1: ('--faults', 'rows:slow%1,bottom:slow@1-8')}))
        self.assertEqual(p.returncode, 0, p.stderr)
        self.assertEqual(json.loads(p.stdout)['reuse'], 'aggregates')
        self.train(2, 'b', '--orchestration', 'layer', '--reuse', 'aggregates', '--epochs', 1)
        self.assertEqual(self.models('a'), self.models('b'))

    def test_patience_ends_it_for_all(self):
        report = self.train(3, 'p', '--patience', 2, '--epochs', 60, '--lr', 0.05)
        self.assertTrue(report['stopped_early'])
        self.assertEqual(len(report['epochs']), report['best_epoch'] + 2)

    def goes_on(self, name, whole, *args, ranks=3):
        """--resume ends with the bits of a run that nobody disturbed."""
        self.train(ranks, name, '--resume', *args)
        self.assertEqual(self.models(name), whole)

    def test_goes_on_with_as_many_ranks_and_with_no_others(self):
        self.train(3, 'whole', *SIX)
        points = 'step@20', 'checkpoint@1', 'step@4', 'step@27'
        for i, point in enumerate(points[:2] if SANITIZED else points):
            with self.subTest(point=point):
                fault = {0 if 'check' in point else i % 3: ('--faults', f'crash:{point}')}
                words = self.words('k', *SIX)
                p = finish(launch(3, *words, apart=fault))
                self.assertNotEqual(p.returncode, 0)
                self.assertFalse(os.path.exists(self.path('k.safetensors')))
                self.goes_on('k', self.models('whole'), *SIX)
                self.remove('k')
        p = finish(launch(3, *self.words('k', *SIX),
                          apart={1: ('--faults', 'crash:step@20')}))
        self.assertNotEqual(p.returncode, 0)
        for ranks in (2,) if SANITIZED else (1, 2, 4):
            with self.subTest(ranks=ranks):
                p = finish(launch(ranks, *self.words('k', *SIX), '--resume'))
                self.assertEqual(p.returncode, 78, p.stderr)
                self.assertEqual(len(said(p)), 1, p.stderr)
                self.assertIn(f'ranks of 3, found {ranks}: resume with as many', p.stderr)
        self.goes_on('k', self.models('whole'), *SIX)
        self.remove('k')

    def stopped(self, p, whole):
        """What is there after a signal goes on to the end."""
        self.assertEqual(p.returncode, 75, p.stderr)
        self.assertEqual(len(said(p)), 1, p.stderr)
        self.assertFalse(os.path.exists(self.path('s.safetensors')))
        self.goes_on('s', whole, *LONG)
        self.assertEqual(os.listdir(self.path('s.safetensors.ckpt')), ['state.safetensors'])
        self.remove('s')

    def test_a_signal_at_any_rank_stops_all_behind_one_step(self):
        """17: the next step is of one seed, so that two ranks begin anew with none."""
        self.train(3, 'whole', *LONG)
        whole, words = self.models('whole'), self.words('s', *LONG)
        cells = (1, 17), (2, 18), (0, 1), (0, 19), (1, 94)
        for rank, step in cells[:2] if SANITIZED else cells:
            with self.subTest(rank=rank, step=step):
                fault = {rank: ('--faults', f'signal:step@{step}')}
                self.stopped(finish(launch(3, *words, apart=fault)), whole)
        long = self.words('s', *LONG, '--epochs', 4000)
        p = disturb(self, launch(3, *long), 3, signal.SIGTERM, 2, 0.2)
        self.assertEqual(p.returncode, 75, p.stderr)
        self.remove('s')

    def test_silent_rank(self):
        for rank in (2,) if SANITIZED else (0, 2):
            p = disturb(self, launch(3, *self.words('q', *LONG, '--epochs', 4000,
                                                    '--peer-timeout', 2)), 3,
                        signal.SIGSTOP, rank, 0.3)
            self.assertEqual(p.returncode, 74, p.stderr)
            self.assertLess(p.took, 2 + 10)
            self.assertEqual(len(said(p)), 1, p.stderr)
            self.assertIn(f'gnnrun: rank {rank} on ', p.stderr)
            self.assertRegex(p.stderr, 'training|evaluation|loading')
            self.remove('q')

    def test_one_rank_fails(self):
        """Wherever it is: all end, one of them says which and why."""
        for rule, codes, extra in (('alloc:fail', {71}, ('--arch', 'gin')),
                                   ('open:eio', {66, 73, 74}, ()), ('read:eio', {65, 74}, ()),
                                   ('write:eio', {73, 74}, ())):
            n, failures, passes = 1, 0, 0
            while n < 30000 and passes < (1 if SANITIZED else 2):
                rank = 0 if rule == 'write:eio' else n % 3
                p = finish(launch(3, *self.words('f', *extra),
                                  apart={rank: ('--faults', f'{rule}@{n}')}))
                with self.subTest(rule=rule, n=n, rank=rank):
                    self.assertIn(p.returncode, {0} | codes, p.stderr)
                    self.assertLess(p.took, 30)
                    passes += p.returncode == 0
                    if p.returncode != 0:
                        failures += 1
                        self.assertEqual(len(said(p)), 1, p.stderr)
                        if rank > 0:
                            self.assertIn(f'gnnrun: rank {rank} on ', p.stderr)
                n += 1 + (3 * n if SANITIZED else n)
                self.remove('f')
            self.assertGreater(failures, 1, rule)

    def test_a_loss_that_is_no_number(self):
        p = finish(launch(3, *self.words('n', '--optimizer', 'sgd', '--lr', 1e6)))
        self.assertEqual(p.returncode, 65, p.stderr)
        self.assertEqual(len(said(p)), 1, p.stderr)

    def test_other_options_and_other_stores(self):
        for option, apart in (('--lr', {1: ('--lr', .5)}), ('--batch-size', {0: (
                '--batch-size', 7)}), ('--resume', {2: ('--resume',)})):
            p = finish(launch(3, *self.words('o'), apart=apart))
            self.assertEqual(p.returncode, 78, p.stderr)
            self.assertEqual(len(said(p)), 1, p.stderr)
            self.assertIn(f'another {option} than rank 0', p.stderr)
        other = self.path('other.h5')
        run('generate', 'sbm', other, *self.SBM, '--seed', 5)
        for store, code, text in ((self.path('none.h5'), 66, 'none.h5'), (other, 78, 'rank 1 ')):
            p = finish([*MPIRUN, '-np', '1', PROGRAM, *map(str, self.words('o')), ':', '-np', '1',
                        PROGRAM, *map(str, self.words('o', store=store))])
            self.assertEqual(p.returncode, code, p.stderr)
            self.assertIn(text, p.stderr)
            self.assertEqual(len(said(p)), 1, p.stderr)

    def test_refused(self):
        for args, text in ((('--backend', 'cuda', '--arch', 'gin'), 'runs as one rank'),
                           (('--orchestration', 'layer', '--reuse', 'embeddings'),
                            '--reuse embeddings'), (('--host-memory', '1M'), 'memory')):
            p = finish(launch(2, *self.words('r', *args)))
            self.assertIn(p.returncode, (71, 78), p.stderr)
            self.assertIn(text, p.stderr)
            self.assertEqual(len(said(p)), 1, p.stderr)


if __name__ == '__main__':
    sys.argv[1:] = sys.argv[2:]
    unittest.main()
