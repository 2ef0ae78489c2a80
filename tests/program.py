"""What the script tests share: running the program, refusals, safetensors files, skipping."""
import itertools
import json
import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.realpath(sys.argv[1]) if len(sys.argv) > 1 else None
# A build with a sanitizer is slow, and its memory is not ours.
with open(PROGRAM or os.devnull, 'rb') as _program:
    _bytes = _program.read()
SANITIZED = b'__asan_init' in _bytes or b'__tsan_init' in _bytes
del _program, _bytes
SHARED = os.environ.get('GNN_SHARED') or os.path.join(
    os.path.dirname(os.path.realpath(__file__)), '..', '..', 'shared')


_turn = itertools.count()


def share(items, every=3):
    """All items; where a sanitizer makes each of them slow, a third, the next call another one."""
    items = list(items)
    return items[next(_turn) % every::every] if SANITIZED and len(items) >= every else items


def skip(reason):
    print('skipped:', reason)
    sys.exit(77)


def numpy_or_skip():
    try:
        import h5py  # noqa: F401
        import numpy
    except ImportError as e:
        skip(f'{e.name} is missing')
    return numpy


def start(*args, **kwargs):
    return subprocess.run([PROGRAM, *map(str, args)], capture_output=True, text=True,
                          timeout=600, **kwargs)


def run(*args, **kwargs):
    """Runs the program, which must succeed; its stdout."""
    p = start(*args, **kwargs)
    if p.returncode != 0:
        raise AssertionError(f'gnnrun {" ".join(map(str, args))}: exit {p.returncode}\n{p.stderr}')
    return p.stdout


def run_fails(test, code, text, *args, **kwargs):
    """Runs the program, which must end with `code` and say `text`; its stderr."""
    p = start(*args, **kwargs)
    test.assertEqual(p.returncode, code, f'gnnrun {" ".join(map(str, args))}\n{p.stderr}')
    test.assertIn(text, p.stderr)
    return p.stderr


def write_safetensors(path, tensors, metadata):
    """A file of float32 tensors {name: array} with string metadata."""
    header, at = {'__metadata__': metadata}, 0
    for name, t in tensors.items():
        header[name] = {'dtype': 'F32', 'shape': list(t.shape), 'data_offsets': [at, at + t.nbytes]}
        at += t.nbytes
    text = json.dumps(header).encode()
    text += b' ' * (-len(text) % 8)
    with open(path, 'wb') as f:
        f.write(len(text).to_bytes(8, 'little') + text)
        for t in tensors.values():
            f.write(t.tobytes())


def read(path):
    with open(path, 'rb') as f:
        return f.read()


class FolderCase(unittest.TestCase):
    """A folder for the files of all tests of a class."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.dir = cls.folder.name

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def path(cls, name):
        return os.path.join(cls.dir, name)


class ModelsCase(FolderCase):
    """And models of every architecture, for graphs of 20 features: gcn.st, sage.st, ..."""

    ARCHES = {'gcn': '20,16,9', 'sage': '20,4,9', 'gin': '20,16,9', 'gat': '20,8,9'}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for arch, dims in cls.ARCHES.items():
            run('model', '--seeded', arch, '--dims', dims, '--out', cls.path(f'{arch}.st'))


class TrainCase(FolderCase):
    """A folder with a small graph that can be learnt."""

    SBM = ('--vertices', 1500, '--edge-factor', 12, '--feat-dim', 24, '--classes', 5,
           '--train-count', 600)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.store = cls.make('sbm')

    @classmethod
    def make(cls, name, *args):
        """A store of its own folder."""
        path = os.path.join(cls.dir, name, 'g.h5')
        os.makedirs(os.path.dirname(path))
        run('generate', 'sbm', path, *cls.SBM, *args)
        return path
