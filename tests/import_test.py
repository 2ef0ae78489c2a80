#!/usr/bin/env python3
"""Import by the whole program: real graphs, every way to write one, and what is refused.

usage: import_test.py GNNRUN
"""
import gzip
import json
import os
import sys
import tempfile
import unittest

from program import SANITIZED, SHARED, numpy_or_skip, run, run_fails, start

np = numpy_or_skip()
import h5py  # noqa: E402  (after the check)

try:
    import scipy.sparse as sparse
except ImportError:
    sparse = None

DATA = os.path.join(SHARED, 'data')


def csr(a, b, w, v):
    """offsets, neighbours and weights of the rows `a`; neighbours ascend, equal ones keep order."""
    order = np.lexsort((np.arange(len(a)), b, a))
    offsets = np.r_[0, np.cumsum(np.bincount(a, minlength=v))]
    return offsets, b[order], None if w is None else w[order]


def topology(src, dst, v=None, w=None, undirected=False, dedup=False):
    """What a store must hold of these edges: {dataset: array}."""
    src, dst = np.asarray(src, np.int64), np.asarray(dst, np.int64)
    v = max(v or 0, int(max(src.max(initial=-1), dst.max(initial=-1))) + 1)
    if undirected:  # each reverse right behind its edge
        keep = np.stack([np.ones(len(src), bool), src != dst], 1).ravel()
        src, dst = np.stack([src, dst], 1).ravel()[keep], np.stack([dst, src], 1).ravel()[keep]
        w = None if w is None else np.repeat(w, 2)[keep]
    if dedup:
        _, first = np.unique(src * v + dst, return_index=True)
        first.sort()
        src, dst, w = src[first], dst[first], None if w is None else w[first]
    want = {}
    for name, a, b in (('out', src, dst), ('in', dst, src)):
        offsets, neighbors, weights = csr(a, b, w, v)
        want[f'topology/{name}/offsets'] = offsets
        want[f'topology/{name}/neighbors'] = neighbors
        if w is not None:
            want[f'topology/{name}/weights'] = weights.astype(np.float32)
    loops = np.bincount(src[src == dst], minlength=v)
    if loops.any():
        want['topology/self_loops'] = loops
    return want


def stored(path):
    with h5py.File(path) as f:
        names = []
        f.visititems(lambda n, o: names.append(n) if isinstance(o, h5py.Dataset) and
                     not n.startswith('checksum') else None)
        return {n: f[n][()] for n in names}, dict(f.attrs)


def content(path):
    with open(path, 'rb') as f:
        return f.read()


class ImportTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def write(self, name, content):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if isinstance(content, np.ndarray):
            np.save(path, content) if path.endswith('.npy') else np.savez(path, content)
        else:
            with open(path, 'wb') as f:
                f.write(content.encode() if isinstance(content, str) else content)
        return path

    def load(self, source, *options):
        """The report, the arrays and the attributes of an import, whose sums are right too."""
        store = self.path('store.h5')
        report = json.loads(run('import', source, store, '--json', *options))
        arrays, attrs = stored(store)
        run('info', store, '--verify')
        os.remove(store)
        return report, arrays, attrs

    def same(self, arrays, want):
        self.assertEqual(sorted(arrays), sorted(want))
        for name in want:
            np.testing.assert_array_equal(arrays[name], want[name], name)

    def refuse(self, code, text, source, *options):
        """Refused, with nothing left behind."""
        before = sorted(os.listdir(self.folder.name))
        err = run_fails(self, code, text, 'import', source, self.path('bad.h5'), *options)
        self.assertEqual(sorted(os.listdir(self.folder.name)), before, err)
        return err


class RealGraphs(ImportTest):
    TABLE = {  # V, E, dim, dtype, classes, split
        'cora': (2708, 10556, 1433, np.uint8, 7, (140, 500, 1000)),
        'citeseer': (3327, 9104, 3703, np.uint8, 6, (120, 500, 1000)),
        'amazon_photo': (7650, 238162, 745, np.uint8, 8, (4590, 1530, 1530)),
        'tolokers': (11758, 519000, 10, np.float32, 2, (5879, 2939, 2940)),
    }
    ISOLATED = {'citeseer': 48, 'amazon_photo': 115}

    def setUp(self):
        super().setUp()
        if not os.path.isdir(DATA):
            self.skipTest(f'no real graphs in {DATA}')

    def part(self, folder, name):
        path = os.path.join(DATA, folder, name)
        if os.path.exists(path + '.npy'):
            return np.load(path + '.npy')
        return np.load(path + '.npz')[name]

    def test_folders(self):
        for folder, (v, e, dim, dtype, classes, split) in self.TABLE.items():
            with self.subTest(folder):
                report, arrays, attrs = self.load(os.path.join(DATA, folder))
                want = topology(*self.part(folder, 'edges'), v)
                want['features'] = self.part(folder, 'feat')
                want['labels'] = self.part(folder, 'label')
                for name in ('train', 'valid', 'test'):
                    want[f'split/{name}'] = self.part(folder, f'{name}_idx')
                self.same(arrays, want)
                self.assertEqual(arrays['features'].dtype, dtype)
                self.assertEqual(arrays['topology/out/neighbors'].dtype, np.uint32)
                self.assertEqual((attrs['vertices'], attrs['edges']), (v, e))
                self.assertEqual((report['vertices'], report['edges'], report['feature_dim'],
                                  report['classes']), (v, e, dim, classes))
                self.assertEqual(tuple(report['splits'].values()), split)
                self.assertEqual(report['isolated'], self.ISOLATED.get(folder, 0))
                self.assertEqual(report['unlabelled'], 15 if folder == 'citeseer' else 0)
                self.assertEqual(report['warnings'], [])

    def test_undirected_tolokers(self):
        _, arrays, _ = self.load(os.path.join(DATA, 'tolokers'), '--undirected')
        want = topology(*self.part('tolokers', 'edges'), 11758, undirected=True)
        for name, array in want.items():
            np.testing.assert_array_equal(arrays[name], array, name)

    def test_wiki_vote(self):
        path = os.path.join(DATA, 'wiki_vote', 'wiki-Vote.txt')
        report, arrays, _ = self.load(path, '--remap')
        ids, rows = np.unique(np.loadtxt(path, dtype=np.int64), return_inverse=True)
        rows = rows.reshape(-1, 2)
        want = topology(rows[:, 0], rows[:, 1])
        want['order/external_id'] = ids
        self.same(arrays, want)
        self.assertEqual((report['vertices'], report['edges']), (7115, 103689))
        self.assertEqual((report['max_in_degree'], report['max_out_degree']), (457, 893))
        self.assertEqual((report['lines'], report['comment_lines']), (103692, 3))

    def test_email(self):
        folder = os.path.join(DATA, 'email_eu_core')
        labels = os.path.join(folder, 'email-Eu-core-department-labels.txt')
        report, arrays, _ = self.load(os.path.join(folder, 'email-Eu-core.txt'), '--labels', labels)
        want = topology(*np.loadtxt(os.path.join(folder, 'email-Eu-core.txt'), dtype=np.int64).T)
        ids, classes = np.loadtxt(labels, dtype=np.int64).T
        want['labels'] = np.empty_like(classes)
        want['labels'][ids] = classes
        self.same(arrays, want)
        self.assertEqual((report['vertices'], report['edges'], report['self_loops'],
                          report['classes']), (1005, 25571, 642, 42))


class Edges(ImportTest):
    def random(self, v=50, e=400):
        r = np.random.default_rng(7)
        return r.integers(0, v, e), r.integers(0, v, e)

    def test_every_way_to_write_text(self):
        src, dst = self.random()
        lines = [f'{a} {b}' for a, b in zip(src, dst)]
        ways = {
            'lf': '\n'.join(lines) + '\n', 'open end': '\n'.join(lines),
            'crlf': '\r\n'.join(lines), 'tabs': '\n'.join(lines).replace(' ', '\t'),
            'commas': '\n'.join(lines).replace(' ', ','),
            'mixed': '\n'.join(l.replace(' ', (' \t', ', ', '   ', '\t,\t')[i % 4])
                               for i, l in enumerate(lines)),
            'comments': '# Nodes: 50 Edges: 400\n% x\n\n' + '\n# y\n\n'.join(lines) + '\n  \n',
        }
        want = topology(src, dst, 50)
        for name, text in ways.items():
            for packed in (False, True)[:1 + (name in ('crlf', 'comments'))]:
                with self.subTest(name, gzip=packed):
                    data = text.encode()
                    if packed:
                        data = gzip.compress(data[:77]) + gzip.compress(data[77:])
                    path = self.write('e.txt' + '.gz' * packed, data)
                    report, arrays, _ = self.load(path)
                    self.same(arrays, want)
                    self.assertEqual(report['edges_read'], 400)
                    self.assertEqual(report['warnings'], [])

    def test_arrays(self):
        src, dst = self.random()
        want = topology(src, dst, 50)
        both = np.stack([src, dst])
        for dtype in ('u1', '<i4', '>i8'):
            for shape in (both, both.T):
                for order in 'CF':
                    path = self.write('e.npy', np.array(shape, dtype, order=order))
                    self.same(self.load(path)[1], want)
        np.savez_compressed(self.path('e.npz'), edge_index=both)
        self.same(self.load(self.path('e.npz'))[1], want)

    def test_rules_of_the_graph(self):
        src, dst = self.random(20)
        text = self.write('e.txt', '\n'.join(f'{a} {b}' for a, b in zip(src, dst)))
        for undirected in (False, True):
            for dedup in (False, True):
                options = ['--undirected'] * undirected + ['--dedup'] * dedup
                report, arrays, _ = self.load(text, *options, '--vertices', 30)
                want = topology(src, dst, 30, undirected=undirected, dedup=dedup)
                self.same(arrays, want)
                self.assertEqual(report['vertices'], 30)
                self.assertEqual(report['isolated'], 10)

    def test_edges_that_are_missing(self):
        src, dst = self.random(20)
        text = self.write('e.txt', '\n'.join(f'{a} {b}' for a, b in zip(src, dst)))
        array = self.write('e.npy', np.stack([src, dst]))
        for source in text, array:  # those that are listed, whatever becomes of them
            self.load(source, '--expect-edges', 400, '--undirected', '--dedup')
            self.refuse(65, '400 edges found, --expect-edges is 401: some are missing', source,
                        '--expect-edges', 401)
            self.refuse(65, '400 edges found, --expect-edges is 399: there are more', source,
                        '--expect-edges', 399)

    def test_weights_from_three_places(self):
        src, dst = self.random(20)
        w = np.random.default_rng(1).normal(size=400).astype(np.float32)
        want = topology(src, dst, w=w)
        text = self.write('e.txt', '\n'.join(f'{a} {b} {c!r}' for a, b, c in
                                             zip(src, dst, map(float, w))))
        self.same(self.load(text, '--weight-column', 3)[1], want)
        plain = self.write('p.txt', '\n'.join(f'{a} {b}' for a, b in zip(src, dst)))
        self.same(self.load(plain, '--weights', self.write('w.npy', w))[1], want)
        self.write('d/edges.npy', np.stack([src, dst]))
        self.write('d/weight.npy', w.astype(np.float64)[:, None])
        self.same(self.load(self.path('d'))[1], want)
        self.same(self.load(self.path('d'), '--undirected', '--dedup')[1],
                  topology(src, dst, w=w, undirected=True, dedup=True))
        self.refuse(65, '399 weights', plain, '--weights', self.write('w.npy', w[1:]))
        self.refuse(65, '401 weights for 400 edges', plain, '--weights',
                    self.write('w.npy', np.r_[w, w[:1]]))
        self.refuse(64, 'two places', text, '--weight-column', 3, '--weights', self.path('w.npy'))

    def test_remap_maps_labels_and_splits(self):
        self.write('d/edges.txt', '100 7\n7 2000000000000\n100 30\n')  # rows 30 100: 7 30 100 2e12
        self.write('d/label.txt', '2000000000000 5\n7 1\n')
        self.write('d/train_idx.txt', '100\n7\n')
        self.write('d/valid_idx.npy', np.array([30], np.int32))
        self.write('d/test_idx.npy', np.array([False, False, False, True]))
        self.write('d/feat.npy', np.eye(4, dtype=np.float16))
        _, arrays, _ = self.load(self.path('d'), '--remap')
        want = topology([2, 0, 2], [0, 3, 1])
        want.update({'order/external_id': [7, 30, 100, 2000000000000], 'labels': [1, -1, -1, 5],
                     'split/train': [2, 0], 'split/valid': [1], 'split/test': [3],
                     'features': np.eye(4)})
        self.same(arrays, want)
        self.write('d/train_idx.txt', '100\n8\n')
        self.refuse(65, 'line 2: no edge has the vertex id 8', self.path('d'), '--remap')

    def test_warnings(self):
        for text, options, part in (
                ('# Nodes: 3 Edges: 4\n0 1\n1 2\n2 0', (), 'states 4 edges, 3 were read'),
                ('# Nodes: 9 Edges: 3\n0 1\n1 2\n2 0', (), 'states 9 vertices, 3 have edges'),
                ('% asym unweighted\n1 2\n', (), 'begin at 1'),
                ('% sym unweighted\n1 2\n', ('--remap',), '--undirected adds'),
                ('% asym positive\n1 2 9 8\n', ('--remap',), 'up to 2 further columns'),
                ('# none\n', ('--vertices', 3), 'no edges')):
            report, _, _ = self.load(self.write('e.txt', text), *options)
            self.assertEqual(len(report['warnings']), 1, report['warnings'])
            self.assertIn(part, report['warnings'][0])

    def test_text_is_refused_with_its_line(self):
        for text, options, part in (
                ('0 1\n0x10 2\n', (), "e.txt:2: '0x10'"), ('0 1\n1e3 2', (), "'1e3'"),
                ('0 1\n\n-1 2', (), "e.txt:3: '-1'"), ('+1 2', (), "'+1'"), ('1.0 2', (), "'1.0'"),
                ('NaN 2', (), "'NaN'"), ('1 ' + '9' * 21, (), "too large"), ('1,,2', (), 'empty'),
                ('1', (), 'one column'), ('2 0 # x', (), "'#' in column 3"),
                ('0 1 .5\n', (), '--weight-column 3'),
                ('0 1\n', ('--weight-column', 3), '2 columns'),
                ('% bip unweighted\n1 1\n', (), 'bipartite'),
                ('281474976710656 0\n', (), '--remap'),
                ('', (), 'without vertices'), ('# only\n', (), 'without vertices')):
            self.refuse(65, part, self.write('e.txt', text), *options)
        packed = gzip.compress(b'0 1\n' * 10000)
        self.refuse(65, 'ends early', self.write('e.gz', packed[:-9]))
        self.refuse(65, 'damaged', self.write('e.gz', packed[:40] + b'zzzz' + packed[44:]))
        self.refuse(65, 'not gzip', self.write('e.txt.gz', '0 1\n'))

    def test_arrays_are_refused_with_their_edge(self):
        for array, part in ((np.zeros((2, 3), 'f4'), 'found the element type <f4'),
                            (np.array([[0, 1], [2, -1]]), 'edge 1 has the destination -1'),
                            (np.zeros((3, 3), int), 'shape (3, 3)'),
                            (np.zeros((2, 3), complex), '<c16'), (np.zeros(4, int), 'shape (4)'),
                            (np.array([[0], [None]], object), '|O')):
            self.refuse(65, part, self.write('e.npy', array))
        whole = content(self.write('e.npy', np.zeros((2, 9), int)))
        self.refuse(65, 'cut short', self.write('e.npy', whole[:-8]))
        self.refuse(65, 'header', self.write('e.npy', whole[:60]))
        self.refuse(65, 'magic', self.write('e.npy', whole[1:]))
        self.refuse(65, 'cut short', self.write('e.npz', b'PK\3\4' + bytes(99)))


class Parts(ImportTest):
    def setUp(self):
        super().setUp()
        self.write('d/edges.npy', np.array([[0, 1, 2], [1, 2, 3]]))

    def features(self, array, want, *options, dtype=None):
        if isinstance(array, np.ndarray):
            array = self.write('d/feat.npy', array)
        _, arrays, _ = self.load(self.path('d'), *options)
        np.testing.assert_array_equal(arrays['features'], want)
        self.assertEqual(arrays['features'].dtype, dtype or want.dtype)
        if os.path.exists(self.path('d/feat.npy')):
            os.remove(self.path('d/feat.npy'))

    def test_features(self):
        x = np.arange(20).reshape(4, 5) * 0.5
        for dtype in (np.float32, np.float16):
            self.features(x.astype(dtype), x.astype(dtype))
            self.features(np.asfortranarray(x.astype(dtype)), x.astype(dtype))
            self.features(x.astype(dtype).astype('>' + np.dtype(dtype).str[1:]), x.astype(dtype))
        self.features(x > 3, (x > 3).astype(np.uint8))
        self.features(x.astype(np.uint8), x.astype(np.uint8))
        for dtype in ('f8', 'i1', 'i2', 'u2', 'i4', 'u4', 'i8', 'u8'):
            self.features(x.astype(dtype), x.astype(dtype).astype(np.float32))
        self.features(x[:, 0].copy(), x[:, :1].astype(np.float32))
        self.features(x / 3, (x / 3).astype(np.float32), '--feature-dtype', 'f32')
        self.features(x, x.astype(np.float16), '--feature-dtype', 'f16')
        nan = np.full((4, 2), np.nan, np.float32)
        nan[1] = np.inf
        self.write('d/feat.npy', nan)
        report, arrays, _ = self.load(self.path('d'))
        np.testing.assert_array_equal(arrays['features'], nan)
        self.assertEqual((report['feature_nan'], report['feature_inf']), (6, 2))
        self.assertIn('6 NaN and 2 infinite', report['warnings'][0])

    def test_features_of_other_kinds(self):
        x = np.arange(12, dtype=np.float32).reshape(4, 3)
        np.savez(self.path('d/feat.npz'), whatever=x)
        self.features(None, x)
        np.savez_compressed(self.path('d/feat.npz'), whatever=np.asfortranarray(x))
        self.features(None, x)
        if sparse is not None:
            for dtype, want in ((np.float64, np.float32), (np.uint8, np.uint8)):
                for packed in (False, True):
                    sparse.save_npz(self.path('d/feat.npz'), sparse.csr_matrix(x.astype(dtype)),
                                    compressed=packed)
                    self.features(None, x.astype(want))
            sparse.save_npz(self.path('d/feat.npz'), sparse.csc_matrix(x))
            self.refuse(65, 'tocsr()', self.path('d'))
        np.savez(self.path('d/feat.npz'), a=x, b=x)
        self.refuse(65, '2 arrays (a, b)', self.path('d'))
        os.remove(self.path('d/feat.npz'))
        self.write('d/feat.csv', '\n'.join(','.join(map(str, row)) for row in x.tolist()))
        self.features(None, x)
        os.remove(self.path('d/feat.csv'))
        raw = self.write('raw.npy', x.tobytes())
        shape = ('--features', raw, '--shape', '4x3')
        self.features(None, x, *shape, '--dtype', 'f32')
        self.refuse(65, '--shape', self.path('d'), '--features', raw)
        self.refuse(65, '48 bytes found, 96 wanted', self.path('d'), *shape, '--dtype', 'f64')
        self.refuse(64, '--dtype TYPE', self.path('d'), *shape)
        self.refuse(64, 'f33', self.path('d'), *shape, '--dtype', 'f33')
        self.refuse(64, '--shape 4by3', self.path('d'), '--features', raw, '--shape', '4by3',
                    '--dtype', 'f32')

    def test_bf16(self):
        bits = np.array([[0x3f80, 0xc000]] * 4, np.uint16)
        self.write('d/feat.npy', bits)
        _, arrays, _ = self.load(self.path('d'), '--dtype', 'bf16')
        np.testing.assert_array_equal(arrays['features'], np.array([[1.0, -2.0]] * 4))
        self.refuse(64, 'bf16 for 16-bit words', self.path('d'), '--dtype', 'f32')

    def test_normalize(self):
        x = np.array([[1, 3], [0, 0], [5, 0], [1, 2]], np.uint8)
        total = np.maximum(x.sum(1, keepdims=True), 1)
        self.features(x, (x / total).astype(np.float32), '--normalize', 'row')
        self.refuse(64, 'there are none', self.path('d'), '--normalize', 'row')

    def test_features_are_refused(self):
        for array, options, part in (
                (np.full((4, 2), 0.1), (), 'row 0, column 0: 0.10000000000000001 (f64)'),
                (np.full((4, 1), 2**24 + 1), (), '--feature-dtype f32'),
                (np.zeros((3, 2), 'f4'), (), '3 rows, but the graph has 4 vertices'),
                (np.zeros((4, 2), 'f4'), ('--vertices', 5), '4 rows, but the graph has 5'),
                (np.zeros((4, 2), complex), (), 'found the element type <c16; accepted'),
                (np.zeros((4, 2, 1), 'f4'), (), 'shape (4, 2, 1)'),
                (np.array([[None]] * 4, object), (), '|O')):
            self.write('d/feat.npy', array)
            self.refuse(65, part, self.path('d'), *options)
        self.write('d/feat.npy', np.zeros((4, 2), 'f4'))
        self.refuse(64, 'has a header', self.path('d'), '--shape', '4x2', '--dtype', 'f32')
        self.write('d/feat.csv', '1\n2\n3\n4\n')
        self.refuse(65, 'two files of the same part', self.path('d'))

    def test_vertices_is_the_largest(self):
        self.write('d/feat.npy', np.zeros((9, 1), 'f4'))
        report, _, _ = self.load(self.path('d'), '--vertices', 5)
        self.assertEqual((report['vertices'], report['isolated']), (9, 5))

    def test_labels(self):
        want = np.array([2, -1, 0, 1])
        nan = np.where(want < 0, np.nan, want)
        for array in (want, want.astype('i1'), want.astype('>i4'), want[:, None], nan,
                      nan.astype('f4')):
            self.write('d/label.npy', array)
            report, arrays, _ = self.load(self.path('d'))
            np.testing.assert_array_equal(arrays['labels'], want)
            self.assertEqual(arrays['labels'].dtype, np.int64)
            self.assertEqual((report['labelled'], report['unlabelled'], report['classes'],
                              report['class_rows']), (3, 1, 3, [1, 1, 1]))
        os.remove(self.path('d/label.npy'))
        for text in ('2\n-1\n0\n1', '3 1\n0 2\n2,0\n'):
            self.write('d/label.txt', text)
            np.testing.assert_array_equal(self.load(self.path('d'))[1]['labels'], want)
        os.remove(self.path('d/label.txt'))
        self.write('d/label.npy', np.eye(4, 3, dtype=bool))
        report, arrays, _ = self.load(self.path('d'))
        np.testing.assert_array_equal(arrays['labels'], np.eye(4, 3))
        self.assertEqual((arrays['labels'].dtype, report['classes'], report['multi_label']),
                         (np.uint8, 3, True))

    def test_labels_are_refused(self):
        for array, part in ((np.array([0, 1, -2, 0]), 'row 2 has the label -2'),
                            (np.array([0, 1.5, 0, 0]), 'row 1 has the label 1.5'),
                            (np.array([[0, 2]] * 4), 'row 0, column 1 is 2'),
                            (np.zeros(3, int), '3 rows, but the graph has 4')):
            self.write('d/label.npy', array)
            self.refuse(65, part, self.path('d'))

    def test_labels_that_look_wrong_are_said(self):
        self.write('d/label.npy', np.array([3] * 90 + [0] * 10))
        report, _, _ = self.load(self.path('d'))
        self.assertIn('last 10 rows of the labels are all 0', report['warnings'][0])
        self.write('d/label.npy', np.array([1, 255, 3, 4], np.uint8))
        report, _, _ = self.load(self.path('d'))
        self.assertIn('1 labels are 255', report['warnings'][0])
        self.write('d/label.npy', np.array([1, -1, -1, 4]))
        self.write('d/train_idx.txt', '0\n1\n')
        report, _, _ = self.load(self.path('d'))
        self.assertIn('1 vertices of train are unlabelled', report['warnings'][0])
        self.assertEqual(report['unlabelled_train'], 1)

    def test_splits(self):
        mask = np.array([True, False, True, False])
        for train in (np.array([0, 2]), mask, np.array([[0], [2]], np.uint8)):
            self.write('d/train_idx.npy', train)
            np.testing.assert_array_equal(self.load(self.path('d'))[1]['split/train'], [0, 2])
        for train, part in ((np.array([0, 4]), 'vertex id 4 is out of range'),
                            (np.array([0, 0]), 'vertex 0 stands there twice'),
                            (mask[:3], 'a mask of 3 rows'), (np.array([0.0]), '<f8')):
            self.write('d/train_idx.npy', train)
            self.refuse(65, part, self.path('d'))
        self.write('d/train_idx.npy', mask)
        self.write('d/test_idx.csv', '3\n2\n')
        self.refuse(65, 'vertex 2 is in train too', self.path('d'))
        _, arrays, _ = self.load(self.path('d'), '--test', self.write('t.txt', '1\n'))
        np.testing.assert_array_equal(arrays['split/test'], [1])


class Layouts(ImportTest):
    """A small graph in the layout of each known data set, and what is refused of it."""
    V, E, F = 9, 30, 4

    def setUp(self):
        super().setUp()
        r = np.random.default_rng(5)
        self.edges = r.integers(0, self.V, (2, self.E))
        self.x = r.normal(size=(self.V, self.F)).astype(np.float32)
        self.y = r.integers(0, 3, self.V)
        self.split = np.split(r.permutation(self.V), (4, 6))
        self.want = topology(*self.edges, self.V)
        self.want.update({'features': self.x, 'labels': self.y})
        self.want.update({f'split/{k}': v for k, v in zip(('train', 'valid', 'test'), self.split)})

    def csv(self, name, array):
        rows = array.reshape(len(array), -1).tolist()
        self.write(name, gzip.compress('\n'.join(','.join(map(repr, r)) for r in rows).encode()))

    def expect(self, layout, want=None, *options):
        report, arrays, _ = self.load(self.path('d'), *options)
        self.assertEqual(report['layout'], layout)
        self.same(arrays, want or self.want)
        report, arrays, _ = self.load(self.path('d'), *options, '--format', layout)
        self.same(arrays, want or self.want)
        return report

    def write_splits(self, scheme):
        for name, rows in zip(('train', 'valid', 'test'), self.split):
            self.csv(f'd/split/{scheme}/{name}.csv.gz', rows)

    def test_ogb(self):
        self.csv('d/raw/edge.csv.gz', self.edges.T)
        self.csv('d/raw/num-node-list.csv.gz', np.array([self.V]))
        self.csv('d/raw/num-edge-list.csv.gz', np.array([self.E]))
        self.csv('d/raw/node-feat.csv.gz', self.x)
        self.csv('d/raw/node-label.csv.gz', self.y)
        self.write_splits('time')
        self.assertEqual(self.expect('ogb')['warnings'], [])
        self.write('d/split/time/train.csv.gz', gzip.compress(b'0\n0\n'))
        self.refuse(65, 'twice', self.path('d'))
        self.csv('d/raw/num-edge-list.csv.gz', np.array([self.E + 1]))
        self.refuse(65, '30 edges found, the data set states 31', self.path('d'))
        self.csv('d/raw/num-node-list.csv.gz', np.array([3]))
        self.refuse(65, 'wanted less than 3', self.path('d'))
        self.csv('d/raw/num-node-list.csv.gz', np.array([3, 4]))
        self.refuse(65, 'several graphs', self.path('d'))
        self.write('d/raw/triplet-type-list.csv.gz', gzip.compress(b'a,b,c'))
        self.refuse(65, 'several types', self.path('d'))

    def test_ogb_that_lists_each_edge_once_with_many_labels(self):
        self.csv('d/raw/edge.csv.gz', self.edges.T)
        self.csv('d/raw/num-node-list.csv.gz', np.array([self.V]))
        labels = np.random.default_rng(1).integers(0, 2, (self.V, 5))
        self.csv('d/raw/node-label.csv.gz', labels)
        self.write_splits('species')
        want = {k: v for k, v in self.want.items() if k != 'features'}
        want['labels'] = labels
        self.assertIn('--undirected', self.expect('ogb', want)['warnings'][0])
        self.write_splits('other')
        self.refuse(65, 'the schemes', self.path('d'))

    def test_ogb_binary(self):
        os.makedirs(self.path('d/raw'))
        y = self.y.astype(np.float32)
        y[self.split[2]] = np.nan
        self.want['labels'] = np.where(np.isnan(y), -1, self.y)
        for save in (np.savez, np.savez_compressed):
            save(self.path('d/raw/data.npz'), edge_index=self.edges, node_feat=self.x,
                 num_nodes_list=np.array([self.V]), node_year=np.zeros(self.V))
            save(self.path('d/raw/node-label.npz'), node_label=y[:, None])
            self.write_splits('time')
            report = self.expect('ogb-binary')
            self.assertEqual([i['role'] for i in report['inputs']],
                             ['edges', 'labels', 'train', 'valid', 'test'])
        np.savez(self.path('d/raw/data.npz'), edges=self.edges)
        self.refuse(65, 'no array edge_index in this npz; it holds edges', self.path('d'))

    def test_igb(self):
        x = np.random.default_rng(2).normal(size=(self.V, 1024)).astype(np.float32)
        self.want['features'] = x
        for name, rows in zip(('train', 'valid', 'test'), np.split(np.arange(9), (5, 6))):
            self.want[f'split/{name}'] = rows
        for sub in ('processed/', ''):
            self.write(f'd/{sub}paper__cites__paper/edge_index.npy', self.edges.T.astype(np.int32))
            self.write(f'd/{sub}paper/node_feat.npy', x)
            self.write(f'd/{sub}paper/node_label_19.npy', self.y)
            self.expect('igb')
            # Of the sizes large and full these are headerless float32.
            self.write(f'd/{sub}paper/node_feat.npy', x.tobytes())
            self.write(f'd/{sub}paper/node_label_19.npy', self.y.astype(np.float32).tobytes())
            self.expect('igb')
            self.write(f'd/{sub}paper/node_feat.npy', x.tobytes()[:-4])
            self.refuse(65, 'no whole rows of 1024 x f32', self.path('d'))
            os.rename(self.path('d'), self.path('old' + sub.strip('/')))

    def test_mag240m(self):
        self.write('d/processed/paper___cites___paper/edge_index.npy', self.edges)
        self.write('d/processed/paper/node_feat.npy', self.x.astype(np.float16))
        self.write('d/processed/paper/node_label.npy', self.y.astype(np.float32))
        want = {k: v for k, v in self.want.items() if not k.startswith('split')}
        want['features'] = self.x.astype(np.float16)
        self.expect('mag240m', want)

    METADATA = """dataset_name: small
graph:
  nodes: [{num: 9}]
  edges: [{format: FORMAT, path: EDGES}]
feature_data:
  - {domain: node, name: year, format: numpy, path: year.npy}
  - {domain: node, name: feat, format: numpy, path: data/feat.npy}
  - {domain: edge, name: feat, format: numpy, path: nowhere.npy}
tasks:
  - name: node_classification
    num_classes: 3
    train_set: [{data: [{name: seeds, format: numpy, path: set/seeds0.npy},
                        {name: labels, format: numpy, path: set/labels0.npy}]}]
    validation_set: [{data: [{name: seed_nodes, format: numpy, path: set/seeds1.npy},
                             {name: labels, format: numpy, path: set/labels1.npy}]}]
    test_set: [{data: [{name: seeds, format: numpy, path: set/seeds2.npy}]}]
"""

    def test_graphbolt(self):
        def describe(text):
            self.write('d/metadata.yaml', text)
        self.write('d/edges/e.npy', self.edges)
        self.write('d/edges/e.csv', '\n'.join(f'{a},{b}' for a, b in self.edges.T))
        self.write('d/data/feat.npy', self.x)
        self.write('d/year.npy', self.y)
        for k, rows in enumerate(self.split):
            self.write(f'd/set/seeds{k}.npy', rows.astype(np.int32))
            self.write(f'd/set/labels{k}.npy', self.y[rows])
        self.want['labels'] = self.y.copy()
        self.want['labels'][self.split[2]] = -1
        both = self.METADATA.replace('FORMAT', 'numpy').replace('EDGES', 'edges/e.npy')
        describe(both)
        self.expect('graphbolt')
        describe(self.METADATA.replace('FORMAT', 'csv').replace('EDGES', 'edges/e.csv'))
        self.expect('graphbolt')
        for text, part in (
                (both.replace('{num: 9}', '{num: 3}'), 'wanted a vertex id from 0 to 2'),
                (both.replace('{num: 9}', '{num: 9}, {num: 2}'), 'several types in graph.nodes'),
                (both.replace('{num: 9}', ''), 'no graph.nodes'),
                (both.replace('feat, format: numpy', 'feat, format: torch'), 'pickle of torch'),
                ('graph_topology: {}\n', 'a preprocessed data set'),
                (both.replace('[{num', '[{{num'), 'no YAML'),
                (both.replace('set/labels1', 'set/labels0'), '4 labels for the 2 vertices')):
            describe(text)
            self.refuse(65, part, self.path('d'))
        describe(both.replace('data/feat.npy', 'data/none.npy'))
        self.refuse(66, 'data/none.npy', self.path('d'))

    def test_marius(self):
        self.write('d/dataset.yaml', f'num_edges: {self.E}\nnum_nodes: {self.V}\nnum_relations: 1\n'
                   f'node_feature_dim: {self.F}\n')
        self.write('d/edges/train_edges.bin', self.edges.T.astype(np.int32).tobytes())
        self.write('d/nodes/features.bin', self.x.tobytes())
        self.write('d/nodes/labels.bin', self.y.astype(np.int32).tobytes())
        for name, rows in zip(('train', 'validation', 'test'), self.split):
            self.write(f'd/nodes/{name}_nodes.bin', rows.astype(np.int32).tobytes())
        self.expect('marius')
        self.write('d/nodes/features.bin', self.x.tobytes()[:-16])
        self.refuse(65, '8 rows, but the graph has 9', self.path('d'))
        self.write('d/edges/train_edges.bin', bytes(12))
        self.refuse(65, 'no whole rows of 2 x i32', self.path('d'))
        self.write('d/dataset.yaml', 'num_nodes: 9\nnum_relations: 3\n')
        self.refuse(65, 'edges of 3 relations', self.path('d'))


class Program(ImportTest):
    def setUp(self):
        super().setUp()
        self.text = self.write('a folder/edges.txt', '0 1\n1 2\n2 0\n')

    def test_provenance(self):
        _, _, attrs = self.load(os.path.dirname(self.text), '--undirected')
        provenance = json.loads(attrs['provenance'])
        self.assertEqual((provenance['command'], provenance['layout'], provenance['options']),
                         ('import', 'folder', {'undirected': True}))
        entry, = provenance['inputs']
        self.assertEqual((entry['name'], entry['bytes'], len(entry['xxh3'])), ('edges.txt', 12, 16))

    def test_the_hash_is_of_the_file_however_it_is_read(self):
        """As edges, from two places at once, and as features, from front to back."""
        path = self.write('e.npy', np.arange(600000, dtype=np.int32).reshape(2, -1) // 100000)
        edges = self.load(path)[0]['inputs'][0]
        x = self.load(self.write('t.txt', '0 1'), '--features', path)
        self.assertEqual(edges['bytes'], os.path.getsize(path))
        self.assertEqual(edges['xxh3'], x[0]['inputs'][1]['xxh3'])

    def test_report_for_people(self):
        out = run('import', self.text, self.path('s.h5'))
        for part in ('edges read     3\n', 'vertices       3, 0 of them', '3 read; 0 comments'):
            self.assertIn(part, out)

    def test_b08_the_output_is_an_input(self):
        link = self.path('link.h5')
        os.symlink(self.text, link)
        for out in (self.text, link):
            run_fails(self, 73, 'input', 'import', self.text, out)
            self.assertEqual(content(self.text), b'0 1\n1 2\n2 0\n')
        run_fails(self, 73, '', 'import', self.text, self.path('nowhere/s.h5'))

    def test_a_failed_import_leaves_the_old_store(self):
        store = self.path('s.h5')
        run('import', self.text, store)
        before = content(store)
        bad = self.write('bad.txt', '0 1\nx\n')
        run_fails(self, 65, "'x'", 'import', bad, store)
        self.assertEqual(content(store), before)
        run('import', self.text, store, '--undirected')
        self.assertNotEqual(content(store), before)

    def test_what_is_not_there(self):
        self.refuse(66, 'no such file', self.path('nowhere'))
        os.mkdir(self.path('empty'))
        self.refuse(65, 'no known layout', self.path('empty'))
        self.refuse(66, 'edges.npy', self.path('empty'), '--format', 'folder')
        self.refuse(64, 'auto folder graphbolt', self.text, '--format', 'foldr')
        self.refuse(66, 'nowhere.npy', self.text, '--features', self.path('nowhere.npy'))
        self.refuse(64, 'columns 1 and 2', self.text, '--weight-column', 2)
        self.refuse(64, 'one edge a line', self.text, '--edge-layout', '2xE')

    def test_every_read_and_allocation_may_fail(self):
        self.write('d/edges.npy', np.array([[0, 1, 2], [1, 2, 3]]))
        np.savez_compressed(self.path('d/feat.npz'), f=np.eye(4))
        self.write('d/label.txt', '0 1\n1 0\n')
        self.write('d/train_idx.txt', '0\n')
        names = sorted(os.listdir(self.folder.name))
        for rule, code, step in (('alloc:fail', 71, 3), ('read:eio', 74, 1), ('open:eacces', 66, 1),
                                 ('read:eof', 65, 1)):
            n, refused = 1, 0
            while True:
                p = start('import', self.path('d'), self.path('bad.h5'), '--faults', f'{rule}@{n}')
                if p.returncode == 0:
                    break
                refused += 1
                self.assertIn(p.returncode, (code, 73), f'{rule}@{n}: {p.stderr}')
                self.assertEqual(sorted(os.listdir(self.folder.name)), names, f'{rule}@{n}')
                n += step
            self.assertGreater(refused, 2, rule)
            os.remove(self.path('bad.h5'))

    def test_more_edges_than_memory(self):
        edges = np.random.default_rng(3).integers(0, 200000, (2, 1500000), dtype=np.int32)
        want = topology(*edges)
        text = '\n'.join(f'{a} {b}' for a, b in edges.T.tolist())
        for path in (self.write('e.npy', edges), self.write('e.txt', text)):
            report, arrays, _ = self.load(path, '--host-memory', '32M')
            self.same(arrays, want)
            self.assertGreater(report['scratch_bytes'], 0)
            if not SANITIZED:
                self.assertLess(report['peak_host_bytes'], 80 << 20)
        _, arrays, _ = self.load(path, '--host-memory', '12M', '--threads', '8')
        self.same(arrays, want)

    def test_the_smallest_memory_is_told_before_the_work(self):
        path = self.write('e.txt', '0 1\n')
        self.refuse(71, '--host-memory 12M', path, '--host-memory', '11M')
        self.load(path, '--host-memory', '12M')


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
