#!/usr/bin/env python3
"""The n-th operation fails, for every n until a run passes: import and infer keep their promises.

usage: fault_test.py GNNRUN [Fault.test_name ...]

A failed run ends with its own exit code and one message, leaves nothing under the final name and
no temporary file, and an old result as it was. A fault that must not matter (a short read, EINTR)
gives equal bits. The build with sanitizers also finds what a failed run does not give back.
"""
import contextlib
import os
import subprocess
import sys
import tempfile
import unittest

from program import SANITIZED, numpy_or_skip, run, start, write_safetensors

np = numpy_or_skip()


@contextlib.contextmanager
def small_disk(test, folder, kib):
    """A tmpfs of so many KiB on `folder`; skips the test where none can be mounted."""
    mount = subprocess.run(['mount', '-t', 'tmpfs', '-o', f'size={kib}K', 'tmpfs', folder],
                           capture_output=True, check=False)
    if mount.returncode != 0:
        test.skipTest('a small tmpfs cannot be mounted here')
    try:
        yield
    finally:
        # Lazily: the kernel holds the files of a ring for a moment after its process.
        subprocess.run(['umount', '--lazy', folder], check=True)


class Fault(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        random = np.random.default_rng(1)
        v = 700
        os.mkdir(self.path('in'))
        with open(self.path('in/edges.txt'), 'w') as f:
            f.writelines(f'{a} {b}\n' for a, b in random.integers(0, v, (3000, 2)))
        np.save(self.path('in/feat.npy'), random.normal(size=(v, 12)).astype(np.float32))
        np.save(self.path('in/label.npy'), random.integers(0, 3, v))
        np.save(self.path('in/train_idx.npy'), np.arange(100))
        tensors = {}
        for layer, (a, b) in enumerate(((12, 8), (8, 3))):
            tensors[f'convs.{layer}.lin.weight'] = random.normal(size=(b, a)).astype(np.float32)
            tensors[f'convs.{layer}.bias'] = random.normal(size=b).astype(np.float32)
        write_safetensors(self.path('m.safetensors'), tensors, {'gnnrun.library': 'pyg'})
        self.importing = ('import', self.path('in'), self.path('g.h5'))
        self.inferring = ('infer', self.path('g.h5'), '--model', self.path('m.safetensors'),
                          '--out', self.path('e.h5'), '--predict', '--save-layers')
        self.reordering = ('reorder', self.path('g.h5'), self.path('o.h5'))

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def bytes_of(self, name):
        with open(self.path(name), 'rb') as f:
            return f.read()

    def loop(self, command, output, rule, codes, text=(), step=1):
        """Runs `command` with rule@1, rule@2 ... until it succeeds; returns how many failed."""
        kept = set(os.listdir(self.folder.name))
        n = failures = 0
        while True:
            # Every n at first; later ones are many of a kind. A sanitizer, which is slow to
            # start, is there for what refused memory leaves behind.
            n += step + n // (20 if SANITIZED and rule != 'alloc:fail' else 50)
            p = start(*command, '--faults', f'{rule}@{n}')
            where = f'{" ".join(command)} --faults {rule}@{n}\n{p.stderr}'
            if p.returncode == 0:
                break
            failures += 1
            self.assertIn(p.returncode, codes, where)
            self.assertIn('gnnrun: ', p.stderr, where)
            for t in text:
                self.assertIn(t, p.stderr, where)
            left = set(os.listdir(self.folder.name)) - kept
            if 'is complete' in p.stderr:  # only the folder's fsync failed, after the rename
                left.discard(output)
                os.remove(self.path(output))
            if '--resume goes on' in p.stderr:  # and what it goes on with is all that is left
                self.assertIn(f'{output}.ranks', left, where)
                for name in left & {f'{output}.{x}' for x in ('ranks', 'at', 'features')}:
                    left.discard(name)
                    os.remove(self.path(name))
            self.assertEqual(left, set(), where)
            self.assertLess(n, 100000, where)
        self.assertTrue(os.path.exists(self.path(output)))
        os.remove(self.path(output))
        return failures

    def test_allocations(self):
        self.assertGreater(self.loop(self.importing, 'g.h5', 'alloc:fail', {71}), 50)
        run(*self.importing)
        self.assertGreater(self.loop(self.inferring, 'e.h5', 'alloc:fail', {71}), 50)

    def test_reading_and_writing(self):
        for rule, codes in (('read:eio', {74}), ('write:enospc', {74}), ('write:eio', {74}),
                            ('fsync:eio', {74}), ('rename:eio', {73, 74}),
                            ('open:eio', {66, 73, 74})):
            with self.subTest(rule=rule):
                failures = self.loop(self.importing, 'g.h5', rule, codes)
                self.assertGreater(failures, 0)
                run(*self.importing)
                self.assertGreater(self.loop(self.inferring, 'e.h5', rule, codes), 0)
                os.remove(self.path('g.h5'))

    def test_reordering(self):
        """In memory, and with rows, lists and edges that do not fit."""
        run('generate', 'rmat', self.path('g.h5'), '--scale', 9, '--feat-dim', 1000)
        little = *self.reordering, '--host-memory', '4M'
        for command, rule, code, step in ((self.reordering, 'alloc:fail', 71, 1),
                                          (little, 'alloc:fail', 71, 5),
                                          (little, 'read:eof', 65, 7),
                                          (little, 'write:enospc', 74, 11)):
            with self.subTest(rule=rule):
                self.assertGreater(self.loop(command, 'o.h5', rule, {code}, step=step), 0)

    def test_inference_from_another_order(self):
        run(*self.importing)
        run('reorder', self.path('g.h5'), self.path('r.h5'), '--order', 'random')
        inferring = ('infer', self.path('r.h5'), *self.inferring[2:])
        for rule, code in ('alloc:fail', 71), ('read:eof', 65):
            with self.subTest(rule=rule):
                self.assertGreater(self.loop(inferring, 'e.h5', rule, {code}), 0)

    def test_a_file_that_ends_early(self):
        run(*self.importing)
        self.assertGreater(self.loop(self.inferring, 'e.h5', 'read:eof', {65}), 0)

    def test_an_old_result_stays(self):
        run(*self.importing)
        run(*self.inferring)
        old = self.bytes_of('e.h5')
        for rule in ('write:enospc@1', 'fsync:eio@1', 'rename:eio@1', 'read:eio@5'):
            p = start(*self.inferring, '--faults', rule)
            self.assertNotEqual(p.returncode, 0, rule)
            self.assertEqual(self.bytes_of('e.h5'), old, rule)

    def test_what_must_not_matter(self):
        run(*self.importing)
        run(*self.inferring)
        run('export', self.path('e.h5'), self.path('e.npy'))
        want = self.bytes_of('e.npy')
        for rule in ('read:short%2', 'read:eintr%3', 'read:eagain%3', 'ring:eperm%1',
                     'ring:enosys%1', 'ring:enomem%1', 'write:short%2',
                     'read:short%3=7'):
            for engine in ('auto', 'pread'):
                with self.subTest(rule=rule, engine=engine):
                    os.remove(self.path('e.h5'))
                    run(*self.inferring, '--io', engine, '--faults', rule)
                    run('export', self.path('e.h5'), self.path('e.npy'))
                    self.assertEqual(self.bytes_of('e.npy'), want)

    def test_plans_that_use_scratch(self):
        """What fails in the middle is said, and --resume goes on to equal bits."""
        run(*self.importing)
        run(*self.inferring)
        run('export', self.path('e.h5'), self.path('e.npy'))
        want, failed = self.bytes_of('e.npy'), 0
        for plan in (('partitioned', '--shards', '2'), ('tiered', '--hot-store', 'min')):
            command = (*self.inferring, '--plan', *plan, '--chunk-bytes', '1')
            for rule, code in (('read:eio', 74), ('read:eof', 65), ('write:enospc', 74)):
                n = 1
                while True:
                    os.remove(self.path('e.h5'))
                    p = start(*command, '--faults', f'{rule}@{n}')
                    with self.subTest(plan=plan[0], rule=rule, n=n):
                        if p.returncode != 0:
                            failed += 1
                            self.assertEqual(p.returncode, code, p.stderr)
                            self.assertFalse(os.path.exists(self.path('e.h5')))
                            run(*command, '--resume')
                        run('export', self.path('e.h5'), self.path('e.npy'))
                        self.assertEqual(self.bytes_of('e.npy'), want)
                    if p.returncode == 0:
                        break
                    n *= 12 if SANITIZED else 3
            for rule in ('read:short%2', 'read:eagain%3', 'write:short%2'):
                run(*command, '--faults', rule)
                run('export', self.path('e.h5'), self.path('e.npy'))
                self.assertEqual(self.bytes_of('e.npy'), want, f'{plan} {rule}')
        self.assertGreater(failed, 6)

    def test_room_for_the_output_is_enough(self):
        """A disk that takes the output and little else; with half of it, nothing is left."""
        small = self.path('small')
        os.mkdir(small)
        run('generate', 'sbm', self.path('g.h5'), '--scale', 13, '--feat-dim', 64)
        run('model', '--seeded', 'gcn', '--dims', '64,64,96', '--out', self.path('m.st'))
        run('export', self.path('g.h5'), self.path('f.npy'), '--dataset', 'features')
        infer = 'infer', self.path('g.h5'), '--model', self.path('m.st'), '--out'
        commands = (
            (*infer, 'OUT'), (*infer, 'OUT', '--plan', 'partitioned', '--shards', 3),
            (*infer, 'OUT', '--plan', 'tiered', '--hot-store', '1M'),
            ('import', self.path('in/edges.txt'), 'OUT', '--features', self.path('f.npy')),
            ('generate', 'rmat', 'OUT', '--scale', 13, '--feat-dim', 64),
            ('reorder', self.path('g.h5'), 'OUT', '--order', 'rcm'),
            ('export', self.path('g.h5'), 'OUT', '--dataset', 'features'),
        )
        for command in commands:
            def to(path):
                words = [path if w == 'OUT' else w for w in command]
                # Scratch is asked for where it is, not where the output is.
                return words if words[0] == 'export' else [*words, '--scratch', self.folder.name]
            run(*to(self.path('out')))
            size = os.path.getsize(self.path('out')) >> 10
            os.remove(self.path('out'))
            # What reorder needs to go on lies in the scratch folder, probes beside the output.
            for kib, code in ((size + 200, 0), (size // 2, 74)):
                with self.subTest(command=command[0], plan=command[-1], kib=kib), \
                        small_disk(self, small, kib):
                    p = start(*to(os.path.join(small, 'out')))
                    self.assertEqual(p.returncode, code, p.stderr)
                    self.assertEqual(os.listdir(small), ['out'] if code == 0 else [])

    def test_a_forced_engine_that_is_missing(self):
        run(*self.importing)
        p = start(*self.inferring, '--io', 'uring', '--faults', 'ring:eperm%1')
        self.assertEqual(p.returncode, 69, p.stderr)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
