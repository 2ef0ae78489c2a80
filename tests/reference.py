"""Layers and models of the script tests in float64, as PyG defines them; weights of models."""
import numpy as np

from program import write_safetensors

RELU = lambda x: np.maximum(x, 0)
ELU = lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0)))
LEAKY = lambda x: np.where(x > 0, x, 0.2 * x)


def gcn(x, src, dst, p):
    keep = src != dst
    v = np.arange(len(x))
    src, dst = np.r_[src[keep], v], np.r_[dst[keep], v]
    c = np.bincount(dst, minlength=len(x)) ** -0.5
    out = np.zeros((len(x), p['lin.weight'].shape[0]))
    np.add.at(out, dst, (c[src] * c[dst])[:, None] * (x @ p['lin.weight'].T)[src])
    return out + p['bias']


def weighted_loops(vertices, src, dst, w):
    """PyG's add_remaining_self_loops: a loop keeps its weight, the last of several."""
    loop = np.ones(vertices)
    for u, v, x in zip(src, dst, w):
        if u == v:
            loop[v] = x
    keep, v = src != dst, np.arange(vertices)
    return np.r_[src[keep], v], np.r_[dst[keep], v], np.r_[w[keep], loop]


def gcn_weighted(x, src, dst, w, p):
    src, dst, w = weighted_loops(len(x), src, dst, w.astype(np.float64))
    deg = np.bincount(dst, w, minlength=len(x))
    c = np.where(deg == 0, 0, np.where(deg == 0, 1, deg) ** -0.5)
    out = np.zeros((len(x), p['lin.weight'].shape[0]))
    np.add.at(out, dst, (c[src] * w * c[dst])[:, None] * (x @ p['lin.weight'].T)[src])
    return out + p['bias']


def sage(x, src, dst, p):
    total = np.zeros_like(x)
    np.add.at(total, dst, x[src])
    mean = total / np.maximum(np.bincount(dst, minlength=len(x)), 1)[:, None]
    return mean @ p['lin_l.weight'].T + p['lin_l.bias'] + x @ p['lin_r.weight'].T


def gin(x, src, dst, p):
    total = (1 + p['eps'][0]) * x
    np.add.at(total, dst, x[src])
    return RELU(total @ p['nn.0.weight'].T + p['nn.0.bias']) @ p['nn.2.weight'].T + p['nn.2.bias']


def gat(x, src, dst, p):
    keep = src != dst
    v = np.arange(len(x))
    src, dst = np.r_[src[keep], v], np.r_[dst[keep], v]
    _, heads, channels = p['att_src'].shape
    z = (x @ p['lin.weight'].T).reshape(-1, heads, channels)
    e = LEAKY((z * p['att_src']).sum(-1)[src] + (z * p['att_dst']).sum(-1)[dst])
    top = np.full((len(x), heads), -np.inf)
    np.maximum.at(top, dst, e)
    w = np.exp(e - top[dst])
    total = np.zeros((len(x), heads))
    np.add.at(total, dst, w)
    out = np.zeros_like(z)
    np.add.at(out, dst, (w / total[dst])[:, :, None] * z[src])
    out = out.reshape(len(x), -1) if len(p['bias']) == heads * channels else out.mean(1)
    return out + p['bias']


def shapes(arch, a, b, heads, concat):
    """Parameters of one layer, in the order of their names."""
    if arch == 'gcn':
        return {'bias': (b,), 'lin.weight': (b, a)}
    if arch == 'sage':
        return {'lin_l.bias': (b,), 'lin_l.weight': (b, a), 'lin_r.weight': (b, a)}
    if arch == 'gin':
        return {'eps': (1,), 'nn.0.bias': (b,), 'nn.0.weight': (b, a), 'nn.2.bias': (b,),
                'nn.2.weight': (b, b)}
    return {'att_dst': (1, heads, b), 'att_src': (1, heads, b),
            'bias': (heads * b if concat else b,), 'lin.weight': (heads * b, a)}


def pattern(shape, a, b, m, o):
    """Small numbers by formula: flat index t -> (((t a + b) mod m) - o) / 10."""
    t = np.arange(np.prod(shape))
    return ((((t * a + b) % m) - o) / 10).reshape(shape).astype(np.float32)


LAYER = {'gcn': gcn, 'sage': sage, 'gin': gin, 'gat': gat}


class Model:
    """Random weights of a model of 2 or 3 layers, its file, and its float64 reference."""

    def __init__(self, arch, dims, seed, heads=2):
        random = np.random.default_rng(seed)
        self.arch, self.tensors, self.layers, width = arch, {}, [], dims[0]
        for l, b in enumerate(dims[1:]):
            concat = l + 2 < len(dims)
            p = {k: random.normal(0, (2 / (width + b)) ** 0.5, s).astype(np.float32)
                 for k, s in shapes(arch, width, b, heads, concat).items()}
            self.layers.append(p)
            self.tensors.update({f'convs.{l}.{k}': t for k, t in p.items()})
            width = b * heads if arch == 'gat' and concat else b
        self.metadata = {'gnnrun.library': 'pyg', 'gnnrun.arch': arch}
        if arch == 'gat':
            n = len(dims) - 1
            self.metadata['gnnrun.heads'] = ','.join([str(heads)] * n)
            self.metadata['gnnrun.concat'] = ','.join(['1'] * (n - 1) + ['0'])
            self.metadata['gnnrun.activation'] = 'elu'

    def write(self, path):
        write_safetensors(path, self.tensors, self.metadata)

    def reference(self, x, src, dst):
        x = x.astype(np.float64)
        for l, p in enumerate(self.layers):
            x = LAYER[self.arch](x, src, dst, {k: t.astype(np.float64) for k, t in p.items()})
            if l + 1 < len(self.layers):
                x = ELU(x) if self.arch == 'gat' else RELU(x)
        return x


def graph(vertices, edges, seed):
    """Random edges with loops, duplicates, a hub of many in-edges and vertices without any."""
    random = np.random.default_rng(seed)
    src = random.integers(0, vertices, edges)
    dst = random.integers(0, vertices - vertices // 10, edges)
    dst[:edges // 8] = 7
    loops = random.integers(0, vertices, 40)
    return np.stack([np.r_[src, loops, loops[:9]], np.r_[dst, loops, loops[:9]]])
